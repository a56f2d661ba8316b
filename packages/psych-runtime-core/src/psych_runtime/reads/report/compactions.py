"""The summaries that replaced parts of a conversation."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from psych_runtime.log.records import CompactionApplied, Record
from psych_runtime.reads.model import ReadModel
from psych_runtime.spec.usage import Cost, Usage


class CompactionReport(ReadModel):
    """One summary. Times are UTC."""

    seq: int
    reason: Literal["threshold", "manual", "overflow"]
    replaced_from_seq: int
    replaced_to_seq: int
    """The model no longer sees the Records up to this one."""
    summary: str
    model: str
    """The summariser."""
    usage: Usage
    usage_reported: bool
    cost: Cost | None
    """None when no price is known."""
    at: datetime


class Compactions:
    """Collects the compactions of a log."""

    def __init__(self) -> None:
        self.rows: list[CompactionReport] = []

    def add(self, record: Record) -> None:
        """Take one record in."""
        if isinstance(record, CompactionApplied):
            self.rows.append(
                CompactionReport(
                    seq=record.seq,
                    reason=record.reason,
                    replaced_from_seq=record.replaced_from_seq,
                    replaced_to_seq=record.replaced_to_seq,
                    summary=record.summary,
                    model=record.model,
                    usage=record.usage,
                    usage_reported=record.usage_reported,
                    cost=record.cost,
                    at=record.at,
                )
            )
