"""Where the time of a Run went."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from psych_runtime.ids import StepId
from psych_runtime.log.records import (
    ApprovalDecided,
    AttemptStarted,
    CompactionApplied,
    ModelCallFailed,
    ModelCallFinished,
    ModelCallStarted,
    Record,
    Resumed,
    RunSettled,
    Suspended,
    ToolCallFinished,
    WaitExpired,
)
from psych_runtime.log.values import ModelTimings
from psych_runtime.reads.model import ReadModel

_UNPARKING = (Resumed, ApprovalDecided, WaitExpired, AttemptStarted, RunSettled)

Interval = tuple[datetime, datetime]


class LatencyReport(ReadModel):
    """Seconds spent on each kind of thing.

    Model, tool and compaction seconds add up what each call took, so calls that ran at the same
    time count more than the clock did. What the clock did not see at all is `unaccounted_seconds`.
    """

    wall_clock_seconds: float
    """From the first Record to the last."""
    model_seconds: float
    """Model calls, failed ones included."""
    tool_seconds: float
    """Executions of tools."""
    compaction_seconds: float = 0.0
    """Summary calls."""
    suspended_seconds: float = 0.0
    """Time in which the Run was parked, waiting."""
    unaccounted_seconds: float
    """Wall-clock time in which none of these was under way; never negative."""


class Latency:
    """Adds up where the time of a log went."""

    def __init__(self) -> None:
        self._first: datetime | None = None
        self._last: datetime | None = None
        self._parked_at: datetime | None = None
        self._asked_at: dict[StepId | None, datetime] = {}
        self._busy: list[Interval] = []
        self._parked: list[Interval] = []
        self._model = 0.0
        self._tools = 0.0
        self._compaction = 0.0

    def add(self, record: Record) -> None:
        """Take one record in."""
        self._first = min(self._first or record.at, record.at)
        self._last = max(self._last or record.at, record.at)
        if isinstance(record, ModelCallStarted):
            self._asked_at[record.step_id] = record.at
        elif isinstance(record, ModelCallFinished):
            self._asked_at.pop(record.step_id, None)
            self._model += self._ended(record.at, _call_seconds(record.timings))
        elif isinstance(record, ModelCallFailed):
            started = self._asked_at.pop(record.step_id, record.at)
            seconds = _call_seconds(record.timings) or (record.at - started).total_seconds()
            self._model += self._ended(record.at, seconds)
        elif isinstance(record, ToolCallFinished):
            self._tools += self._ended(record.at, record.duration_seconds)
        elif isinstance(record, CompactionApplied):
            self._compaction += self._ended(record.at, _call_seconds(record.timings))
        elif isinstance(record, Suspended):
            self._parked_at = self._parked_at or record.at
        elif isinstance(record, _UNPARKING):
            self._unpark(record.at)

    def report(self) -> LatencyReport:
        """Return the sums so far. A Run that is parked right now is parked up to its last record."""
        if self._first is None or self._last is None:
            return LatencyReport(
                wall_clock_seconds=0.0, model_seconds=0.0, tool_seconds=0.0, unaccounted_seconds=0.0
            )
        parked = list(self._parked)
        if self._parked_at is not None:
            parked.append((self._parked_at, self._last))
        wall = (self._last - self._first).total_seconds()
        covered = covered_seconds([*self._busy, *parked], self._first, self._last)
        return LatencyReport(
            wall_clock_seconds=wall,
            model_seconds=self._model,
            tool_seconds=self._tools,
            compaction_seconds=self._compaction,
            suspended_seconds=covered_seconds(parked, self._first, self._last),
            unaccounted_seconds=max(wall - covered, 0.0),
        )

    def _ended(self, at: datetime, seconds: float) -> float:
        """Note that something took ``seconds`` (at least 0) up to ``at``; return how long."""
        seconds = max(seconds, 0.0)
        self._busy.append((at - timedelta(seconds=seconds), at))
        return seconds

    def _unpark(self, at: datetime) -> None:
        if self._parked_at is not None:
            self._parked.append((self._parked_at, max(at, self._parked_at)))
            self._parked_at = None


def _call_seconds(timings: ModelTimings) -> float:
    return timings.queue_wait_seconds + timings.stream_duration_seconds


def covered_seconds(intervals: Iterable[Interval], first: datetime, last: datetime) -> float:
    """Return how much of ``first`` to ``last`` the intervals cover together, in seconds."""
    total = timedelta()
    reached = first
    for start, end in sorted(intervals):
        start, end = max(start, reached), min(end, last)
        if end > start:
            total += end - start
            reached = end
    return total.total_seconds()
