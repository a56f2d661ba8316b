"""{{project}}: one agent, one tool, one question."""

import asyncio
import os

import psych_runtime
from psych_runtime.testing.fake_model import FakeModel


async def lookup_order(order_id: str) -> dict[str, str]:
    """Look up an order by its id."""
    return {"order_id": order_id, "status": "shipped", "carrier": "DHL"}


def fake_model() -> FakeModel:
    """A script instead of a provider: no key, no network, the same answer every time."""
    return (
        FakeModel()
        .turn(text="Checking.", tool_calls=[("lookup_order", {"order_id": "A1"})])
        .turn(text="Order A1 has shipped with DHL.")
    )


def real_model(api_key: str) -> psych_runtime.ModelClient:
    """Any server that speaks the OpenAI chat API."""
    return psych_runtime.OpenAICompatibleClient(
        base_url=os.environ.get("PSYCH_BASE_URL", "https://api.openai.com/v1"),
        transport=psych_runtime.HttpTransport(),
        scope=psych_runtime.Scope(tenant="local"),
        api_key=api_key,
    )


async def main() -> None:
    """Ask one question and say what it took."""
    api_key = os.environ.get("OPENAI_API_KEY")
    if api_key:
        model: psych_runtime.ModelClient = real_model(api_key)
        model_name = os.environ.get("PSYCH_MODEL", "gpt-4o-mini")
    else:
        print("No OPENAI_API_KEY set, so this run uses the fake model.\n")
        model = fake_model()
        model_name = "fake-standard"

    spec = psych_runtime.AgentSpec(
        name="support",
        instructions="Help the customer with their order. Be brief.",
        model=psych_runtime.ModelRef(model=model_name),
        tools=(psych_runtime.CodeTool(name="lookup_order"),),
    )

    async with psych_runtime.session(model, tools=[lookup_order]) as s:
        view = await s.ask(spec, "Where is order A1?")
        report = await psych_runtime.report(s.store, view.run_id)

    print(view.text or f"No answer: {report.failure}")
    totals = report.totals
    cost = f"{totals.cost.amount} {totals.cost.currency}" if totals.cost else None
    tokens = totals.usage.total_billable
    print(f"\n{report.terminal_state} | {view.summary()} | {tokens} tokens | cost {cost}")


if __name__ == "__main__":
    asyncio.run(main())
