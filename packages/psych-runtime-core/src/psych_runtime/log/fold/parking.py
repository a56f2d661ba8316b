"""When a Run stands still, and for how long it has."""

from __future__ import annotations

from datetime import datetime

from psych_runtime.log.fold.state import RunStateView


def park(state: RunStateView, at: datetime) -> None:
    """Let the Run stand still from ``at``."""
    if not state.parked:
        state.parked = True
        state.parked_at = at
        state.suspensions += 1


def unpark(state: RunStateView, at: datetime) -> None:
    """Let the Run go on from ``at``.

    When two records do it, the earlier time counts, so that their order in the log does not.
    """
    began = state.parked_at
    if began is None:
        return
    if state.parked:
        state.parked = False
        state.unparked_at = max(at, began)
        state.suspended_time += state.unparked_at - began
    elif state.unparked_at is not None and at < state.unparked_at:
        earlier = max(at, began)
        state.suspended_time -= state.unparked_at - earlier
        state.unparked_at = earlier
