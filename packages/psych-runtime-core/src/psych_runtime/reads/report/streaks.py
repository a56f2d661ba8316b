"""When a tool failed so often in a row that it was withheld."""

from __future__ import annotations

from datetime import datetime

from psych_runtime.ids import ToolCallId
from psych_runtime.reads.model import ReadModel


class FailureStreakTrip(ReadModel):
    """A tool reached the threshold of failures in a row."""

    tool: str
    call_id: ToolCallId
    """The call with which it did."""
    streak: int
    threshold: int
    at: datetime
