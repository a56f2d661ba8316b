"""Why a Run is where it is."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from psych_runtime.ids import RunId, WorkerId
from psych_runtime.log.fold import reduce
from psych_runtime.log.values import SuspendReason, TerminalState, ToolFailure
from psych_runtime.ports.store import OpenWait, OutboxEntry, RunHeader, RunState, StoredRecord
from psych_runtime.reads import calls
from psych_runtime.reads.explain import Explanation, explanation_of
from psych_runtime.reads.lifecycle import Lifecycle
from psych_runtime.store.memory import InMemoryStore
from psych_runtime.testing.logs import EPOCH
from psych_runtime.testing.store_wrapper import StoreWrapper

NewLog = Callable[..., Any]
Put = Callable[..., Any]
NOW = EPOCH + timedelta(minutes=1)
DEADLINE = EPOCH + timedelta(minutes=15)


def explained(log: Any, **fields: Any) -> Explanation:
    header = RunHeader(
        **{
            "run_id": log.run_id,
            "scope": log.scope,
            "version_hash": log.version_hash,
            "state": RunState.RUNNABLE,
            "created_at": EPOCH,
            "deadline_at": DEADLINE,
            "head_seq": len(log.records),
            **fields,
        }
    )
    return explanation_of(header, reduce(log.records), now=NOW)


def test_a_run_that_nobody_has_begun_needs_a_worker(new_log: NewLog) -> None:
    view = explained(new_log().admitted(), concurrency_key="order-7")
    assert view.lifecycle is Lifecycle.QUEUED
    assert "Worker" in view.summary
    assert view.moved_by[0] == "a Worker that claims it"
    assert "'order-7'" in view.moved_by[1]
    assert view.next_due is not None
    assert (view.next_due.what, view.next_due.at) == ("deadline", DEADLINE)


def test_a_held_run_names_its_holder_and_until_when(new_log: NewLog) -> None:
    log = new_log().begun().turns("", [("c1", "look"), ("c2", "look")]).start("c1")
    until = NOW + timedelta(seconds=20)
    held = {"state": RunState.RUNNING, "lease_holder": WorkerId("wrk_9"), "epoch": 1}
    view = explained(log, lease_expires_at=until, **held)
    assert (view.held_by, view.held_until, view.lease_lapsed) == ("wrk_9", until, False)
    assert "wrk_9" in view.summary
    assert view.doing == ("tool look (c1)",)
    assert view.next_due is not None
    assert (view.next_due.what, view.next_due.at) == ("lease", until)
    lapsed = explained(log, lease_expires_at=NOW - timedelta(seconds=1), **held)
    assert lapsed.lease_lapsed
    assert lapsed.moved_by[0] == "a Worker that claims it"


def test_a_waiting_run_says_for_what_and_what_would_move_it(new_log: NewLog) -> None:
    log = new_log().begun().turns("", [("c1", "pay")]).offered("c1", "pay")
    log.suspended(pending_call_id="c1", expires_at=NOW + timedelta(hours=2))
    log.suspended(
        SuspendReason.TIMER,
        step_id="s1",
        step_name="pause",
        wake_at=NOW + timedelta(hours=1),
        expires_at=NOW + timedelta(days=7),
    )
    view = explained(log, state=RunState.SUSPENDED, epoch=1)
    assert view.lifecycle is Lifecycle.WAITING
    assert "approval of pay" in view.summary
    assert "'pause'" in view.summary
    assert view.moved_by[0] == "resume(approved=True or False) for call c1"
    assert [wait.wait_id for wait in view.waits] == ["c1", "s1"]
    assert view.next_due is not None
    assert (view.next_due.what, view.next_due.at) == ("wakes", NOW + timedelta(hours=1))


@pytest.mark.parametrize("reason", list(SuspendReason))
def test_every_reason_to_wait_has_words(new_log: NewLog, reason: SuspendReason) -> None:
    log = new_log().begun().turns("", [("c1", "pay")])
    fields = {"pending_call_id": "c1"} if reason is SuspendReason.APPROVAL else {"step_id": "s1"}
    (wait,) = explained(log.suspended(reason, **fields), state=RunState.SUSPENDED).waits
    assert wait.reason is reason
    assert wait.waiting_for
    assert wait.moved_by


def test_an_aborted_run_waits_only_to_be_ended(new_log: NewLog) -> None:
    log = new_log().begun().suspended(wait_id="w", reason=SuspendReason.QUESTION).abort()
    view = explained(log, state=RunState.SUSPENDED, aborted=True, epoch=1)
    assert view.lifecycle is Lifecycle.STOPPING
    assert "asked to stop" in view.summary
    assert view.moved_by == ("a Worker that claims it",)


def test_an_ended_run_says_how_and_why(new_log: NewLog) -> None:
    failure = ToolFailure(kind="budget_exhausted", message="all turns are used")
    log = new_log().begun().settle(TerminalState.FAILED, failure=failure)
    entry = OutboxEntry(key="k", target_run_id=RunId("run_p"), body=b"{}")
    view = explained(log, state=RunState.SETTLED, terminal_state="failed", outbox=(entry, entry))
    assert "budget_exhausted: all turns are used" in view.summary
    assert (view.moved_by, view.next_due, view.waits) == ((), None, ())
    assert view.undelivered_to == ("run_p",)


class Torn(StoreWrapper):
    """A store whose second record is not a record."""

    async def read(
        self, run_id: RunId, *, after: int = 0, limit: int | None = None
    ) -> list[StoredRecord]:
        stored = await super().read(run_id, after=after, limit=limit)
        return [StoredRecord(item.seq, b"{}") if item.seq == 2 else item for item in stored]


async def test_c12_a_corrupt_log_is_explained_from_the_header(
    store: InMemoryStore, new_log: NewLog, put: Put
) -> None:
    log = new_log().begun()
    await put(log)
    view = await calls.explain(Torn(store), log.run_id, scope=log.scope)
    assert view.corruption is not None
    assert "record 2" in view.corruption
    assert view.held_by == "wrk_test"
    assert (await calls.explain(store, log.run_id)).corruption is None


def test_without_a_log_the_headers_waits_are_shown(new_log: NewLog) -> None:
    log = new_log().begun()
    header = RunHeader(
        run_id=log.run_id,
        scope=log.scope,
        version_hash=log.version_hash,
        state=RunState.SUSPENDED,
        created_at=EPOCH,
        deadline_at=DEADLINE,
        waits=(OpenWait(wait_id="w1", expires_at=NOW),),
    )
    (wait,) = explanation_of(header, None, now=NOW).waits
    assert (wait.wait_id, wait.reason, wait.expires_at) == ("w1", None, NOW)
