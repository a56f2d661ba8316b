"""Where a Run stands."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from psych_runtime.log.fold import reduce
from psych_runtime.log.values import SuspendReason, TerminalState, ToolFailure
from psych_runtime.ports.store import RunHeader, RunState
from psych_runtime.reads.status import Lifecycle, status_of
from psych_runtime.spec.questions import AskedQuestion
from psych_runtime.testing.logs import EPOCH

NewLog = Callable[..., Any]


def header_of(log: Any, **fields: Any) -> RunHeader:
    return RunHeader(
        **{
            "run_id": log.run_id,
            "scope": log.scope,
            "version_hash": log.version_hash,
            "state": RunState.RUNNING,
            "created_at": EPOCH,
            "deadline_at": EPOCH + timedelta(minutes=15),
            "head_seq": len(log.records),
            "epoch": 1,
            **fields,
        }
    )


def lifecycle(log: Any) -> Lifecycle:
    return status_of(reduce(log.records)).lifecycle


def test_the_lifecycle_of_a_run(new_log: NewLog) -> None:
    log = new_log().admitted()
    assert lifecycle(log) is Lifecycle.QUEUED
    log.attempt()
    assert lifecycle(log) is Lifecycle.RUNNING
    log.suspended(SuspendReason.QUESTION, question="which?")
    assert lifecycle(log) is Lifecycle.WAITING
    log.abort()
    assert lifecycle(log) is Lifecycle.STOPPING
    log.settled(TerminalState.ABORTED)
    assert lifecycle(log) is Lifecycle.STOPPED


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (TerminalState.COMPLETED, Lifecycle.DONE),
        (TerminalState.FAILED, Lifecycle.FAILED),
        (TerminalState.ABORTED, Lifecycle.STOPPED),
        (TerminalState.ABANDONED, Lifecycle.STOPPED),
        (TerminalState.FORCE_SETTLED, Lifecycle.STOPPED),
    ],
)
def test_the_lifecycle_of_an_ending(
    new_log: NewLog, state: TerminalState, expected: Lifecycle
) -> None:
    log = new_log().begun().settled(state, failure=ToolFailure(kind="deadline", message="late"))
    status = status_of(reduce(log.records))
    assert (status.lifecycle, status.terminal_state) == (expected, state)
    assert (status.failure_kind, status.failure_message) == ("deadline", "late")


def test_a28_a_settled_header_over_an_open_log_decides(new_log: NewLog) -> None:
    log = new_log().begun()
    header = header_of(log, state=RunState.SETTLED, terminal_state="failed")
    status = status_of(reduce(log.records), header)
    assert (status.lifecycle, status.terminal_state) == (Lifecycle.FAILED, TerminalState.FAILED)


def test_c33_every_pending_approval_is_listed_with_what_it_is_about(new_log: NewLog) -> None:
    log = new_log().begun().turns("", [(f"c{n}", "pay") for n in range(3)])
    for number in range(3):
        log.offered(
            f"c{number}",
            "pay",
            arguments={"amount": number},
            digest=f"d{number}",
            tool_class="destructive",
            reason="over the limit",
        )
    offered = status_of(reduce(log.records))
    assert offered.lifecycle is Lifecycle.RUNNING
    assert len(offered.pending_approvals) == 3
    for number in range(3):
        log.suspended(pending_call_id=f"c{number}", wait_id=f"c{number}")
    status = status_of(reduce(log.records))
    assert status.suspend_reason is SuspendReason.APPROVAL
    assert [each.wait_id for each in status.pending_approvals] == ["c0", "c1", "c2"]
    assert status.pending_approval == status.pending_approvals[0]
    last = status.pending_approvals[-1]
    assert (last.call_id, last.tool, last.arguments) == ("c2", "pay", {"amount": 2})
    assert (last.digest, last.tool_class, last.reason) == ("d2", "destructive", "over the limit")
    assert last.question is not None
    assert "pay" in last.question
    log.decided("c0")
    assert status_of(reduce(log.records)).pending_approval == status.pending_approvals[1]


def test_an_ended_run_waits_for_nothing(new_log: NewLog) -> None:
    log = new_log().begun().turns("", [("c1", "pay")]).offered("c1").abort()
    log.settled(TerminalState.ABORTED)
    status = status_of(reduce(log.records))
    assert status.pending_approval is None
    assert status.pending_approvals == ()
    assert status.suspend_reason is None


def test_a_question_and_a_step_that_waits(new_log: NewLog) -> None:
    log = new_log().begun()
    log.suspended(
        SuspendReason.QUESTION,
        wait_id="q",
        questions=(AskedQuestion(question="Which one?"),),
    )
    log.suspended(
        SuspendReason.EXTERNAL,
        step_id="s1",
        step_name="payment",
        event="paid",
        payload_schema={"type": "object"},
    )
    status = status_of(reduce(log.records))
    assert status.pending_question is not None
    assert status.pending_question.summary == "Which one?"
    assert status.pending_wait is not None
    assert (status.pending_wait.step_name, status.pending_wait.event) == ("payment", "paid")
    assert status.pending_wait.payload_schema == {"type": "object"}


def test_counters_and_cursor(new_log: NewLog) -> None:
    log = new_log().begun(continues_run_id="run_0", parent_run_id="run_p")
    log.turns("", [("c1", "look"), ("c2", "look")]).run_call("c1").start("c2")
    status = status_of(reduce(log.records))
    assert (status.turn, status.tool_calls, status.model_calls) == (1, 1, 1)
    assert (status.head_seq, status.attempt_count) == (len(log.records), 1)
    assert (status.continues_run_id, status.parent_run_id) == ("run_0", "run_p")
    assert status.has_dangling_tool_calls


def test_the_headers_deadline_is_the_one_that_counts(new_log: NewLog) -> None:
    log = new_log().begun()
    moved = EPOCH + timedelta(hours=30)
    state = reduce(log.records)
    assert status_of(state, header_of(log, deadline_at=moved)).deadline_at == moved
    assert status_of(state).deadline_at == EPOCH + timedelta(minutes=15)
