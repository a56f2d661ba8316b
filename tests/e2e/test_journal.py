"""The journal against real stores: facts, decisions, cancelled callers, lost answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import psych_runtime
import pytest
from agents import admit, agent, log_of
from psych_runtime.engine.journal import DecisionDropped, Journal
from psych_runtime.engine.lease import LeaseGuard
from psych_runtime.errors import LeaseLost, StoreUnavailable
from psych_runtime.ids import RunId, WorkerId, new_attempt_id
from psych_runtime.log.codec import decode_log
from psych_runtime.log.corruption import CorruptLog
from psych_runtime.log.fold import reduce
from psych_runtime.log.records import (
    AttemptStarted,
    QueueConsumed,
    RunSettled,
    TurnStarted,
)
from psych_runtime.log.values import TerminalState
from psych_runtime.ports.store import Lease, RunState, Store, Transition, WorkerSession
from psych_runtime.testing.logs import comparable
from psych_runtime.testing.store_wrapper import StoreWrapper

SESSION = WorkerSession("wrk_a:1", WorkerId("wrk_a"), 30.0)


class Gated(StoreWrapper):
    """Holds appends back until told, and can lose their answers."""

    def __init__(self, inner: Store) -> None:
        super().__init__(inner)
        self.gate = asyncio.Event()
        self.gate.set()
        self.reached = asyncio.Event()
        self.lose_answers = 0
        self.appends = 0

    async def around_write[T](self, what: str, write: Callable[[], object]) -> T:
        if what != "append":
            return await super().around_write(what, write)
        self.appends += 1
        self.reached.set()
        await self.gate.wait()
        result: T = await super().around_write(what, write)
        if self.lose_answers:
            self.lose_answers -= 1
            raise StoreUnavailable("the answer was lost")
        return result


async def open_journal(store: Store, run_id: RunId) -> Journal:
    [claim] = await store.claim(SESSION, 1)
    assert claim.header.run_id == run_id
    records = decode_log(run_id, await store.read(run_id))
    guard = LeaseGuard(store, SESSION)
    guard.renewed(guard.now())
    return Journal(
        store,
        claim.header,
        reduce(records),
        lease=Lease(SESSION.session_id, SESSION.worker_id, claim.header.epoch),
        guard=guard,
        attempt_id=new_attempt_id(),
        history=records,
        linger_seconds=60,
    )


def begin(journal: Journal) -> None:
    journal.write(AttemptStarted, worker_id=SESSION.worker_id, attempt_number=1)


async def test_c58_cancelling_the_caller_does_not_cancel_the_append(store: Store) -> None:
    gated = Gated(store)
    run_id = await admit(store, agent())
    journal = await open_journal(gated, run_id)
    begin(journal)
    gated.gate.clear()
    committing = asyncio.create_task(journal.commit())
    await gated.reached.wait()
    committing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await committing
    gated.gate.set()
    journal.write(TurnStarted, turn=1)
    await journal.commit()
    log = await log_of(store, run_id)
    assert [record.type for record in log] == ["run_admitted", "attempt_started", "turn_started"]
    assert gated.appends == 2


async def test_a_lost_answer_is_asked_for_again_and_nothing_is_doubled(store: Store) -> None:
    gated = Gated(store)
    gated.lose_answers = 3
    run_id = await admit(store, agent())
    journal = await open_journal(gated, run_id)
    begin(journal)
    await journal.commit()
    journal.write(TurnStarted, turn=1)
    await journal.commit()
    log = await log_of(store, run_id)
    assert [record.seq for record in log] == [1, 2, 3]
    assert gated.appends == 5


async def test_facts_go_after_what_others_wrote_and_the_fold_agrees(store: Store) -> None:
    run_id = await admit(store, agent())
    journal = await open_journal(store, run_id)
    begin(journal)
    await psych_runtime.send(store, run_id, message="from outside")
    journal.write(TurnStarted, turn=1)
    await journal.commit()
    log = await log_of(store, run_id)
    assert [record.type for record in log] == [
        "run_admitted",
        "queue_enqueued",
        "attempt_started",
        "turn_started",
    ]
    assert journal.head == 4
    assert comparable(journal.state) == comparable(reduce(log))


async def test_a_decision_is_dropped_when_the_head_moved_and_taken_again(store: Store) -> None:
    run_id = await admit(store, agent())
    journal = await open_journal(store, run_id)
    begin(journal)
    await psych_runtime.send(store, run_id, message="wait!")
    ending = Transition(RunState.SETTLED, terminal_state="completed")
    with pytest.raises(DecisionDropped):
        await journal.decide(
            journal.make(RunSettled, state=TerminalState.COMPLETED), transition=ending
        )
    [steer] = journal.state.pending_steer
    assert steer.payload == {"message": "wait!"}
    await journal.decide(journal.make(QueueConsumed, entry_id=steer.entry_id))
    await journal.decide(journal.make(RunSettled, state=TerminalState.COMPLETED), transition=ending)
    log = await log_of(store, run_id)
    assert [record.type for record in log] == [
        "run_admitted",
        "queue_enqueued",
        "attempt_started",
        "queue_consumed",
        "run_settled",
    ]
    with pytest.raises(LeaseLost):
        journal.write(TurnStarted, turn=1)


async def test_an_impossible_record_is_refused_before_it_is_queued(store: Store) -> None:
    run_id = await admit(store, agent())
    journal = await open_journal(store, run_id)
    begin(journal)
    with pytest.raises(CorruptLog):
        journal.write(TurnStarted, turn=7)
    await journal.commit()
    assert len(await log_of(store, run_id)) == 2


async def test_lazy_records_go_alone_after_the_linger(store: Store) -> None:
    run_id = await admit(store, agent())
    journal = await open_journal(store, run_id)
    journal._linger = 0.02
    begin(journal)
    async with asyncio.timeout(5):
        while len(await log_of(store, run_id)) < 2:
            await asyncio.sleep(0.005)
    await journal.close()
