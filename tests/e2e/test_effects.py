"""What has to be true before a side effect may begin: its intent is durable, and the lease holds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import psych_runtime
import pytest
from agents import admit, agent, ended, log_of, of_type, serving, until
from psych_runtime import Runtime, ToolRegistry, Worker
from psych_runtime.engine.lease import boot_time
from psych_runtime.ports.store import Store, WorkerSession
from psych_runtime.testing.fake_model import FakeModel, FakeTurn
from psych_runtime.testing.store_wrapper import StoreWrapper


class HeldBack(StoreWrapper):
    """Keeps appends from reaching the store until it is opened."""

    def __init__(self, inner: Store) -> None:
        super().__init__(inner)
        self.open = asyncio.Event()
        self.waiting = 0

    async def around_write[T](self, what: str, write: Callable[[], object]) -> T:
        if what == "append":
            self.waiting += 1
            await self.open.wait()
        result: T = await super().around_write(what, write)
        return result


def two_tools(ran: list[str]) -> ToolRegistry:
    registry = ToolRegistry()

    @registry.register
    async def pay() -> str:
        """Has an effect."""
        ran.append("pay")
        return "paid"

    @registry.register(annotations={"read-only"})
    async def look() -> str:
        """Has none."""
        ran.append("look")
        return "seen"

    return registry


def asks_for(tool: str) -> FakeModel:
    def answer(request: psych_runtime.ModelRequest) -> FakeTurn | str:
        if request.messages[-1].role == "tool":
            return "done"
        return FakeTurn(tool_calls=[(tool, {})])

    return FakeModel().respond(answer)


async def a_while() -> None:
    """Let everything that can run do so, many times over."""
    for _ in range(200):
        await asyncio.sleep(0)


@pytest.mark.parametrize("tool", ["pay", "look"])
async def test_only_an_effect_waits_for_its_intent(store: Store, tool: str) -> None:
    ran: list[str] = []
    held = HeldBack(store)
    run_id = await admit(held, agent("pay", "look"))
    async with serving(held, asks_for(tool), two_tools(ran)):
        await until(lambda: held.waiting > 0)
        await a_while()
        assert ran == ([] if tool == "pay" else ["look"])
        assert of_type(await log_of(store, run_id), "tool_call_started") == []
        held.open.set()
        await ended(store, run_id)
    assert ran == [tool]


class Judged(StoreWrapper):
    """Answers renewals of the session as it is told."""

    alive = True
    renewals = 0

    async def heartbeat(self, session: WorkerSession) -> bool:
        self.renewals += 1
        return self.alive and await super().heartbeat(session)


@pytest.mark.parametrize("alive", [True, False])
async def test_past_the_lease_window_an_effect_needs_a_renewal_first(
    store: Store, alive: bool
) -> None:
    """The process stood still for a lease while its model was answering."""
    ran: list[str] = []
    judged = Judged(store)
    judged.alive = alive
    slept = 0.0
    asks = asks_for("pay")

    def answer(request: psych_runtime.ModelRequest) -> FakeTurn | str:
        nonlocal slept
        slept = 60.0
        if request.messages[-1].role == "tool":
            return "done"
        return FakeTurn(tool_calls=[("pay", {})])

    asks.respond(answer)
    run_id = await admit(judged, agent("pay"))
    worker = Worker(judged, Runtime(judged, asks, two_tools(ran)))
    worker._clock = lambda: boot_time() + slept
    serving_task = asyncio.create_task(worker.run())
    await until(lambda: judged.renewals > 0)
    log = await ended(store, run_id)
    [finished] = of_type(log, "tool_call_finished")
    if alive:
        assert (finished.outcome, ran) == ("ok", ["pay"])
    else:
        # Its new session recovers the call like anybody else's: unknown, and not made.
        assert (finished.outcome, ran) == ("unknown", [])
    worker.stop()
    await serving_task
