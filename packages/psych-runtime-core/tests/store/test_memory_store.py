"""What InMemoryStore does beyond the contract."""

import asyncio
import sys
import threading
from datetime import UTC, datetime

from psych_runtime.ports.store import RunState, Store, WakeKind
from psych_runtime.store.memory import InMemoryStore
from psych_runtime_testkit.clock import ManualClock
from psych_runtime_testkit.store import StoreLab


def _calls(coroutine):
    """Number of Python and C function calls that running ``coroutine`` to its end takes."""
    count = 0

    def profile(frame, event, argument):
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(profile)
    try:
        coroutine.send(None)
    except StopIteration:
        return count
    finally:
        sys.setprofile(None)
    raise AssertionError("the store waited for something")


async def test_claim_never_looks_at_settled_runs():
    async def cost(settled):
        lab = StoreLab(InMemoryStore(clock=ManualClock()), None)
        for _ in range(settled):
            await lab.settled_run()
        await lab.admit()
        return _calls(lab.store.claim(lab.session(), 1))

    assert await cost(300) <= await cost(3) + 3


async def test_claim_cost_does_not_grow_with_the_runs_that_wait():
    async def cost(pending):
        lab = StoreLab(InMemoryStore(clock=ManualClock()), None)
        session = lab.session()
        for n in range(pending):
            await lab.admit(tenant=f"t{n % 7}")
        for _ in range(3):
            await lab.claim(session)
        return _calls(lab.store.claim(session, 1))

    assert await cost(1000) <= await cost(10) + 3


async def test_due_never_looks_at_waiting_or_settled_runs():
    async def cost(others):
        clock = ManualClock()
        lab = StoreLab(InMemoryStore(clock=clock), clock)
        for _ in range(others):
            await lab.settled_run(seconds=1)
            await lab.suspended_run("a", seconds=3600)
        await lab.pass_time(2)
        await lab.store.due()
        return _calls(lab.store.due())

    assert await cost(100) <= await cost(2) + 3


def test_many_threads_with_loops_of_their_own():
    store = InMemoryStore()
    lab = StoreLab(store, None)
    admitted = {asyncio.run(lab.admit()) for _ in range(200)}
    claimed = []

    async def work():
        session = lab.session()
        while claims := await store.claim(session, 3):
            for claim in claims:
                await lab.append(claim, b"x")
                await lab.move(claim, RunState.SETTLED, batch_no=2)
                claimed.append(claim.header.run_id)

    threads = [threading.Thread(target=lambda: asyncio.run(work())) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(claimed) == 200
    assert set(claimed) == admitted


async def test_hints_of_another_thread_arrive_on_the_listeners_own():
    store = InMemoryStore()
    lab = StoreLab(store, None)
    heard = []
    store.listen(lambda run_id, kind: heard.append((run_id, kind, threading.get_ident())))
    run_id = await asyncio.to_thread(lambda: asyncio.run(lab.admit()))
    await lab.until(lambda: bool(heard))
    assert heard == [(run_id, WakeKind.RUNNABLE, threading.get_ident())]


async def test_listener_of_a_closed_loop_is_dropped():
    store = InMemoryStore()

    async def listen():
        store.listen(lambda run_id, kind: None)

    await asyncio.to_thread(lambda: asyncio.run(listen()))
    assert store._wakeups.wanted
    await StoreLab(store, None).admit()
    assert not store._wakeups.wanted


async def test_listener_is_called_after_the_write_not_during_it():
    store = InMemoryStore()
    lab = StoreLab(store, None)
    heard = []
    store.listen(lambda run_id, kind: heard.append(kind))
    _calls(store.create_run(await lab.new_run(), [b"x"]))
    assert heard == []
    await lab.until(lambda: heard == [WakeKind.RUNNABLE])


async def test_default_clock_is_the_system_clock():
    before = datetime.now(UTC)
    assert before <= await InMemoryStore().now() <= datetime.now(UTC)


def test_it_is_a_store():
    assert isinstance(InMemoryStore(), Store)


async def test_header_equals_a_validated_one():
    lab = StoreLab(InMemoryStore(), None)
    header = (await lab.held_run(concurrency_key="k", priority=2)).header
    again = type(header).model_validate(header.model_dump())
    assert again == header
    assert again.model_dump_json() == header.model_dump_json()
    assert header.model_copy(update={"name": "x"}).name == "x"


async def test_idle_expired_sessions_are_forgotten_not_closed():
    clock = ManualClock()
    lab = StoreLab(InMemoryStore(clock=clock), clock)
    idle = lab.session(lease_seconds=1)
    await lab.store.heartbeat(idle)
    await lab.pass_time(2)
    await lab.admit()
    await lab.claim()
    assert await lab.store.heartbeat(idle)
    await lab.admit()
    mine = await lab.claim(idle)
    await lab.pass_time(2)
    assert (await lab.claim()).header.run_id == mine.header.run_id
    assert not await lab.store.heartbeat(idle)
