"""Waiting costs nothing, does not use up the deadline, and ends by itself."""

from __future__ import annotations

from pathlib import Path

import psych_runtime
import pytest
from agents import admit, agent, log_of, of_type
from chaos_scenarios import Clock
from psych_runtime import Runtime, SuspensionPolicy, ToolRegistry, Worker
from psych_runtime.engine.worker.supervisor import supervise
from psych_runtime.errors import SuspensionExpired
from psych_runtime.ports.store import RunState, Store
from psych_runtime.testing.fake_model import FakeModel, FakeTurn
from stores import STORES, open_store


@pytest.fixture(params=STORES)
def clock_and_store(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Clock, Store]:
    clock = Clock()
    return clock, open_store(request.param, tmp_path, clock)


class Gated:
    """An agent with one destructive tool."""

    def __init__(self, store: Store) -> None:
        self.ran = 0
        registry = ToolRegistry()

        @registry.register(annotations={"destructive"})
        async def refund(cents: int) -> str:
            """Refund."""
            self.ran += 1
            return f"refunded {cents}"

        def answer(request: psych_runtime.ModelRequest) -> FakeTurn | str:
            if request.messages[-1].role == "tool":
                return "done"
            return FakeTurn(tool_calls=[("refund", {"cents": 5})])

        self.runtime = Runtime(
            store,
            FakeModel().respond(answer),
            registry,
            approval_selectors=("@destructive",),
        )
        self.store = store

    async def drain(self) -> None:
        await Worker(self.store, self.runtime).drain()


async def test_a_deadline_stands_still_while_the_run_waits(
    clock_and_store: tuple[Clock, Store],
) -> None:
    clock, store = clock_and_store
    await store.migrate()
    gated = Gated(store)
    run_id = await admit(store, agent("refund", limits={"deadline_seconds": 900}))
    await gated.drain()
    header = await store.get_run(run_id)
    assert header is not None
    assert header.state is RunState.SUSPENDED
    clock.offset += 3600  # four deadlines
    await supervise(store)
    await psych_runtime.resume(store, run_id, approved=True)
    await gated.drain()
    end = (await log_of(store, run_id))[-1]
    assert (end.state, gated.ran) == ("completed", 1)
    await store.close()


async def test_an_approval_that_nobody_gives_is_denied_and_the_run_goes_on(
    clock_and_store: tuple[Clock, Store],
) -> None:
    clock, store = clock_and_store
    await store.migrate()
    gated = Gated(store)
    spec = agent("refund", suspension=SuspensionPolicy(approval_expires_seconds=60))
    run_id = await admit(store, spec)
    await gated.drain()
    clock.offset += 61
    with pytest.raises(SuspensionExpired):
        await psych_runtime.resume(store, run_id, approved=True)
    await supervise(store)
    await gated.drain()
    log = await log_of(store, run_id)
    [finished] = of_type(log, "tool_call_finished")
    assert finished.failure.kind == "approval_expired"
    assert gated.ran == 0
    assert log[-1].state == "completed"
    assert len(of_type(log, "approval_offered")) == 1
    await store.close()


async def test_explain_says_what_a_waiting_run_waits_for(
    clock_and_store: tuple[Clock, Store],
) -> None:
    _, store = clock_and_store
    await store.migrate()
    gated = Gated(store)
    run_id = await admit(store, agent("refund"))
    await gated.drain()
    explanation = await psych_runtime.explain(store, run_id)
    assert [wait.reason for wait in explanation.waits] == ["approval"]
    status = await psych_runtime.status(store, run_id)
    assert status.lifecycle == "waiting"
    assert status.pending_approval is not None
    assert status.pending_approval.arguments == {"cents": 5}
    await store.close()
