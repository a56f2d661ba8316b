"""The tool calls of a Run, the model's own and those of its programs."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from psych_runtime.ids import StepId, ToolCallId
from psych_runtime.log.records import (
    Record,
    ToolCallFinished,
    ToolCallReconciled,
    ToolCallRetried,
    ToolCallStarted,
    ToolResultLate,
)
from psych_runtime.log.values import MediaPart, ResultAttachment, ToolFailure, ToolOutcome
from psych_runtime.reads.model import ReadModel


class LateResult(ReadModel):
    """What a call reported after it had been settled as unknown."""

    at: datetime
    outcome: ToolOutcome
    result: Any = None
    failure: ToolFailure | None = None


class ToolCallReport(ReadModel):
    """One tool call, in start order. All times are UTC."""

    call_id: ToolCallId
    tool: str
    turn: int
    step_id: StepId | None
    arguments: dict[str, Any]
    """What it was executed with."""
    outcome: ToolOutcome | None
    """None while it is open."""
    result: Any
    """None when it was too large to keep in the log."""
    failure: ToolFailure | None
    duration_seconds: float | None
    """The time of the last execution."""
    result_handle: str | None
    """What `read_tool_output` reads the rest of the result by."""
    preview: str | None
    result_bytes: int
    attachments: tuple[ResultAttachment, ...] = ()
    parts: tuple[MediaPart, ...] = ()
    started_at: datetime
    finished_at: datetime | None
    interruptible: bool
    safe_to_retry: bool
    parent_call_id: ToolCallId | None = None
    """The call whose program made this one."""
    attempts: int = 1
    """How often it was executed, re-executions after a crash included."""
    reconciliation: Literal["happened", "did_not_happen", "unknown"] | None = None
    """What its reconciler found out after a crash, if it was asked."""
    reconciliation_detail: str | None = None
    late_result: LateResult | None = None


class ToolCalls:
    """Collects the tool calls of a log."""

    def __init__(self) -> None:
        self._rows: dict[ToolCallId, ToolCallReport] = {}

    @property
    def rows(self) -> tuple[ToolCallReport, ...]:
        """The calls so far, in start order."""
        return tuple(self._rows.values())

    def add(self, record: Record) -> None:
        """Take one record in."""
        if isinstance(record, ToolCallStarted):
            self._start(record)
        elif isinstance(record, ToolCallFinished):
            if record.arguments is not None:
                self._change(record.call_id, arguments=record.arguments)
            self._change(
                record.call_id,
                outcome=record.outcome,
                result=record.result,
                failure=record.failure,
                duration_seconds=record.duration_seconds,
                result_handle=record.result_handle,
                preview=record.preview,
                result_bytes=record.result_bytes,
                attachments=record.attachments,
                parts=record.parts,
                finished_at=record.at,
            )
        elif isinstance(record, ToolCallRetried):
            self._change(record.call_id, attempts=record.attempt_number)
        elif isinstance(record, ToolCallReconciled):
            self._change(
                record.call_id,
                reconciliation=record.verdict,
                reconciliation_detail=record.detail or None,
            )
        elif isinstance(record, ToolResultLate):
            late = LateResult(
                at=record.at,
                outcome=record.outcome,
                result=record.result,
                failure=record.failure,
            )
            self._change(record.call_id, late_result=late)

    def _start(self, record: ToolCallStarted) -> None:
        self._rows[record.call_id] = ToolCallReport(
            call_id=record.call_id,
            tool=record.tool,
            turn=record.turn,
            step_id=record.step_id,
            arguments=record.arguments,
            outcome=None,
            result=None,
            failure=None,
            duration_seconds=None,
            result_handle=None,
            preview=None,
            result_bytes=0,
            started_at=record.at,
            finished_at=None,
            interruptible=record.interruptible,
            safe_to_retry=record.safe_to_retry,
            attempts=record.attempt_number,
            parent_call_id=record.parent_call_id,
        )

    def _change(self, call_id: ToolCallId, **changes: Any) -> None:
        row = self._rows.get(call_id)
        if row is not None:
            self._rows[call_id] = row.model_copy(update=changes)
