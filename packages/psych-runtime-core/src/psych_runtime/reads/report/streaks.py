"""When a tool failed so often in a row that it was withheld."""

from __future__ import annotations

from datetime import datetime

from psych_runtime.ids import ToolCallId
from psych_runtime.log.fold.state import RunStateView
from psych_runtime.log.records import Record, ToolCallFinished, ToolCallStarted
from psych_runtime.reads.model import ReadModel


class FailureStreakTrip(ReadModel):
    """A tool reached the threshold of failures in a row."""

    tool: str
    call_id: ToolCallId
    """The call with which it did."""
    streak: int
    threshold: int
    at: datetime


class FailureStreaks:
    """Notes each time a tool reaches the threshold.

    Args:
        threshold: Failures in a row, from the Spec's limits; None counts nothing.
    """

    def __init__(self, threshold: int | None) -> None:
        self.rows: list[FailureStreakTrip] = []
        self._threshold = threshold
        self._streaks: dict[str, int] = {}
        self._tools: dict[ToolCallId, str] = {}

    def add(self, record: Record, state: RunStateView) -> None:
        """Take in one record, and the state after it."""
        if isinstance(record, ToolCallStarted):
            self._tools[record.call_id] = record.tool
        elif isinstance(record, ToolCallFinished):
            self._judge(record, state)

    def _judge(self, record: ToolCallFinished, state: RunStateView) -> None:
        tool = self._tools.pop(record.call_id, None)
        if tool is None or self._threshold is None:
            return
        before = self._streaks.get(tool, 0)
        streak = self._streaks[tool] = state.failure_streaks.get(tool, 0)
        if before < self._threshold <= streak:
            self.rows.append(
                FailureStreakTrip(
                    tool=tool,
                    call_id=record.call_id,
                    streak=streak,
                    threshold=self._threshold,
                    at=record.at,
                )
            )
