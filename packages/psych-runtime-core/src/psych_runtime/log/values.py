"""Enumerations and value models that Records are made of."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from psych_runtime.ids import ToolCallId
from psych_runtime.log.frozen import Data, FrozenModel


class QueueKind(StrEnum):
    """When a message sent to a Run is delivered."""

    STEER = "steer"
    """At the start of the next turn; refused after an abort."""
    FOLLOW_UP = "follow_up"
    """When the Run would otherwise complete; refused after an abort."""
    NEXT_RUN = "next_run"
    """To the next Run of the conversation; legal after an abort."""


class TerminalState(StrEnum):
    """How a Run ended."""

    COMPLETED = "completed"
    FAILED = "failed"
    ABORTED = "aborted"
    """Interrupted, or past its deadline, and unwound cleanly."""
    ABANDONED = "abandoned"
    """A wait expired and nothing was to follow."""
    FORCE_SETTLED = "force_settled"
    """Ended over work that did not unwind within the grace period."""


class SuspendReason(StrEnum):
    """What a Run waits for."""

    APPROVAL = "approval"
    QUESTION = "question"
    EXTERNAL = "external"
    """An event from outside the runtime."""
    TIMER = "timer"
    """A wake time; resumes by itself."""
    BREAKPOINT = "breakpoint"
    CHILDREN = "children"


class ToolOutcome(StrEnum):
    """How a tool call ended."""

    OK = "ok"
    ERROR = "error"
    ABORTED = "aborted"
    """The executing task was cancelled."""
    UNKNOWN = "unknown"
    """The Attempt died in the call; nobody knows whether the effect happened."""


_CUT = "… [cut: {} characters in all]"


def _clamp(limit: int) -> BeforeValidator:
    def clamp(value: Any) -> Any:
        if not isinstance(value, str) or len(value) <= limit:
            return value
        marker = _CUT.format(len(value))
        return value[: limit - len(marker)] + marker

    return BeforeValidator(clamp)


class ToolFailure(FrozenModel):
    """Why a call, a model call, a step or a Run failed.

    Text over a limit is cut with a marker, never refused: reporting a failure must not fail.
    """

    kind: Annotated[str, _clamp(128)] = Field(min_length=1)
    """Stable token, at most 128 characters."""
    message: Annotated[str, _clamp(8192)]
    """Shown to the model, at most 8192 characters."""
    traceback: Annotated[str | None, _clamp(65536)] = None
    """For operators, at most 65536 characters."""
    transient: bool = False
    """Whether trying again may help."""
    traceback_is_for_the_model: bool = False
    """True only for a program the model wrote itself."""


class ResultAttachment(FrozenModel):
    """One further output of a call, readable under its own handle."""

    name: str = Field(min_length=1, max_length=512)
    """``stdout``, ``stderr``, ``value``, ``execution`` or ``file:<relative path>``."""
    handle: str = Field(min_length=1, max_length=256)
    content_type: str = Field(min_length=1, max_length=128)
    size_bytes: int = Field(ge=0)
    """How much was kept."""
    observed_bytes: int = Field(ge=0)
    """How much was produced."""
    truncated: bool = False
    data: Data | None = None
    """The bytes, only when ``stored`` is ``inline``."""
    stored: Literal["inline", "blob", "preview_only"] = "inline"
    sha256: str | None = Field(default=None, min_length=64, max_length=64)
    """Digest of the kept bytes."""
    readable: bool = True
    """False for what the model may not read."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.observed_bytes < self.size_bytes:
            raise ValueError(
                f"attachment {self.name!r}: {self.size_bytes} bytes kept of {self.observed_bytes}"
            )
        if (self.stored == "inline") != (self.data is not None):
            raise ValueError(f"attachment {self.name!r}: only an inline one carries data")
        return self


class MediaPart(FrozenModel):
    """One part of a result that has several: text, an image, audio, a file, a resource."""

    kind: Literal["text", "image", "audio", "file", "resource"]
    content_type: str = Field(default="text/plain", max_length=128)
    text: str | None = None
    data: Data | None = None
    """The bytes, when small enough to be stored inline."""
    handle: str | None = Field(default=None, max_length=256)
    """Where larger content is read."""
    uri: str | None = None
    name: str | None = None


class ModelTimings(FrozenModel):
    """How long one model call took, in seconds."""

    queue_wait_seconds: float = Field(default=0.0, ge=0)
    """Waiting for a rate limit before the request was sent."""
    time_to_first_token_seconds: float | None = Field(default=None, ge=0)
    stream_duration_seconds: float = Field(default=0.0, ge=0)
    """The whole call."""


class ModelToolCall(FrozenModel):
    """A tool call as the model asked for it, whole."""

    call_id: ToolCallId
    name: str
    """The model-facing tool name; may be empty when the model left it out."""
    arguments: dict[str, Any] = Field(default_factory=dict)
    """The parsed arguments, empty when they could not be parsed."""
    raw_arguments: str | None = None
    """The text the model wrote, kept only with a ``problem``."""
    problem: str | None = Field(default=None, max_length=128)
    """A `ToolFailure` kind: the call is answered with it and never executed."""
    wire_id: str | None = None
    """The provider's id, when ``call_id`` is not that."""
    extra: dict[str, Any] = Field(default_factory=dict)
    """What the provider wants back with the call."""
