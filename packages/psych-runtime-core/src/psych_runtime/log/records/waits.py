"""Records about waiting for somebody or something, and about what came."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import AwareDatetime, Field

from psych_runtime.ids import StepId, ToolCallId
from psych_runtime.log.records.base import RecordBase
from psych_runtime.log.values import SuspendReason
from psych_runtime.spec.questions import AskedQuestion

WAIT_ID_LENGTH = 256


class ApprovalOffered(RecordBase):
    """A call needs a person's yes; the Run may go on with other work meanwhile."""

    type: Literal["approval_offered"] = "approval_offered"
    wait_id: str = Field(min_length=1, max_length=WAIT_ID_LENGTH)
    call_id: ToolCallId | None = None
    tool: str = Field(min_length=1)
    arguments: dict[str, Any] = Field(default_factory=dict)
    tool_class: str = ""
    """Why it is gated, such as ``destructive``."""
    reason: str = ""
    digest: str = ""
    """What exactly is agreed to; a decision over another digest does not count."""
    expires_at: AwareDatetime
    step_id: StepId | None = None


class ApprovalDecided(RecordBase):
    """A person decided."""

    type: Literal["approval_decided"] = "approval_decided"
    wait_id: str = Field(min_length=1, max_length=WAIT_ID_LENGTH)
    approved: bool
    by: str | None = Field(default=None, max_length=256)
    feedback: str = ""
    """Told to the model."""
    arguments: dict[str, Any] | None = None
    """Replace the model's, when the person changed them."""
    digest: str = ""


class Suspended(RecordBase):
    """The Run stands still until the wait is over."""

    type: Literal["suspended"] = "suspended"
    wait_id: str = Field(min_length=1, max_length=WAIT_ID_LENGTH)
    """The call id or step id that waits."""
    reason: SuspendReason
    payload_schema: dict[str, Any] = Field(default_factory=dict)
    """JSON Schema of what a resume must bring."""
    expires_at: AwareDatetime
    step_id: StepId | None = None
    step_name: str | None = Field(default=None, max_length=128)
    event: str | None = Field(default=None, max_length=128)
    """The event a wait step expects."""
    wake_at: AwareDatetime | None = None
    """When a timer ends by itself."""
    pending_call_id: ToolCallId | None = None
    """The call that waits for an approval or an answer."""
    question: str | None = Field(default=None, max_length=8192)
    questions: tuple[AskedQuestion, ...] = ()


class Resumed(RecordBase):
    """A wait is over, with what it waited for."""

    type: Literal["resumed"] = "resumed"
    wait_id: str | None = Field(default=None, max_length=WAIT_ID_LENGTH)
    """None means the oldest open wait."""
    payload: dict[str, Any] = Field(default_factory=dict)
    approved: bool | None = None
    resumed_by: str | None = Field(default=None, max_length=256)


class WaitExpired(RecordBase):
    """A wait is over because nobody came in time."""

    type: Literal["wait_expired"] = "wait_expired"
    wait_id: str = Field(min_length=1, max_length=WAIT_ID_LENGTH)
    reason: SuspendReason
    action: Literal["deny", "abandon", "continue"]
    """What follows: the call is denied, the Run is abandoned, or it goes on without an answer."""
