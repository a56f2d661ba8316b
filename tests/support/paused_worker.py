"""A worker process for the fencing test: two tools in a row, the first waits for a file.

python paused_worker.py DATABASE LEDGER GO_FILE WORKER_ID
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import psych_runtime
from psych_runtime.store.sqlite import SQLiteStore
from psych_runtime.testing.fake_model import FakeModel, FakeTurn

SCOPE = psych_runtime.Scope(tenant="acme")
LEASE = 1.5
SPEC = psych_runtime.AgentSpec(
    name="fenced",
    model=psych_runtime.ModelRef(model="fake-standard"),
    tools=(psych_runtime.CodeTool(name="first"), psych_runtime.CodeTool(name="second")),
)


def make_runtime(store: SQLiteStore, ledger: Path, go: Path | None) -> psych_runtime.Runtime:
    registry = psych_runtime.ToolRegistry()

    def note(what: str) -> None:
        with ledger.open("a") as file:
            file.write(f"{what} {os.getpid()}\n")

    @registry.register(serial="steps")
    async def first() -> str:
        """Has an effect, then waits."""
        note("first")
        while go is not None and not go.exists():
            await asyncio.sleep(0.01)
        return "first done"

    @registry.register(serial="steps")
    async def second() -> str:
        """Has an effect, after the first."""
        note("second")
        return "second done"

    def answer(request: psych_runtime.ModelRequest) -> FakeTurn | str:
        if request.messages[-1].role == "tool":
            return "Both done."
        return FakeTurn(tool_calls=[("first", {}), ("second", {})])

    return psych_runtime.Runtime(store=store, model=FakeModel().respond(answer), registry=registry)


async def main(database: str, ledger: str, go: str, worker_id: str) -> None:
    async with SQLiteStore(database) as store:
        worker = psych_runtime.Worker(
            store,
            make_runtime(store, Path(ledger), Path(go)),
            worker_id=psych_runtime.WorkerId(worker_id),
            lease_seconds=LEASE,
            heartbeat_seconds=0.4,
            poll_interval=0.1,
            concurrency=1,
        )
        serving = asyncio.create_task(worker.run())
        while not Path(go).exists():
            await asyncio.sleep(0.05)
        await asyncio.sleep(2 * LEASE)  # time to do whatever a straggler might still do
        worker.stop()
        await serving
    Path(ledger + ".ended").touch()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
