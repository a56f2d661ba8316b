"""What field reports call lost, stuck and doubled Runs: cases A, B and E of the case book."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from pathlib import Path

import psych_runtime
import pytest
from agents import SCOPE, admit, agent, ended, execute, log_of, of_type, serving, until
from chaos_scenarios import Clock
from psych_runtime import Runtime, Scope, ToolContext, ToolRegistry, Worker, WorkerId
from psych_runtime.ids import RunId, VersionHash
from psych_runtime.ports.store import RunFilter, RunState, Store, WorkerSession
from psych_runtime.spec.version import Version
from psych_runtime.store.memory import InMemoryStore
from psych_runtime.store.sqlite import SQLiteStore
from psych_runtime.testing.explorer import FaultyStore, Killed, invariant_violations
from psych_runtime.testing.fake_model import FakeModel, FakeTurn
from psych_runtime.testing.simulation import SimulatedWorker
from psych_runtime.testing.store_wrapper import StoreWrapper
from stores import STORES, open_store


@pytest.fixture(params=STORES)
def clock_and_store(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Clock, Store]:
    clock = Clock()
    return clock, open_store(request.param, tmp_path, clock)


def dead_session(lease_seconds: float = 30.0) -> WorkerSession:
    """The session of a process that is gone."""
    return WorkerSession("wrk_dead:1", WorkerId("wrk_dead"), lease_seconds)


async def test_c1_a_dispatched_run_survives_the_death_of_its_dispatcher(tmp_path: Path) -> None:
    database = tmp_path / "psych.db"
    script = f"""
import asyncio, os, sys
sys.path.insert(0, {str(Path(__file__).parents[1] / "support")!r})
from agents import admit, agent
from psych_runtime.store.sqlite import SQLiteStore

async def main():
    store = SQLiteStore({str(database)!r})
    await store.migrate()
    print(await admit(store, agent()), flush=True)
    os._exit(9)

asyncio.run(main())
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 9, done.stderr
    run_id = RunId(done.stdout.strip())
    async with SQLiteStore(database) as store:
        page = await psych_runtime.runs(store, SCOPE)
        assert [run.run_id for run in page.runs] == [run_id]
        async with serving(store, FakeModel().turn(text="here")):
            log = await ended(store, run_id)
    assert log[-1].output == {"text": "here"}


async def test_c5_one_bad_run_of_a_batch_does_not_strand_the_rest(store: Store) -> None:
    class Forgetful(StoreWrapper):
        forgotten: VersionHash | None = None

        async def get_version(self, version_hash: VersionHash) -> Version | None:
            if version_hash == self.forgotten:
                return None
            return await super().get_version(version_hash)

    forgetful = Forgetful(store)
    runs = [await admit(forgetful, agent(name=f"agent_{n}")) for n in range(5)]
    header = await store.get_run(runs[1])
    assert header is not None
    forgetful.forgotten = header.version_hash
    model = FakeModel().respond(lambda request: "fine")
    await Worker(forgetful, Runtime(forgetful, model, ToolRegistry()), concurrency=5).drain()
    ends = [(await log_of(store, run_id))[-1] for run_id in runs]
    assert [end.state for end in ends] == ["completed", "failed", *["completed"] * 3]
    assert ends[1].failure is not None
    assert header.version_hash in ends[1].failure.message


async def test_c8_a_second_worker_does_not_adopt_a_run_that_is_under_way(store: Store) -> None:
    registry = ToolRegistry()
    bodies: list[str] = []
    go = asyncio.Event()

    @registry.register
    async def step() -> str:
        """One step."""
        bodies.append("ran")
        await go.wait()
        return "done"

    model = FakeModel().turn(tool_calls=[("step", {})]).turn(text="finished")
    run_id = await admit(store, agent("step"))
    async with serving(store, model, registry, worker_id=WorkerId("same")):
        await until(lambda: bodies == ["ran"])
        async with serving(store, model, registry, worker_id=WorkerId("same")) as second:
            await Worker(store, Runtime(store, model, registry)).drain()
            assert second.active == frozenset()
            go.set()
            await ended(store, run_id)
    assert bodies == ["ran"]


async def test_c9_a_second_start_with_a_used_key_leaves_the_first_run_alone(store: Store) -> None:
    first = await psych_runtime.publish(store, agent(name="first"))
    second = await psych_runtime.publish(store, agent(name="second"))
    one = await psych_runtime.dispatch(
        store, first, SCOPE, input={"message": "one"}, idempotency_key="evt-1"
    )
    before = await log_of(store, one.run_id)
    again = await psych_runtime.dispatch(
        store, second, SCOPE, input={"message": "two"}, idempotency_key="evt-1"
    )
    assert (again.run_id, again.created) == (one.run_id, False)
    assert again.version_hash == first.hash
    assert await log_of(store, one.run_id) == before
    other = await psych_runtime.dispatch(
        store, second, Scope(tenant="other"), input={"message": "x"}, idempotency_key="evt-1"
    )
    assert other.created
    async with serving(store, FakeModel().respond(lambda request: request.messages[-1].content)):
        log = await ended(store, one.run_id)
    assert log[-1].output == {"text": "one"}


async def test_c12_a_corrupt_record_fails_that_run_alone_with_a_typed_reason(
    store: Store,
) -> None:
    good, bad = await admit(store, agent()), await admit(store, agent())

    class Corrupting(StoreWrapper):
        async def claim(self, session: WorkerSession, limit: int, *, log_limit: int = 256):  # type: ignore[no-untyped-def]
            return await super().claim(session, limit, log_limit=0)

        async def read(self, run_id: RunId, *, after: int = 0, limit: int | None = None):  # type: ignore[no-untyped-def]
            stored = await super().read(run_id, after=after, limit=limit)
            if run_id == bad and stored and stored[0].seq == 1:
                body = b'{"t":"turn_started","turn":7}'
                stored = [type(stored[0])(1, body), *stored[1:]]
            return stored

    corrupting = Corrupting(store)
    model = FakeModel().respond(lambda request: "fine")
    async with asyncio.timeout(20):
        await Worker(corrupting, Runtime(corrupting, model, ToolRegistry())).drain()
    assert (await log_of(store, good))[-1].state == "completed"
    header = await store.get_run(bad)
    assert header is not None
    assert (header.state, header.terminal_state) == (RunState.SETTLED, "failed")
    end = (await log_of(store, bad))[-1]
    assert end.failure.kind == "corrupt_log"
    assert "record 1" in end.failure.message


async def test_c13_c17_a_run_of_a_dead_process_is_reclaimed_after_the_lease(
    clock_and_store: tuple[Clock, Store],
) -> None:
    clock, store = clock_and_store
    await store.migrate()
    run_id = await admit(store, agent())
    [claim] = await store.claim(dead_session(), 1)
    assert claim.header.run_id == run_id
    model = FakeModel().respond(lambda request: "fine")
    await Worker(store, Runtime(store, model, ToolRegistry())).drain()
    assert len(await log_of(store, run_id)) == 1, "a live lease must not be touched"
    clock.offset += 31
    await Worker(store, Runtime(store, model, ToolRegistry())).drain()
    log = await log_of(store, run_id)
    assert log[-1].state == "completed"
    [attempt] = of_type(log, "attempt_started")
    assert attempt.reclaimed_expired_lease
    header = await store.get_run(run_id)
    assert header is not None
    assert (header.crashes, header.attempt_count) == (1, 2)
    await store.close()


def test_c14_resume_does_not_repeat_the_first_step() -> None:
    """Killed at every write of a three-step Run, the first step never runs twice after its
    result was durable; and an unsafe one never runs twice at all."""
    for at in range(1, 8):
        counts = {"one": 0, "two": 0, "three": 0}
        clock = Clock()
        store = InMemoryStore(clock=clock)
        registry = ToolRegistry()

        def make(name: str, counts: dict[str, int] = counts) -> None:
            async def step() -> str:
                counts[name] += 1
                return name

            registry.register(step, name=name, description="A step.")  # noqa: B023

        for name in counts:
            make(name)

        def answer(request: psych_runtime.ModelRequest) -> FakeTurn | str:
            said = sum(message.role == "assistant" for message in request.messages)
            names = ("one", "two", "three")
            return FakeTurn(tool_calls=[(names[said], {})]) if said < 3 else "all done"

        async def first(
            store: Store = store, registry: ToolRegistry = registry, at: int = at
        ) -> None:
            faulty = FaultyStore(store, at=at, fault="after")
            model = FakeModel().respond(answer)
            await Worker(faulty, Runtime(faulty, model, registry)).drain()

        async def second(store: Store = store, registry: ToolRegistry = registry) -> None:
            model = FakeModel().respond(answer)
            await Worker(store, Runtime(store, model, registry)).drain()

        run_id = asyncio.run(admit(store, agent("one", "two", "three")))
        loop = asyncio.new_event_loop()
        task = loop.create_task(first())
        try:
            loop.run_until_complete(task)
            killed = False
        except Killed:
            killed = True
            _graveyard.append((task, asyncio.all_tasks(loop)))
            loop.close()
        if not killed:
            loop.close()
        clock.offset += 31
        asyncio.run(second())
        log = asyncio.run(log_of(store, run_id))
        assert invariant_violations(log) == []
        assert log[-1].state == "completed"
        assert counts["one"] <= 1


_graveyard: list[object] = []


async def test_c18_a_blocked_event_loop_does_not_stop_other_workers() -> None:
    store = InMemoryStore()
    release = threading.Event()
    blocked = threading.Event()

    def answer(request: psych_runtime.ModelRequest) -> str:
        if request.messages[-1].content == "block" and not blocked.is_set():
            blocked.set()
            release.wait(20)
        return "fine"

    runs = [await admit(store, agent(), "block")]

    def stalled_worker() -> None:
        async def main() -> None:
            runtime = Runtime(store, FakeModel().respond(answer), ToolRegistry())
            await Worker(store, runtime, concurrency=1).drain()

        asyncio.run(main())

    thread = threading.Thread(target=stalled_worker)
    thread.start()
    try:
        await asyncio.to_thread(blocked.wait, 10)
        runs += [await admit(store, agent(), f"run {n}") for n in range(10)]
        async with asyncio.timeout(10):
            model = FakeModel().respond(answer)
            await Worker(store, Runtime(store, model, ToolRegistry())).drain()
        for run_id in runs[1:]:
            assert (await log_of(store, run_id))[-1].state == "completed"
        assert (await log_of(store, runs[0]))[-1].type != "run_settled"
    finally:
        release.set()
        await asyncio.to_thread(thread.join)
    assert (await log_of(store, runs[0]))[-1].state == "completed"


async def test_c23_a_worker_whose_clock_is_ahead_cannot_steal_a_lease(store: Store) -> None:
    run_id = await admit(store, agent())
    [claim] = await store.claim(dead_session(30.0), 1)
    model = FakeModel().respond(lambda request: "stolen")
    thief = SimulatedWorker(store, Runtime(store, model, ToolRegistry()))
    thief._clock = lambda: asyncio.get_running_loop().time() + 600
    await Worker.drain(thief)
    header = await store.get_run(run_id)
    assert header is not None
    assert (header.session_id, header.epoch) == ("wrk_dead:1", claim.header.epoch)


async def test_c24_a_heartbeat_just_before_the_end_keeps_the_lease(
    clock_and_store: tuple[Clock, Store],
) -> None:
    clock, store = clock_and_store
    await store.migrate()
    await admit(store, agent())
    alive, other = dead_session(10.0), WorkerSession("wrk_b:1", WorkerId("wrk_b"), 10.0)
    assert await store.claim(alive, 1)
    clock.offset += 9.9
    assert await store.heartbeat(alive)
    clock.offset += 9.8
    assert await store.claim(other, 1) == []
    clock.offset += 1.0
    assert len(await store.claim(other, 1)) == 1
    assert not await store.heartbeat(alive), "a session that was found expired stays closed"
    await store.close()


async def test_c25_the_lease_is_kept_while_a_stopping_worker_still_works(store: Store) -> None:
    registry = ToolRegistry()
    started, go = asyncio.Event(), asyncio.Event()

    @registry.register(interruptible=False)
    async def long_work() -> str:
        """Must not be cut."""
        started.set()
        await go.wait()
        return "finished"

    model = FakeModel().respond(
        lambda request: (
            "done"
            if request.messages[-1].role == "tool"
            else FakeTurn(tool_calls=[("long_work", {})])
        )
    )
    run_id = await admit(store, agent("long_work"))
    first = Worker(
        store, Runtime(store, model, registry), lease_seconds=0.6, heartbeat_seconds=0.15
    )
    serving_first = asyncio.create_task(first.run())
    await asyncio.wait_for(started.wait(), 10)
    first.stop()
    held = await store.get_run(run_id)
    assert held is not None
    deadline = asyncio.get_running_loop().time() + 1.5  # more than two leases
    while asyncio.get_running_loop().time() < deadline:
        await Worker(store, Runtime(store, model, registry)).drain()
        header = await store.get_run(run_id)
        assert header is not None
        assert (header.state, header.epoch) == (RunState.RUNNING, held.epoch)
    go.set()
    await serving_first
    log = await log_of(store, run_id)
    assert [record.outcome for record in of_type(log, "tool_call_finished")] == ["ok"]
    header = await store.get_run(run_id)
    assert header is not None
    assert header.state is RunState.RUNNABLE, "handed back at once, not after the lease"
    await Worker(store, Runtime(store, model, registry)).drain()
    assert (await log_of(store, run_id))[-1].state == "completed"
    header = await store.get_run(run_id)
    assert header is not None
    assert header.crashes == 0


async def test_a_poison_run_is_failed_after_too_many_crashes_and_wakes_do_not_count(
    clock_and_store: tuple[Clock, Store],
) -> None:
    clock, store = clock_and_store
    await store.migrate()
    run_id = await admit(store, agent())
    for crash in range(4):
        session = WorkerSession(f"wrk_{crash}:1", WorkerId(f"wrk_{crash}"), 1.0)
        assert len(await store.claim(session, 1)) == 1
        clock.offset += 2
    model = FakeModel().respond(lambda request: "fine")
    await Worker(store, Runtime(store, model, ToolRegistry()), max_attempts=3).drain()
    end = (await log_of(store, run_id))[-1]
    assert end.failure.kind == "attempts_exhausted"
    await store.close()


async def test_c54_after_a_kill_in_a_tool_every_call_has_a_result(
    clock_and_store: tuple[Clock, Store],
) -> None:
    clock, store = clock_and_store
    await store.migrate()
    registry = ToolRegistry()
    entered = asyncio.Event()

    @registry.register
    async def pay(n: int, context: ToolContext) -> str:
        """Pay."""
        entered.set()
        await asyncio.Event().wait()
        return "never"

    def answer(request: psych_runtime.ModelRequest) -> FakeTurn | str:
        if request.messages[-1].role == "tool":
            return "I do not know whether it was paid."
        return FakeTurn(tool_calls=[("pay", {"n": n}) for n in range(3)])

    model = FakeModel().respond(answer)
    run_id = await admit(store, agent("pay"))
    doomed = Worker(store, Runtime(store, model, registry), lease_seconds=5, heartbeat_seconds=2)
    task = asyncio.create_task(doomed.run())
    await asyncio.wait_for(entered.wait(), 10)
    async with asyncio.timeout(10):
        while len(of_type(await log_of(store, run_id), "tool_call_started")) < 3:
            await asyncio.sleep(0.01)
    # The process is gone as far as the store can tell: its session lapses.
    clock.offset += 6
    await Worker(store, Runtime(store, model, registry)).drain()
    log = await log_of(store, run_id)
    assert [r.outcome for r in of_type(log, "tool_call_finished")] == ["unknown"] * 3
    request = model.last_request
    asked = [call.id for m in request.messages if m.role == "assistant" for call in m.tool_calls]
    answered = [m.tool_call_id for m in request.messages if m.role == "tool"]
    assert answered == asked
    assert log[-1].state == "completed"
    before = len(log)
    doomed.stop()
    for attempt in list(doomed._active.values()):
        if attempt.task is not None:
            attempt.task.cancel()
    await task
    assert len(await log_of(store, run_id)) == before
    await store.close()


async def test_c126_nothing_is_ordered_or_fenced_by_a_timestamp(tmp_path: Path) -> None:
    """Every clock stands still: all timestamps are equal, and everything works."""
    clock = Clock()
    frozen = clock()
    store = InMemoryStore(clock=lambda: frozen)
    runs = [await admit(store, agent(), f"run {n}") for n in range(5)]
    model = FakeModel().respond(lambda request: request.messages[-1].content)
    await Worker(store, Runtime(store, model, ToolRegistry())).drain()
    for n, run_id in enumerate(runs):
        log = await log_of(store, run_id)
        assert [record.seq for record in log] == list(range(1, len(log) + 1))
        assert log[-1].output == {"text": f"run {n}"}
    listed: list[str] = []
    cursor = None
    while True:
        page = await store.list_runs("acme", RunFilter(), limit=2, cursor=cursor)
        listed += [header.run_id for header in page.headers]
        cursor = page.cursor
        if cursor is None:
            break
    assert sorted(listed) == sorted(runs)


TEXTS = {
    "c122": "नमस्ते 👩‍👩‍👧‍👦 e\u0301 مرحبا \u202eabc",
    "c124": "W\0s\0l \ud800 lone",
}


@pytest.mark.parametrize("case", TEXTS)
async def test_c122_c124_any_text_survives_unchanged(store: Store, case: str) -> None:
    text = TEXTS[case]
    registry = ToolRegistry()
    received: list[str] = []

    @registry.register
    async def echo(text: str) -> dict[str, object]:
        """Echo."""
        received.append(text)
        return {text: [text, 2**200, float("inf")]}

    model = FakeModel().turn(text=[text], tool_calls=[("echo", {"text": text})]).turn(text=[text])
    log = await execute(store, agent("echo"), model, registry, message=text)
    assert received == [text]
    assert log[0].input == {"message": text}
    [finished] = of_type(log, "tool_call_finished")
    assert finished.result == {text: [text, 2**200, float("inf")]}
    assert log[-1].output == {"text": text}
    # Ids are compared exactly: case and accents make another Run's key.
    version = await psych_runtime.publish(store, agent("echo"))
    keys = ["Key", "key", "kéy", "ke\u0301y"]
    runs = [
        (await psych_runtime.dispatch(store, version, SCOPE, idempotency_key=key)).run_id
        for key in keys
    ]
    assert len(set(runs)) == len(keys)
