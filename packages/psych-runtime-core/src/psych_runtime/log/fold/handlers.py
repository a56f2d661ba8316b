"""The shape of a handler: first a check that may raise, then an effect that may not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from psych_runtime.log.fold.state import RunStateView


class Handler(NamedTuple):
    """What folding one record type does.

    Splitting it makes a fold atomic: nothing is changed before everything was checked.
    """

    check: Callable[[RunStateView, Any], None] | None
    """Raises `CorruptLog` when the record is impossible in this state; changes nothing."""
    apply: Callable[[RunStateView, Any], None] | None
    """Changes the state; never raises after the check has passed."""
