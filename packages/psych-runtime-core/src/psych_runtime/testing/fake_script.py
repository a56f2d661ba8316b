"""What a `FakeModel` may be told to do for one call."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from psych_runtime.errors import PsychError, TransientError
from psych_runtime.ports.model import (
    ModelRequest,
    ProviderExtra,
    ReasoningBlock,
    ReasoningDelta,
    StreamDone,
    StreamEvent,
    TextDelta,
    ToolCallDelta,
)
from psych_runtime.spec.usage import Cost, Usage

_WORDS = re.compile(r"\S+\s*|\s+")
_FRAGMENT = 4

Sleep = Callable[[float], Any]
"""Same shape as `asyncio.sleep`."""


class FakeModelScriptExhausted(PsychError):
    """A `FakeModel` was called and no scripted turn is left that fits the request."""

    def __init__(self, scripted: int, call_number: int) -> None:
        self.scripted = scripted
        self.call_number = call_number
        super().__init__(
            f"FakeModel has {scripted} scripted turn{'' if scripted == 1 else 's'} and none is left "
            f"for call {call_number}: add .turn(...), or .respond(...) to answer any number of calls"
        )


class FakeTransientFailure(TransientError):
    """A scripted failure that is worth another try."""

    def __init__(
        self, status_code: int, message: str | None = None, retry_after_seconds: float | None = None
    ) -> None:
        self.status_code = status_code
        super().__init__(
            message or f"scripted transient failure {status_code}", retry_after_seconds
        )


class FakePermanentFailure(PsychError):
    """A scripted failure that another try would not change, whatever its status."""

    retryable = False

    def __init__(self, status_code: int, message: str | None = None) -> None:
        self.status_code = status_code
        super().__init__(message or f"scripted permanent failure {status_code}")


@dataclass(frozen=True, slots=True)
class ToolCallScript:
    """A tool call that the fake model makes.

    Attributes:
        name: The tool.
        arguments: Its arguments; give exactly one of ``arguments`` and ``raw_arguments``.
        raw_arguments: The JSON text as it goes over the wire, well formed or not.
        call_id: The call's id; None makes one that is unique in the conversation.
        fragments: How the wire text is cut up; must join to exactly that text. None cuts it into
            pieces of 4 characters.
        extra: Opaque provider fields of the call.

    Raises:
        ValueError: Neither or both kinds of arguments, or fragments that do not join to the text.
    """

    name: str
    arguments: dict[str, Any] | None = None
    raw_arguments: str | None = None
    call_id: str | None = None
    fragments: Sequence[str] | None = None
    extra: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        if (self.arguments is None) == (self.raw_arguments is None):
            raise ValueError(
                f"ToolCallScript({self.name!r}) needs exactly one of arguments and raw_arguments"
            )
        if self.fragments is not None and "".join(self.fragments) != self.wire_text:
            raise ValueError(
                f"the fragments of ToolCallScript({self.name!r}) join to "
                f"{''.join(self.fragments)!r}, not to its arguments {self.wire_text!r}"
            )

    @property
    def wire_text(self) -> str:
        """The arguments as JSON text (or as the malformed text that was given)."""
        return json.dumps(self.arguments) if self.raw_arguments is None else self.raw_arguments

    def pieces(self) -> Sequence[str]:
        """The wire text as it is streamed; at least one piece."""
        if self.fragments is not None:
            return self.fragments or ("",)
        text = self.wire_text
        return [text[at : at + _FRAGMENT] for at in range(0, len(text), _FRAGMENT)] or [""]


class ScriptedStep(Protocol):
    """What one call of the fake model plays."""

    def play(
        self, request: ModelRequest, call_prefix: str, sleep: Sleep
    ) -> AsyncIterator[StreamEvent]:
        """Yield the events of the call; ``call_prefix`` starts the ids of its tool calls."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class FakeTurn:
    """One answer; the arguments of `FakeModel.turn`, as a value that `FakeModel.respond` takes."""

    text: str | Sequence[str] = ""
    tool_calls: Sequence[ToolCallScript | tuple[str, dict[str, Any]]] = ()
    reasoning: str | Sequence[str] | None = None
    reasoning_blocks: Sequence[dict[str, Any]] = ()
    provider_extra: dict[str, Any] | None = None
    usage: Usage | None = None
    usage_reported: bool = True
    cost: Cost | None = None
    finish_reason: str | None = None
    chunk_delay_seconds: float = 0.0
    delay_seconds: float = 0.0
    calls: tuple[ToolCallScript, ...] = field(init=False)

    def __post_init__(self) -> None:
        calls = tuple(
            call if isinstance(call, ToolCallScript) else ToolCallScript(call[0], call[1])
            for call in self.tool_calls
        )
        object.__setattr__(self, "calls", calls)

    def _events(self, call_prefix: str) -> Iterator[StreamEvent]:
        for chunk in _chunks(self.reasoning or ""):
            yield ReasoningDelta(chunk)
        for block in self.reasoning_blocks:
            yield ReasoningBlock(block)
        for chunk in _chunks(self.text):
            yield TextDelta(chunk)
        for index, call in enumerate(self.calls):
            first, *rest = call.pieces()
            call_id = call.call_id or f"{call_prefix}_{index}"
            yield ToolCallDelta(index, call_id, call.name, first, call.extra)
            for piece in rest:
                yield ToolCallDelta(index, arguments_fragment=piece)
        if self.provider_extra is not None:
            yield ProviderExtra(self.provider_extra)

    async def play(
        self, request: ModelRequest, call_prefix: str, sleep: Sleep
    ) -> AsyncIterator[StreamEvent]:
        """Yield the events of this answer."""
        await sleep(self.delay_seconds)
        for event in self._events(call_prefix):
            yield event
            if self.chunk_delay_seconds:
                await sleep(self.chunk_delay_seconds)
        reason = self.finish_reason or ("tool_calls" if self.calls else "stop")
        yield StreamDone(reason, self.usage or Usage(), self.usage_reported, self.cost)


@dataclass(frozen=True, slots=True)
class Stall:
    """Say nothing for ``seconds`` (None: a little over the idle timeout), then end empty."""

    seconds: float | None

    async def play(
        self, request: ModelRequest, call_prefix: str, sleep: Sleep
    ) -> AsyncIterator[StreamEvent]:
        """Wait, then yield an empty end."""
        wait = request.idle_timeout_seconds + 0.05 if self.seconds is None else self.seconds
        await sleep(wait)
        yield StreamDone("stop")


@dataclass(frozen=True, slots=True)
class Cut:
    """Yield ``text`` and end without `StreamDone`."""

    text: str
    chunk_delay_seconds: float

    async def play(
        self, request: ModelRequest, call_prefix: str, sleep: Sleep
    ) -> AsyncIterator[StreamEvent]:
        """Yield the text and nothing after it."""
        await sleep(0)
        for chunk in _chunks(self.text):
            yield TextDelta(chunk)
            if self.chunk_delay_seconds:
                await sleep(self.chunk_delay_seconds)


@dataclass(frozen=True, slots=True)
class Fail:
    """Raise what ``make`` builds, before any event."""

    make: Callable[[], PsychError]

    async def play(
        self, request: ModelRequest, call_prefix: str, sleep: Sleep
    ) -> AsyncIterator[StreamEvent]:
        """Raise."""
        await sleep(0)
        for _ in ():
            yield StreamDone("stop")
        raise self.make()


def _chunks(text: str | Sequence[str]) -> Sequence[str]:
    return _WORDS.findall(text) if isinstance(text, str) else text
