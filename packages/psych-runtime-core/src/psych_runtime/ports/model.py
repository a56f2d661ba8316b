"""The model port: one streaming call to a language model."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal, Protocol, runtime_checkable

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SkipValidation

from psych_runtime.ports.messages import Message
from psych_runtime.spec.definitions import ToolDefinition
from psych_runtime.spec.usage import Cost, Usage


def _by_name(tools: Iterable[ToolDefinition]) -> tuple[ToolDefinition, ...]:
    return tuple(sorted(tools, key=lambda tool: tool.name))


class ModelRequest(BaseModel):
    """Everything one model call needs.

    Messages and tools are taken as they are, without validating them again, so that a request
    costs the same however long the conversation is.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    model: str = Field(min_length=1)
    """Model id, passed to the provider verbatim."""
    messages: Annotated[tuple[Message, ...], SkipValidation, BeforeValidator(tuple)]
    """The whole prompt, in order."""
    tools: Annotated[tuple[ToolDefinition, ...], SkipValidation, BeforeValidator(_by_name)] = ()
    """Sorted by name, so that an unchanged set keeps the provider's prompt cache warm."""
    temperature: float | None = None
    top_p: float | None = None
    max_output_tokens: int | None = None
    """None leaves every sampling setting to the provider."""
    reasoning_effort: Literal["low", "medium", "high"] | None = None
    stop: tuple[str, ...] = ()
    """Strings that end the answer."""
    cache_breakpoints: tuple[int, ...] = ()
    """Indices of messages after which the prompt is expected to repeat, for providers whose
    prompt cache wants marks."""
    idle_timeout_seconds: float = Field(default=300.0, ge=0)
    """Longest wait for the next event of the stream; 0 waits for ever."""
    extra: dict[str, Any] = Field(default_factory=dict)
    """Merged into the provider's payload last, so it also overrides."""


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More of the answer's text."""

    type: ClassVar[str] = "text_delta"
    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """More of the reasoning text."""

    type: ClassVar[str] = "reasoning_delta"
    text: str


@dataclass(frozen=True, slots=True)
class ReasoningBlock:
    """One opaque reasoning item, whole; goes into `AssistantMessage.reasoning_blocks`."""

    type: ClassVar[str] = "reasoning_block"
    block: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ProviderExtra:
    """Opaque facts about this turn; merged into `AssistantMessage.provider_extra`."""

    type: ClassVar[str] = "provider_extra"
    extra: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    """A piece of one tool call.

    Attributes:
        index: Which call of this turn, from 0. Pieces of different calls may interleave.
        id: The call's id, on its first piece; a client always supplies one.
        name: The tool's name, on its first piece; whole, never a fragment.
        arguments_fragment: Append to the JSON text of the arguments.
        extra: Opaque provider fields of this call; later ones are merged over earlier ones.
    """

    type: ClassVar[str] = "tool_call_delta"
    index: int
    id: str | None = None
    name: str | None = None
    arguments_fragment: str = ""
    extra: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class StreamDone:
    """The end of a complete answer; always last.

    Attributes:
        finish_reason: The provider's word, such as ``stop``, ``tool_calls`` or ``length``.
        usage: Token counters; zeros when not reported.
        usage_reported: False when the provider sent no counters.
        cost: What the provider says the call cost, if it says so.
    """

    type: ClassVar[str] = "stream_done"
    finish_reason: str
    usage: Usage = field(default_factory=Usage)
    usage_reported: bool = True
    cost: Cost | None = None


StreamEvent = (
    TextDelta | ReasoningDelta | ReasoningBlock | ProviderExtra | ToolCallDelta | StreamDone
)
"""What a model stream yields."""


@runtime_checkable
class ModelClient(Protocol):
    """A way to reach models. Used by several Runs at once, from one or more event loops."""

    def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        """Start one call and return its events, ending with exactly one `StreamDone`.

        Closing the iterator early ends the call and frees its connection. A stream that ends
        without `StreamDone` is a truncated answer.

        Raises:
            TransientError: While iterating: worth another try.
            PsychError: While iterating: another try would fail the same way.
        """
        ...

    async def known_models(self) -> Sequence[str]:
        """The ids this client can reach, or empty when it cannot tell. Never raises."""
        ...
