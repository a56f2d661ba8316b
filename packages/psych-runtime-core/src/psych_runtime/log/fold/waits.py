"""Folding what a Run waits for, and what came.

What comes from outside may come when the wait is already over: the writer could not know. It is
accepted then, and changes nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from psych_runtime.ids import ToolCallId
from psych_runtime.log.corruption import CorruptionReason
from psych_runtime.log.fold.entries import Approval, OpenWait, StepResume
from psych_runtime.log.fold.handlers import Handler
from psych_runtime.log.fold.parking import park, unpark
from psych_runtime.log.fold.refusing import MULTIPLE_OPEN, UNKNOWN, refuse
from psych_runtime.log.fold.state import RunStateView
from psych_runtime.log.records import (
    ApprovalDecided,
    ApprovalOffered,
    RecordBase,
    Resumed,
    Suspended,
    WaitExpired,
)
from psych_runtime.log.values import SuspendReason


def _check_call_waits(
    state: RunStateView, record: RecordBase, call_id: ToolCallId | None, step: object
) -> None:
    """A call that waits for a decision was asked for, or is a step's, and has no result."""
    if call_id is None:
        return
    if call_id in state.unanswered_calls or call_id in state.open_tool_calls:
        return
    if step is None or call_id in state.result_positions:
        refuse(record, CorruptionReason.TOOL_CALL_MISMATCH, f"call {call_id!r} is not open")


def _check_offered(state: RunStateView, record: ApprovalOffered) -> None:
    if record.wait_id in state.waits:
        refuse(record, MULTIPLE_OPEN, f"wait {record.wait_id!r} is already open")
    _check_call_waits(state, record, record.call_id, record.step_id)


def _offered(state: RunStateView, record: ApprovalOffered) -> None:
    state.closed_waits.discard(record.wait_id)
    state.waits[record.wait_id] = OpenWait(
        wait_id=record.wait_id,
        reason=SuspendReason.APPROVAL,
        opened_at=record.at,
        expires_at=record.expires_at,
        call_id=record.call_id,
        step_id=record.step_id,
        tool=record.tool,
        arguments=record.arguments,
        tool_class=record.tool_class,
        approval_reason=record.reason,
        digest=record.digest,
        offered_only=True,
    )


def _check_suspended(state: RunStateView, record: Suspended) -> None:
    wait = state.waits.get(record.wait_id)
    if wait is not None:
        if state.parked and wait.suspended_in == state.suspensions:
            refuse(record, MULTIPLE_OPEN, f"the Run already waits for {record.wait_id!r}")
        if wait.reason is not record.reason:
            refuse(record, MULTIPLE_OPEN, f"wait {record.wait_id!r} is open for {wait.reason}")
    if record.reason is SuspendReason.APPROVAL:
        _check_call_waits(state, record, record.pending_call_id, record.step_id)


def _suspended(state: RunStateView, record: Suspended) -> None:
    park(state, record.at)
    activation = state.activations.get(record.step_id)
    if activation is not None:
        activation.turn_open = activation.model_call_open = False
    state.closed_waits.discard(record.wait_id)
    wait = state.waits.get(record.wait_id)
    if wait is None:
        wait = OpenWait(
            wait_id=record.wait_id,
            reason=record.reason,
            opened_at=record.at,
            expires_at=record.expires_at,
            call_id=record.pending_call_id,
            step_id=record.step_id,
        )
    # Reassigning an existing key keeps its place: waits stay in the order they were opened.
    state.waits[record.wait_id] = replace(
        wait,
        expires_at=record.expires_at,
        wake_at=record.wake_at,
        step_name=record.step_name,
        event=record.event,
        payload_schema=record.payload_schema,
        question=record.question,
        questions=record.questions,
        offered_only=False,
        suspended_in=state.suspensions,
    )


def _check_answer(state: RunStateView, record: Resumed | ApprovalDecided | WaitExpired) -> None:
    if record.wait_id is None:
        if not state.waits:
            refuse(record, UNKNOWN, "the Run waits for nothing")
    elif record.wait_id not in state.waits and record.wait_id not in state.closed_waits:
        refuse(record, UNKNOWN, f"the Run never waited for {record.wait_id!r}")


def _close(state: RunStateView, record: RecordBase, wait_id: str | None) -> OpenWait | None:
    if wait_id is None:
        wait_id = next(iter(state.waits))
    wait = state.waits.pop(wait_id, None)
    if wait is not None:
        state.closed_waits.add(wait_id)
        state.resumed_since_attempt = True
        unpark(state, record.at)
    return wait


def _resumed(state: RunStateView, record: Resumed) -> None:
    wait = _close(state, record, record.wait_id)
    if wait is None:
        return
    if record.approved is not None:
        _decide(state, wait, Approval(record.approved, record.resumed_by))
    if wait.call_id is not None:
        state.resume_payloads[wait.call_id] = record.payload
    if wait.reason is SuspendReason.BREAKPOINT:
        stepping = record.payload.get("step_mode")
        if isinstance(stepping, bool):
            state.step_mode = stepping
    _resume_step(state, record, wait, record.payload, record.approved)


def _decided(state: RunStateView, record: ApprovalDecided) -> None:
    wait = _close(state, record, record.wait_id)
    if wait is None:
        return
    _decide(
        state,
        wait,
        Approval(record.approved, record.by, record.feedback, record.arguments, record.digest),
    )
    payload = {"feedback": record.feedback} if record.feedback else {}
    _resume_step(state, record, wait, payload, record.approved)


def _expired(state: RunStateView, record: WaitExpired) -> None:
    wait = _close(state, record, record.wait_id)
    if wait is None:
        return
    state.expired_waits[record.wait_id] = record.action
    approved = None
    if wait.reason is SuspendReason.APPROVAL and record.action == "deny":
        approved = False
        _decide(state, wait, Approval(False, expired=True))
    _resume_step(state, record, wait, {}, approved, expired=True)


def _decide(state: RunStateView, wait: OpenWait, approval: Approval) -> None:
    state.approvals[wait.wait_id] = approval
    if wait.call_id is not None:
        state.approval_decisions[wait.call_id] = approval.approved


def _resume_step(
    state: RunStateView,
    record: RecordBase,
    wait: OpenWait,
    payload: dict[str, Any],
    approved: bool | None,
    *,
    expired: bool = False,
) -> None:
    if wait.step_id is not None:
        resume = StepResume(wait.reason, payload, approved, record.seq, expired)
        state.step_resumes[wait.step_id] = (*state.step_resumes.get(wait.step_id, ()), resume)


HANDLERS: dict[type[RecordBase], Handler] = {
    ApprovalOffered: Handler(_check_offered, _offered),
    Suspended: Handler(_check_suspended, _suspended),
    Resumed: Handler(_check_answer, _resumed),
    ApprovalDecided: Handler(_check_answer, _decided),
    WaitExpired: Handler(_check_answer, _expired),
}
"""By record class."""
