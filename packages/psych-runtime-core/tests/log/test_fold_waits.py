from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from psych_runtime.log.fold.entries import Approval, StepResume
from psych_runtime.log.values import SuspendReason
from psych_runtime.spec.questions import AskedQuestion
from psych_runtime.testing.logs import EPOCH, LogBuilder

DAY = EPOCH + timedelta(days=1)


def asking(*call_ids: str) -> LogBuilder:
    calls = [(call_id, "refund", {"id": 1}) for call_id in call_ids]
    return LogBuilder().admitted().attempt().turn().model_started().model_finished(calls=calls)


def at(seconds: int) -> dict[str, Any]:
    return {"at": EPOCH + timedelta(seconds=seconds)}


def test_an_offered_approval_does_not_stop_the_run() -> None:
    state = asking("a", "b").offered("a", digest="sha256:d", tool_class="destructive").state()
    assert not state.suspended
    assert state.is_runnable
    assert state.suspend_reason is None
    wait = state.waits["a"]
    assert (wait.offered_only, wait.digest, wait.tool_class) == (True, "sha256:d", "destructive")
    assert wait is state.oldest_wait


def test_a_suspended_run_shows_its_oldest_wait() -> None:
    question = AskedQuestion(question="Which one?")
    log = asking("a", "b").offered("b").offered("a")
    log.suspended(pending_call_id="a", question="Refund 1?", expires_at=DAY)
    log.suspended(
        SuspendReason.QUESTION,
        wait_id="q",
        pending_call_id="q",
        question="Which one?",
        questions=(question,),
    )
    state = log.state()
    assert state.suspended
    assert not state.is_runnable
    assert list(state.waits) == ["b", "a", "q"]
    assert (state.suspend_reason, state.pending_approval_call_id) == (SuspendReason.APPROVAL, "b")
    state = log.decided("b").suspended(pending_call_id="a", question="Refund 1?").state()
    assert (state.suspend_question, state.pending_approval_call_id) == ("Refund 1?", "a")
    assert state.waits["a"].digest == ""
    assert state.waits["a"].arguments == {}
    assert not state.waits["a"].offered_only
    state = log.resumed(wait_id="a").suspended(SuspendReason.QUESTION, wait_id="q").state()
    assert state.waits["q"].call_id == "q"
    assert state.suspend_reason is SuspendReason.QUESTION


def test_a_step_wait_is_described_by_its_record() -> None:
    log = LogBuilder().admitted().attempt().step_started("s", kind="wait")
    log.suspended(
        SuspendReason.EXTERNAL,
        step_id="s",
        step_name="paid",
        event="payment",
        payload_schema={"type": "object"},
        wake_at=DAY,
        expires_at=DAY,
    )
    state = log.state()
    assert (state.suspended_step_id, state.suspended_step_name) == ("s", "paid")
    assert (state.suspend_event, state.suspend_payload_schema) == ("payment", {"type": "object"})
    assert (state.suspend_wake_at, state.suspend_expires_at) == (DAY, DAY)
    assert state.suspended_at == log.records[-1].at
    state = log.resumed(wait_id="s", payload={"sum": 3}).state()
    assert state.step_resumes["s"] == (  # type: ignore[index]
        StepResume(SuspendReason.EXTERNAL, {"sum": 3}, None, seq=0),
    )
    assert state.step_resumes["s"][0].seq == 5  # type: ignore[index]
    assert (state.suspended_step_id, state.suspend_event) == (None, None)


def test_a_decision_is_kept_with_what_was_changed() -> None:
    log = asking("a", "b").offered("a").offered("b").suspended(pending_call_id="a")
    log.decided("a", True, by="ann", feedback="less", arguments={"id": 2}, digest="d")
    state = log.decided("b", False).state()
    assert state.approvals["a"] == Approval(True, "ann", "less", {"id": 2}, "d")
    assert state.approval_decisions == {"a": True, "b": False}
    assert state.resumed_since_attempt
    assert not state.suspended
    assert not log.attempt().state().resumed_since_attempt


def test_a_resume_can_decide_and_answer() -> None:
    log = asking("a").suspended(pending_call_id="a")
    state = log.resumed(approved=False, resumed_by="ann", payload={"why": "no"}).state()
    assert state.approvals["a"] == Approval(False, "ann")
    assert state.resume_payloads == {"a": {"why": "no"}}


def test_what_comes_too_late_changes_nothing() -> None:
    log = asking("a").offered("a").decided("a", True)
    before = log.state()
    after = log.decided("a", False).wait_expired("a").resumed(wait_id="a", approved=False).state()
    after.head_seq = before.head_seq
    assert after == before


@pytest.mark.parametrize(
    ("action", "decided"), [("deny", {"a": False}), ("abandon", {}), ("continue", {})]
)
def test_an_expired_wait_says_what_follows(action: str, decided: dict[str, bool]) -> None:
    state = asking("a").offered("a").wait_expired("a", action=action).state()
    assert state.expired_waits == {"a": action}
    assert state.approval_decisions == decided
    assert not state.waits
    if decided:
        assert state.approvals["a"].expired


def test_the_expiry_of_a_question_decides_nothing() -> None:
    log = LogBuilder().admitted().attempt().step_started("s", kind="human")
    log.suspended(SuspendReason.QUESTION, step_id="s")
    state = log.wait_expired("s", SuspendReason.QUESTION, "deny").state()
    assert state.approvals == {}
    assert state.step_resumes["s"][0].expired  # type: ignore[index]
    assert state.step_resumes["s"][0].approved is None  # type: ignore[index]


def test_a_breakpoint_can_switch_stepping() -> None:
    log = LogBuilder().admitted(step_mode=True).attempt()
    log.suspended(SuspendReason.BREAKPOINT, step_id="s").resumed(payload={"step_mode": "x"})
    assert log.state().step_mode
    log.suspended(SuspendReason.BREAKPOINT, step_id="s").resumed(payload={"step_mode": False})
    assert not log.state().step_mode
    log.suspended(SuspendReason.EXTERNAL, step_id="s").resumed(payload={"step_mode": True})
    assert not log.state().step_mode


def test_waiting_moves_the_deadline() -> None:
    log = LogBuilder().admitted().attempt()
    log.suspended(SuspendReason.TIMER, wait_id="one", **at(10))
    log.suspended(SuspendReason.TIMER, wait_id="two", **at(12))
    log.resumed(wait_id="one", **at(70)).resumed(wait_id="two", **at(200))
    state = log.state()
    assert state.suspended_seconds == 60
    assert state.deadline_at is not None
    assert state.effective_deadline_at == state.deadline_at + timedelta(seconds=60)
    log.suspended(SuspendReason.TIMER, wait_id="three", **at(300)).attempt(**at(310))
    assert log.state().suspended_seconds == 70
    # It had come earlier than the attempt that was started without knowing of it.
    assert log.resumed(wait_id="three", **at(305)).state().suspended_seconds == 65


def test_a_clock_that_goes_back_takes_no_time_away() -> None:
    log = LogBuilder().admitted().attempt().suspended(SuspendReason.TIMER, **at(100))
    assert log.resumed(**at(50)).state().suspended_seconds == 0


def test_an_abort_makes_a_waiting_run_runnable() -> None:
    log = LogBuilder().admitted().attempt().suspended(SuspendReason.TIMER)
    assert not log.state().is_runnable
    assert log.abort().state().is_runnable


def test_a_new_attempt_takes_the_run_up_with_its_waits_open() -> None:
    log = asking("a", "b").suspended(pending_call_id="a").suspended(pending_call_id="b")
    state = log.decided("a").attempt().state()
    assert not state.suspended
    assert list(state.waits) == ["b"]
    assert log.suspended(pending_call_id="b").state().suspended
