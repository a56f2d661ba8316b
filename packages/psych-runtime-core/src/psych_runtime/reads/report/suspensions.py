"""What a Run waited for."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from psych_runtime.ids import StepId, ToolCallId
from psych_runtime.log.records import (
    ApprovalDecided,
    ApprovalOffered,
    Record,
    Resumed,
    Suspended,
    WaitExpired,
)
from psych_runtime.log.values import SuspendReason
from psych_runtime.reads.model import ReadModel


class SuspensionReport(ReadModel):
    """One wait of a Run and how it ended. All times are UTC."""

    wait_id: str
    reason: SuspendReason
    question: str | None = None
    pending_call_id: ToolCallId | None = None
    suspended_at: datetime
    """When the wait was opened."""
    expires_at: datetime
    resumed_at: datetime | None = None
    """When somebody (or the timer) ended it; None while it is open, or when it expired."""
    resumed_by: str | None = None
    approved: bool | None = None
    """With reason ``approval``."""
    expired_at: datetime | None = None
    """When it was closed without an answer."""
    expiry_action: Literal["deny", "abandon", "continue"] | None = None
    """What followed when it expired."""
    step_id: StepId | None = None
    event: str | None = None
    wake_at: datetime | None = None
    payload: dict[str, Any] | None = None
    """What the resume delivered."""


class Suspensions:
    """Collects the waits of a log."""

    def __init__(self) -> None:
        self.rows: list[SuspensionReport] = []
        self._open: dict[str, int] = {}

    def add(self, record: Record) -> None:
        """Take one record in."""
        if isinstance(record, ApprovalOffered):
            self._offer(record)
        elif isinstance(record, Suspended):
            self._suspend(record)
        elif isinstance(record, Resumed):
            self._close(
                record.wait_id or next(iter(self._open), ""),
                resumed_at=record.at,
                resumed_by=record.resumed_by,
                approved=record.approved,
                payload=record.payload,
            )
        elif isinstance(record, ApprovalDecided):
            self._close(
                record.wait_id,
                resumed_at=record.at,
                resumed_by=record.by,
                approved=record.approved,
            )
        elif isinstance(record, WaitExpired):
            self._close(record.wait_id, expired_at=record.at, expiry_action=record.action)

    def _offer(self, record: ApprovalOffered) -> None:
        self._append(
            SuspensionReport(
                wait_id=record.wait_id,
                reason=SuspendReason.APPROVAL,
                pending_call_id=record.call_id,
                suspended_at=record.at,
                expires_at=record.expires_at,
                step_id=record.step_id,
            )
        )

    def _suspend(self, record: Suspended) -> None:
        index = self._open.get(record.wait_id)
        if index is not None:
            if record.question is not None:
                self.rows[index] = self.rows[index].model_copy(update={"question": record.question})
            return
        self._append(
            SuspensionReport(
                wait_id=record.wait_id,
                reason=record.reason,
                question=record.question,
                pending_call_id=record.pending_call_id,
                suspended_at=record.at,
                expires_at=record.expires_at,
                step_id=record.step_id,
                event=record.event,
                wake_at=record.wake_at,
            )
        )

    def _append(self, row: SuspensionReport) -> None:
        self._open[row.wait_id] = len(self.rows)
        self.rows.append(row)

    def _close(self, wait_id: str, **changes: Any) -> None:
        index = self._open.pop(wait_id, None)
        if index is not None:
            self.rows[index] = self.rows[index].model_copy(update=changes)
