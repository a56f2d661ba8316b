"""Records about messages and signals sent to a Run."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from psych_runtime.ids import StepId
from psych_runtime.log.records.base import RecordBase
from psych_runtime.log.values import QueueKind


class QueueEnqueued(RecordBase):
    """A message was sent to the Run."""

    type: Literal["queue_enqueued"] = "queue_enqueued"
    queue: QueueKind
    entry_id: str = Field(min_length=1, max_length=128)
    """Unique in the Run."""
    payload: dict[str, Any] = Field(default_factory=dict)


class QueueCancelled(RecordBase):
    """A message was taken back before it was delivered."""

    type: Literal["queue_cancelled"] = "queue_cancelled"
    entry_id: str = Field(min_length=1, max_length=128)


class QueueConsumed(RecordBase):
    """A message was delivered; written before the model request that contains it."""

    type: Literal["queue_consumed"] = "queue_consumed"
    entry_id: str = Field(min_length=1, max_length=128)
    step_id: StepId | None = None


class SignalReceived(RecordBase):
    """A named signal was sent to a running workflow."""

    type: Literal["signal_received"] = "signal_received"
    name: str = Field(min_length=1, max_length=128)
    payload: dict[str, Any] = Field(default_factory=dict)
    signal_id: str = Field(min_length=1, max_length=128)
    """Unique in the Run."""
    by: str | None = Field(default=None, max_length=256)


class SignalConsumed(RecordBase):
    """A step took a signal."""

    type: Literal["signal_consumed"] = "signal_consumed"
    signal_id: str = Field(min_length=1, max_length=128)
    step_id: StepId | None = None
