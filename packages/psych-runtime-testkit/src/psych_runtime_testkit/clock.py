"""A clock that moves only when told to."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


class ManualClock:
    """Give it to an adapter as its clock, and contract tests need not wait for real time.

    Args:
        start: The first time it shows. Default: 2030-01-01, UTC.

    Example:
        >>> clock = ManualClock()
        >>> clock.advance(90)
        >>> clock().minute, clock().second
        (1, 30)
    """

    def __init__(self, start: datetime = datetime(2030, 1, 1, tzinfo=UTC)) -> None:
        self._now = start

    def __call__(self) -> datetime:
        """The time it shows."""
        return self._now

    def advance(self, seconds: float) -> None:
        """Move it forward."""
        self._now += timedelta(seconds=seconds)
