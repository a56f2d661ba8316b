"""A worker process is killed in the middle of three tool calls; another process finishes the Run.

    python examples/crash_recovery.py

What becomes of a call whose process died depends on what its tool declares:

- `charge_card` declares nothing: it is settled `unknown`, never guessed and never repeated.
- `reserve_stock` is `safe_to_retry`: it runs again, under the same idempotency key.
- `send_invoice` has a reconciler: it is asked what happened, and nothing is sent twice.

Every effect is a line in a ledger file, so that you can see what really happened.
"""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psych_runtime
from psych_runtime.store.sqlite import SQLiteStore
from psych_runtime.testing.fake_model import FakeModel, FakeTurn

SCOPE = psych_runtime.Scope(tenant="acme")
SPEC = psych_runtime.AgentSpec(
    name="checkout",
    instructions="Complete the order.",
    model=psych_runtime.ModelRef(model="fake-standard"),
    tools=(
        psych_runtime.CodeTool(name="charge_card"),
        psych_runtime.CodeTool(name="reserve_stock"),
        psych_runtime.CodeTool(name="send_invoice"),
    ),
)


def registry(ledger: Path, *, hang: bool) -> psych_runtime.ToolRegistry:
    """The tools. With ``hang`` they stop right after their effect, as if the network stalled."""
    tools = psych_runtime.ToolRegistry()

    async def effect(what: str, context: psych_runtime.ToolContext) -> str:
        with ledger.open("a") as file:
            file.write(f"{what} {context.idempotency_key}\n")
        if hang:
            await asyncio.Event().wait()
        return f"{what} done"

    @tools.register
    async def charge_card(cents: int, context: psych_runtime.ToolContext) -> str:
        """Charge the customer's card."""
        return await effect("charge_card", context)

    @tools.register(safe_to_retry=True)
    async def reserve_stock(item: str, context: psych_runtime.ToolContext) -> str:
        """Reserve an item in the warehouse."""
        return await effect("reserve_stock", context)

    def invoice_sent(
        order: str, context: psych_runtime.ToolContext
    ) -> psych_runtime.Reconciliation:
        """Look in the ledger instead of sending again."""
        if f"send_invoice {context.idempotency_key}" in ledger.read_text():
            return psych_runtime.Reconciliation.happened("send_invoice done")
        return psych_runtime.Reconciliation.did_not_happen()

    @tools.register(reconcile=invoice_sent)
    async def send_invoice(order: str, context: psych_runtime.ToolContext) -> str:
        """Send the invoice by mail."""
        return await effect("send_invoice", context)

    return tools


def model() -> FakeModel:
    """Asks for the three tools at once, then answers. Looks only at the conversation, so both
    processes may use it."""

    def answer(request: psych_runtime.ModelRequest) -> FakeTurn | str:
        if request.messages[-1].role == "tool":
            return "Your order is on its way."
        return FakeTurn(
            tool_calls=[
                ("charge_card", {"cents": 4200}),
                ("reserve_stock", {"item": "lamp"}),
                ("send_invoice", {"order": "A1"}),
            ]
        )

    return FakeModel().respond(answer)


async def work(database: str, ledger: Path, *, hang: bool) -> None:
    """One worker process: serve until the Run has ended."""
    async with SQLiteStore(database) as store:
        runtime = psych_runtime.Runtime(
            store=store, model=model(), registry=registry(ledger, hang=hang)
        )
        worker = psych_runtime.Worker(store, runtime, lease_seconds=2.0, heartbeat_seconds=0.5)
        serving = asyncio.create_task(worker.run())
        page = await psych_runtime.runs(store, SCOPE)
        async for _ in psych_runtime.stream(store, page.runs[0].run_id):
            pass
        worker.stop()
        await serving


def start(database: str, ledger: Path, mode: str) -> subprocess.Popen[bytes]:
    """Start this file as a worker process."""
    return subprocess.Popen([sys.executable, __file__, mode, database, str(ledger)])


async def main() -> None:
    """Admit a Run, kill its worker, let another one finish, and read what happened."""
    with tempfile.TemporaryDirectory() as folder:
        database, ledger = f"{folder}/psych.db", Path(folder) / "ledger.txt"
        ledger.touch()
        async with SQLiteStore(database) as store:
            version = await psych_runtime.publish(store, SPEC)
            run = await psych_runtime.dispatch(
                store, version, SCOPE, input={"message": "I want the lamp."}
            )
            first = start(database, ledger, "hang")
            while len(ledger.read_text().splitlines()) < 3:
                if first.poll() is not None:
                    raise SystemExit("the first worker ended early")
                await asyncio.sleep(0.02)
            first.send_signal(signal.SIGKILL)
            first.wait()
            print("worker 1: killed with SIGKILL in the middle of three tool calls")

            began = time.monotonic()
            second = start(database, ledger, "work")
            if await asyncio.to_thread(second.wait, 60) != 0:
                raise SystemExit("the second worker failed")
            print(f"worker 2: finished the Run ({time.monotonic() - began:.0f} s, lease 2 s)\n")

            report = await psych_runtime.report(store, run.run_id)
            for call in report.tool_calls:
                print(
                    f"{call.tool:14} outcome={call.outcome} attempts={call.attempts} "
                    f"reconciliation={call.reconciliation}"
                )
            answer = await psych_runtime.answer(store, run.run_id)
            print(f"\n{report.terminal_state}: {answer.text}\n")
            effects = [line.split()[0] for line in ledger.read_text().splitlines()]
            for tool in sorted(set(effects)):
                print(f"ledger: {tool} x{effects.count(tool)}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        asyncio.run(work(sys.argv[2], Path(sys.argv[3]), hang=sys.argv[1] == "hang"))
    else:
        asyncio.run(main())
