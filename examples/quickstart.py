"""One agent, one tool, one Run that stays in a SQLite file. Offline: the model is a script.

python examples/quickstart.py [DATABASE]    # default: psych.db
"""

import asyncio
import sys

import psych_runtime
from psych_runtime.store.sqlite import SQLiteStore
from psych_runtime.testing.fake_model import FakeModel


async def lookup_order(order_id: str) -> dict[str, str]:
    """Look up an order by its id."""
    return {"order_id": order_id, "status": "shipped"}


spec = psych_runtime.AgentSpec(
    name="support",
    instructions="Help the customer with their order.",
    model=psych_runtime.ModelRef(model="fake-standard"),
    tools=(psych_runtime.CodeTool(name="lookup_order"),),
)


async def main(database: str) -> None:
    """Ask, print the answer and what it took, and read the Run back from the file."""
    model = (
        FakeModel()
        .turn(text="Checking.", tool_calls=[("lookup_order", {"order_id": "A1"})])
        .turn(text="A1 has shipped.")
    )
    async with SQLiteStore(database) as store:
        async with psych_runtime.session(model, store=store, tools=[lookup_order]) as s:
            view = await s.ask(spec, "where is order A1?")
        print(view.text)

        report = await psych_runtime.report(store, view.run_id)
        totals = report.totals
        print(f"{report.terminal_state} | {totals.usage} | cost {totals.cost}")

    async with SQLiteStore(database) as store:
        log = await psych_runtime.records(store, view.run_id)
        print(f"{database} keeps {len(log)} Records, {log[0].type} to {log[-1].type}")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "psych.db"))
