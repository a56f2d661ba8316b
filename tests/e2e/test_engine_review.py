"""Races and leaks that a review of the engine found: each test is one of them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import psych_runtime
import pytest
from agents import admit, agent, ended, log_of, of_type, serving, until
from psych_runtime import Runtime, SuspensionPolicy, ToolRegistry, Worker
from psych_runtime.engine.journal import DecisionDropped, Journal
from psych_runtime.engine.lease import LeaseGuard
from psych_runtime.engine.signals import AbortSignal
from psych_runtime.engine.worker.supervisor import supervise
from psych_runtime.errors import LeaseLost, StoreUnavailable
from psych_runtime.ids import RunId, WorkerId, new_attempt_id
from psych_runtime.log.codec import decode_log, encode
from psych_runtime.log.fold import reduce
from psych_runtime.log.records import AbortRequested, AttemptStarted, RunSettled, Suspended
from psych_runtime.log.values import TerminalState
from psych_runtime.ports.store import (
    Claim,
    External,
    Guard,
    Lease,
    OpenWait,
    RunState,
    Store,
    StoredRecord,
    Transition,
    WorkerSession,
)
from psych_runtime.store.memory import InMemoryStore
from psych_runtime.testing.explorer import invariant_violations
from psych_runtime.testing.fake_model import FakeModel, FakeTurn
from psych_runtime.testing.simulation import SimulatedLoop, SimulatedWorker, simulate
from psych_runtime.testing.store_wrapper import StoreWrapper

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SESSION = WorkerSession("wrk_a:1", WorkerId("wrk_a"), 30.0)


class Meddling(StoreWrapper):
    """Lets a test step in before and after single calls, by method name."""

    def __init__(self, inner: Store) -> None:
        super().__init__(inner)
        self.before: dict[str, Callable[[], Awaitable[None]]] = {}
        self.after: dict[str, Callable[[], Awaitable[None]]] = {}

    async def _meddle(self, what: str, call: Callable[[], Any]) -> Any:
        if what in self.before:
            await self.before[what]()
        result = await call()
        if what in self.after:
            await self.after[what]()
        return result

    async def around_write[T](self, what: str, write: Callable[[], object]) -> T:
        result: T = await self._meddle(what, write)
        return result

    async def read(
        self, run_id: RunId, *, after: int = 0, limit: int | None = None
    ) -> list[StoredRecord]:
        result: list[StoredRecord] = await self._meddle(
            "read", lambda: self.inner.read(run_id, after=after, limit=limit)
        )
        return result

    async def claim(
        self, session: WorkerSession, limit: int, *, log_limit: int = 256
    ) -> list[Claim]:
        result: list[Claim] = await self._meddle(
            "claim", lambda: self.inner.claim(session, limit, log_limit=log_limit)
        )
        return result

    async def held(self, session_id: str) -> list[Claim]:
        result: list[Claim] = await self._meddle("held", lambda: self.inner.held(session_id))
        return result

    async def get_run(self, run_id: RunId) -> Any:
        return await self._meddle("get_run", lambda: self.inner.get_run(run_id))


async def open_journal(store: Store) -> Journal:
    [claim] = await store.claim(SESSION, 1)
    records = decode_log(claim.header.run_id, await store.read(claim.header.run_id))
    guard = LeaseGuard(store, SESSION)
    guard.renewed(guard.now())
    journal = Journal(
        store,
        claim.header,
        reduce(records),
        lease=Lease(SESSION.session_id, SESSION.worker_id, claim.header.epoch),
        guard=guard,
        attempt_id=new_attempt_id(),
        linger_seconds=60,
    )
    journal.write(AttemptStarted, worker_id=SESSION.worker_id, attempt_number=1)
    return journal


def once(error: Exception) -> Callable[[], Awaitable[None]]:
    """Raise ``error``, the first time only."""
    left = [error]

    async def step() -> None:
        if left:
            raise left.pop()

    return step


# -- the journal ------------------------------------------------------------------------------


async def test_a_decision_is_dropped_when_an_absorption_under_way_brings_something(
    store: Store,
) -> None:
    meddling = Meddling(store)
    run_id = await admit(store, agent())
    journal = await open_journal(meddling)
    await journal.commit()
    reading, go = asyncio.Event(), asyncio.Event()

    async def slow() -> None:
        reading.set()
        await go.wait()

    meddling.before["read"] = slow
    await psych_runtime.send(store, run_id, message="wait!")
    absorbing = asyncio.create_task(journal.absorb())
    await reading.wait()
    assert not journal.state.pending_steer
    deciding = asyncio.create_task(
        journal.decide(
            journal.make(RunSettled, state=TerminalState.COMPLETED),
            transition=Transition(RunState.SETTLED, terminal_state="completed"),
        )
    )
    await asyncio.sleep(0)
    go.set()
    await absorbing
    with pytest.raises(DecisionDropped):
        await deciding
    assert len(journal.state.pending_steer) == 1


async def test_a_read_that_fails_does_not_end_the_attempt(store: Store) -> None:
    meddling = Meddling(store)
    run_id = await admit(store, agent())
    journal = await open_journal(meddling)
    await psych_runtime.send(store, run_id, message="hello")
    meddling.before["read"] = once(StoreUnavailable("not now"))
    await journal.commit()  # lands after the message, so it has to be read
    assert len(journal.state.pending_steer) == 1
    meddling.before["read"] = once(StoreUnavailable("not now"))
    await psych_runtime.send(store, run_id, message="again")
    await journal.absorb()
    assert len(journal.state.pending_steer) == 2


async def test_a_straggler_notices_on_its_next_write_and_stops_what_it_runs() -> None:
    store = Meddling(InMemoryStore())
    stopped = asyncio.Event()
    registry = ToolRegistry()

    @registry.register(annotations={"read-only"})
    async def quick() -> str:
        """Ends at once; its result is lazy."""
        return "done"

    @registry.register
    async def long() -> str:
        """Runs until it is stopped."""
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        return ""

    run_id = await admit(store, agent("quick", "long"))
    model = FakeModel().turn(tool_calls=[("quick", {}), ("long", {})]).turn(text="never")
    writes = 0

    async def fenced() -> None:
        nonlocal writes
        writes += 1
        if writes == 2:  # the quick result, after its linger
            raise LeaseLost(run_id, WorkerId("wrk_other"))

    store.before["append"] = fenced
    worker = Worker(store, Runtime(store, model, registry), poll_interval=0.05)
    serving_task = asyncio.create_task(worker.run())
    async with asyncio.timeout(5):
        await stopped.wait()
    worker.stop()
    await serving_task


# -- calls ------------------------------------------------------------------------------------


async def test_an_approval_that_comes_while_another_call_runs_is_not_asked_for_again(
    store: Store,
) -> None:
    first_runs, go = asyncio.Event(), asyncio.Event()
    ran: list[str] = []
    registry = ToolRegistry()

    async def act(which: str) -> str:
        """Needs a person."""
        ran.append(which)
        if which == "first":
            first_runs.set()
            await go.wait()
        return which

    registry.register(act, annotations={"destructive"})
    model = FakeModel().turn(tool_calls=[("act", {"which": "first"}), ("act", {"which": "second"})])
    model.turn(text="done")
    run_id = await admit(store, agent("act"))
    options = {"approval_selectors": ("@destructive",)}
    async with serving(store, model, registry, runtime=options) as worker:
        await parked(store, run_id)
        offered = of_type(await log_of(store, run_id), "approval_offered")
        first, second = (record.call_id for record in offered)
        await psych_runtime.resume(store, run_id, approved=True, call_id=first)
        await first_runs.wait()
        await psych_runtime.resume(store, run_id, approved=True, call_id=second)
        [attempt] = worker._active.values()
        journal = attempt.journal
        assert journal is not None
        await until(lambda: second in journal.state.approval_decisions)
        go.set()
        log = await ended(store, run_id, timeout=5)
    assert ran == ["first", "second"]
    assert log[-1].state == "completed"


async def parked(store: Store, run_id: RunId) -> None:
    async with asyncio.timeout(10):
        while True:
            header = await store.get_run(run_id)
            assert header is not None
            if header.state is RunState.SUSPENDED:
                return
            await asyncio.sleep(0.01)


async def test_a_call_that_may_have_happened_is_unknown_when_its_run_is_stopped(
    store: Store,
) -> None:
    started = asyncio.Event()
    registry = ToolRegistry()

    @registry.register
    async def pay() -> str:
        """Has an effect, and hangs."""
        started.set()
        await asyncio.Event().wait()
        return ""

    run_id = await admit(store, agent("pay"))
    model = FakeModel().respond(lambda request: FakeTurn(tool_calls=[("pay", {})]))
    runtime = Runtime(store, model, registry)
    task = asyncio.create_task(Worker(store, runtime).run())
    await started.wait()
    task.cancel()  # the process goes away, the call is left open
    await asyncio.wait({task})
    # Somebody stops the Run, and a Worker claims it before they can settle it.
    header = await store.get_run(run_id)
    assert header is not None
    abort = AbortRequested(run_id=run_id, seq=header.head_seq + 1, at=NOW, scope=header.scope)
    await store.append_external(run_id, External(bodies=(encode(abort),), key="stop", aborts=True))
    await Worker(store, runtime).drain()
    log = await log_of(store, run_id)
    [finished] = of_type(log, "tool_call_finished")
    assert (finished.outcome, finished.failure.kind) == ("unknown", "orphaned")
    assert log[-1].state == "aborted"


async def test_a_tool_that_ends_during_the_force_settlement_does_not_corrupt_the_run() -> None:
    store = Meddling(InMemoryStore())
    go, answered = asyncio.Event(), asyncio.Event()
    registry = ToolRegistry()

    @registry.register(interruptible=False)
    async def stubborn() -> str:
        """Ends while the Run is settled over it."""
        await go.wait()
        answered.set()
        return "late"

    run_id = await admit(store, agent("stubborn", limits={"deadline_seconds": 0.2}))
    model = FakeModel().turn(tool_calls=[("stubborn", {})]).turn(text="never")
    appends = 0

    async def during_settlement() -> None:
        nonlocal appends
        appends += 1
        if appends == 2:
            go.set()
            await answered.wait()
            await asyncio.sleep(0.02)

    store.before["append"] = during_settlement
    async with serving(store, model, registry, grace_seconds=0.1):
        log = await ended(store, run_id)
    assert log[-1].state == "force_settled"
    assert invariant_violations(log) == []


async def test_a_tool_that_swallows_its_cancellation_does_not_keep_the_worker() -> None:
    store = InMemoryStore()
    go = asyncio.Event()
    registry = ToolRegistry()

    @registry.register
    async def deaf() -> str:
        """Does not let itself be cancelled."""
        while not go.is_set():
            try:
                await go.wait()
            except asyncio.CancelledError:
                continue
        return ""

    run_id = await admit(store, agent("deaf", limits={"deadline_seconds": 0.1}))
    model = FakeModel().turn(tool_calls=[("deaf", {})])
    worker = Worker(store, Runtime(store, model, registry), grace_seconds=0.1)
    async with asyncio.timeout(5):
        await worker.drain()
    assert (await log_of(store, run_id))[-1].state == "force_settled"
    go.set()


async def test_a_client_that_cancels_itself_fails_the_call_and_not_the_attempt(
    store: Store,
) -> None:
    class Cancelling:
        def stream(self, request: psych_runtime.ModelRequest) -> Any:
            raise asyncio.CancelledError

        async def known_models(self) -> tuple[str, ...]:
            return ()

    run_id = await admit(store, agent())
    runtime = Runtime(store, Cancelling(), ToolRegistry())
    async with asyncio.timeout(5):
        await Worker(store, runtime).drain()
    log = await log_of(store, run_id)
    assert log[-1].state == "failed"
    assert len(of_type(log, "attempt_started")) == 1


# -- the worker -------------------------------------------------------------------------------


async def test_a_worker_stopped_while_it_claims_hands_the_run_back(store: Store) -> None:
    meddling = Meddling(store)
    run_id = await admit(store, agent())
    model = FakeModel().respond(lambda request: "done")
    worker = Worker(meddling, Runtime(meddling, model, ToolRegistry()))

    async def stop() -> None:
        worker.stop()

    meddling.after["claim"] = stop
    await worker.run()
    header = await store.get_run(run_id)
    assert header is not None
    assert (header.state, header.crashes, model.call_count) == (RunState.RUNNABLE, 0, 0)


async def test_a_cancelled_worker_gives_its_runs_back_and_leaves_no_task(store: Store) -> None:
    started = asyncio.Event()
    registry = ToolRegistry()

    @registry.register
    async def hang() -> str:
        """Hang; clean up when cancelled."""
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.1)
        return ""

    run_id = await admit(store, agent("hang"))
    model = FakeModel().turn(tool_calls=[("hang", {})])
    before = asyncio.all_tasks()
    task = asyncio.create_task(Worker(store, Runtime(store, model, registry)).run())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    header = await store.get_run(run_id)
    assert header is not None
    assert (header.state, header.crashes) == (RunState.RUNNABLE, 0)
    await asyncio.sleep(0)
    assert asyncio.all_tasks() <= before


async def test_a_run_woken_before_its_attempt_has_wound_down_is_executed() -> None:
    """The new claim must not be mistaken for the Attempt that has just released the Run."""
    store = InMemoryStore()
    run_id = await admit(store, agent())
    attempts = 0
    linger = asyncio.Event()

    async def runner(journal: Journal, header: Any, abort: AbortSignal) -> None:
        nonlocal attempts
        attempts += 1
        if attempts == 1:
            await journal.decide(transition=Transition(RunState.SUSPENDED))
            await store.append_external(run_id, External(bodies=(), key="wake", wake=True))
            await linger.wait()
        else:
            await journal.decide(
                journal.make(RunSettled, state=TerminalState.COMPLETED),
                transition=Transition(RunState.SETTLED, terminal_state="completed"),
            )

    worker = Worker(store, runner, poll_interval=0.02)
    task = asyncio.create_task(worker.run())
    await ended(store, run_id, timeout=5)
    linger.set()
    worker.stop()
    await task
    assert attempts == 2


async def test_an_attempt_that_ends_while_its_run_is_looked_up_is_not_started_again() -> None:
    """Its fence would pass for the resend of the batch that released the Run."""
    store = Meddling(InMemoryStore())
    first, second = await admit(store, agent(name="a")), await admit(store, agent(name="b"))
    release = asyncio.Event()
    broken = False
    started: list[tuple[RunId, int]] = []

    async def runner(journal: Journal, header: Any, abort: AbortSignal) -> None:
        nonlocal broken
        started.append((header.run_id, header.epoch))
        if header.run_id == second and not broken:
            broken = True
            raise StoreUnavailable("ends this Attempt, and sets the Worker looking")
        if header.run_id == first:
            await release.wait()
            await journal.decide(transition=Transition(RunState.SUSPENDED))
            return
        await journal.decide(
            journal.make(RunSettled, state=TerminalState.COMPLETED),
            transition=Transition(RunState.SETTLED, terminal_state="completed"),
        )

    worker = Worker(store, runner, poll_interval=0.02)

    async def meanwhile() -> None:
        release.set()
        await until(lambda: first not in worker.active)

    store.after["held"] = meanwhile
    async with asyncio.timeout(5):
        await worker.drain()
    assert started == [(first, 1), (second, 1), (second, 1)]


async def test_the_watcher_survives_an_attempt_that_ends_while_it_looks() -> None:
    store = Meddling(InMemoryStore())
    run_ids = [await admit(store, agent(name=name)) for name in ("a", "b", "c")]
    release = asyncio.Event()
    noticed: list[RunId] = []

    async def runner(journal: Journal, header: Any, abort: AbortSignal) -> None:
        await journal.commit()  # nothing is left that would meet the interrupt by itself
        if header.run_id != run_ids[0]:
            await release.wait()
        else:
            await abort.wait()
            noticed.append(header.run_id)
        await journal.decide(
            journal.make(RunSettled, state=TerminalState.ABORTED),
            transition=Transition(RunState.SETTLED, terminal_state="aborted"),
        )

    store.listen = lambda listener: lambda: None  # type: ignore[method-assign]
    worker = Worker(store, runner, poll_interval=0.02)

    async def meanwhile() -> None:
        if len(worker.active) == 3:
            release.set()
            await until(lambda: len(worker.active) == 1)

    store.before["get_run"] = meanwhile
    task = asyncio.create_task(worker.run())
    await until(lambda: len(worker.active) == 1)
    await psych_runtime.interrupt(store.inner, run_ids[0])
    await until(lambda: noticed == run_ids[:1], timeout=5)
    worker.stop()
    await task


def test_draining_goes_on_after_the_session_was_lost() -> None:
    async def scenario(loop: SimulatedLoop) -> list[str]:
        store = Meddling(InMemoryStore(clock=loop.utcnow))
        await admit(store, agent(name="a"))
        second = await admit(store, agent(name="b"))
        claims = 0

        async def reclaimed() -> None:
            nonlocal claims
            claims += 1
            if claims == 2:
                assert worker._guard is not None
                await store.end_session(worker._guard.session.session_id)

        store.before["claim"] = reclaimed
        model = FakeModel().respond(lambda request: "done")
        worker = SimulatedWorker(store, Runtime(store, model, ToolRegistry()), concurrency=1)
        await worker.drain()
        return [record.type for record in await log_of(store, second)]

    assert simulate(scenario)[-1] == "run_settled"


def test_a_session_given_up_for_lost_is_ended_and_its_runs_go_on_under_a_new_epoch() -> None:
    async def scenario(loop: SimulatedLoop) -> tuple[list[Any], int, int]:
        store = Meddling(InMemoryStore(clock=loop.utcnow))
        registry = ToolRegistry()

        @registry.register(safe_to_retry=True)
        async def slow() -> str:
            """Takes its time."""
            await asyncio.sleep(20)
            return "done"

        def answer(request: psych_runtime.ModelRequest) -> FakeTurn | str:
            if request.messages[-1].role == "tool":
                return "done"
            return FakeTurn(tool_calls=[("slow", {})])

        run_id = await admit(store, agent("slow"))
        worker = SimulatedWorker(
            store,
            Runtime(store, FakeModel().respond(answer), registry),
            lease_seconds=10,
            heartbeat_seconds=3,
            concurrency=1,
        )
        inner_heartbeat = store.inner.heartbeat

        async def heartbeat(session: WorkerSession) -> bool:
            # The renewal lands, its answer does not: the store takes the session for alive.
            await inner_heartbeat(session)
            if loop.time() < 15:
                raise StoreUnavailable("no answer")
            return True

        store.heartbeat = heartbeat  # type: ignore[method-assign]
        await worker.drain()
        header = await store.get_run(run_id)
        return await log_of(store, run_id), header.epoch, header.crashes

    log, epoch, crashes = simulate(scenario)
    assert invariant_violations(log) == []
    assert (log[-1].state, epoch, crashes) == ("completed", 2, 0)


# -- the supervisor ---------------------------------------------------------------------------


async def test_a_corrupt_run_whose_wait_expires_is_failed() -> None:
    store = InMemoryStore()
    spec = agent("act", suspension=SuspensionPolicy(approval_expires_seconds=3600))
    run_id = await admit(store, spec)
    [claim] = await store.claim(SESSION, 1)
    now = await store.now()
    await store.append(
        run_id,
        [b'{"t":"turn_started","turn":7}'],
        lease=Lease(SESSION.session_id, SESSION.worker_id, claim.header.epoch),
        batch_no=1,
        strict_head=claim.header.head_seq,
        transition=Transition(RunState.SUSPENDED, waits=(OpenWait(wait_id="w", expires_at=now),)),
    )
    await supervise(store)
    header = await store.get_run(run_id)
    assert header is not None
    assert (header.state, header.terminal_state) == (RunState.SETTLED, "failed")


async def test_an_expired_wait_that_abandons_its_run_ends_it_in_one_write() -> None:
    """A Worker must not find it runnable in between."""
    store = InMemoryStore()
    run_id = await admit(store, agent())
    journal = await open_journal(store)
    expires_at = await store.now()
    await journal.decide(
        journal.make(
            Suspended,
            wait_id="w",
            reason="external",
            expires_at=expires_at,
            event="paid",
        ),
        transition=Transition(
            RunState.SUSPENDED, waits=(OpenWait(wait_id="w", expires_at=expires_at),)
        ),
    )
    states: list[RunState] = []

    class Watching(StoreWrapper):
        async def append_external(self, run_id: RunId, external: External) -> Any:
            result = await super().append_external(run_id, external)
            states.append(result.state)
            assert Guard.WAIT_OPEN in external.guards
            return result

    await supervise(Watching(store))
    assert states == [RunState.SETTLED]
    log = await log_of(store, run_id)
    assert [record.type for record in log[-2:]] == ["wait_expired", "run_settled"]
    assert log[-1].state == "abandoned"
