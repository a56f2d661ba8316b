"""What a Run waits for, in the form in which a person or a program answers it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from psych_runtime.ids import StepId, ToolCallId
from psych_runtime.log.fold.entries import OpenWait
from psych_runtime.log.fold.state import RunStateView
from psych_runtime.log.values import SuspendReason
from psych_runtime.reads.model import ReadModel
from psych_runtime.spec.questions import AskedQuestion


class PendingApproval(ReadModel):
    """A tool call that a person has to allow or refuse."""

    wait_id: str
    """Names this wait among the Run's waits."""
    call_id: ToolCallId | None
    """None for a workflow tool step."""
    step_id: StepId | None = None
    tool: str
    arguments: dict[str, Any]
    """Exactly what would be executed."""
    digest: str | None = None
    """Of the tool and the arguments: what the decision is about."""
    tool_class: str | None = None
    """Why it is gated, such as ``destructive``."""
    reason: str | None = None
    """What the policy said, if it was the policy that asked."""
    question: str | None
    """The question in one line."""
    asked_at: datetime
    expires_at: datetime


class PendingQuestion(ReadModel):
    """A question that a person has to answer."""

    wait_id: str
    """Names this wait among the Run's waits."""
    call_id: ToolCallId | None
    """None for a workflow's human step."""
    step_id: StepId | None = None
    questions: tuple[AskedQuestion, ...]
    summary: str
    """The question in one line."""
    expires_at: datetime


class PendingWait(ReadModel):
    """A workflow step that waits for an event, a time, or somebody at a breakpoint."""

    wait_id: str
    """Names this wait among the Run's waits."""
    step_id: StepId
    step_name: str
    reason: SuspendReason
    event: str | None
    payload_schema: dict[str, Any]
    """JSON Schema of what a resume must bring."""
    wake_at: datetime | None
    """When a timer ends it."""
    expires_at: datetime


_STEP_REASONS = frozenset({SuspendReason.EXTERNAL, SuspendReason.TIMER, SuspendReason.BREAKPOINT})


def open_waits(state: RunStateView) -> tuple[OpenWait, ...]:
    """Return what the Run waits for, oldest first; nothing once it has ended."""
    return () if state.settled else tuple(state.waits.values())


def approvals_in(state: RunStateView, waits: Iterable[OpenWait]) -> tuple[PendingApproval, ...]:
    """Return the approvals among ``waits``."""
    return tuple(_approval(state, each) for each in waits if each.reason is SuspendReason.APPROVAL)


def questions_in(waits: Iterable[OpenWait]) -> tuple[PendingQuestion, ...]:
    """Return the questions among ``waits``."""
    return tuple(_question(each) for each in waits if each.reason is SuspendReason.QUESTION)


def step_waits_in(waits: Iterable[OpenWait]) -> tuple[PendingWait, ...]:
    """Return the waits of workflow steps, other than approvals and questions, among ``waits``."""
    return tuple(
        PendingWait(
            wait_id=each.wait_id,
            step_id=each.step_id,
            step_name=each.step_name or "",
            reason=each.reason,
            event=each.event,
            payload_schema=each.payload_schema,
            wake_at=each.wake_at,
            expires_at=each.expires_at,
        )
        for each in waits
        if each.reason in _STEP_REASONS and each.step_id is not None
    )


def _approval(state: RunStateView, wait: OpenWait) -> PendingApproval:
    tool, arguments = _what(state, wait)
    return PendingApproval(
        wait_id=wait.wait_id,
        call_id=wait.call_id,
        step_id=wait.step_id,
        tool=tool,
        arguments=arguments,
        digest=wait.digest or None,
        tool_class=wait.tool_class or None,
        reason=wait.approval_reason or None,
        question=wait.question or _ask(tool, arguments),
        asked_at=wait.opened_at,
        expires_at=wait.expires_at,
    )


def _what(state: RunStateView, wait: OpenWait) -> tuple[str, dict[str, Any]]:
    """Return the tool and the arguments that an approval is about."""
    if wait.tool is not None:
        return wait.tool, wait.arguments or {}
    if wait.call_id is not None:
        if (started := state.open_tool_calls.get(wait.call_id)) is not None:
            return started.tool, started.arguments
        if (asked := state.unanswered_calls.get(wait.call_id)) is not None:
            return asked.name, asked.arguments
    if wait.step_id is not None and (step := state.steps.get(wait.step_id)) is not None:
        tool, arguments = step.input.get("tool"), step.input.get("arguments")
        return (
            tool if isinstance(tool, str) else step.name,
            arguments if isinstance(arguments, dict) else {},
        )
    return wait.step_name or "", {}


def _ask(tool: str, arguments: dict[str, Any]) -> str:
    text = json.dumps(arguments, ensure_ascii=False, sort_keys=True, default=str)
    return f"Approve calling {tool!r} with {text}?"


def _question(wait: OpenWait) -> PendingQuestion:
    asked = [each.question for each in wait.questions]
    return PendingQuestion(
        wait_id=wait.wait_id,
        call_id=wait.call_id,
        step_id=wait.step_id,
        questions=wait.questions,
        summary=wait.question or " ".join(asked),
        expires_at=wait.expires_at,
    )
