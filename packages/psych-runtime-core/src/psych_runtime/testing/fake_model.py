"""A model client that plays a script: no network, no randomness, thousands of calls per second."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from psych_runtime.ports.messages import UserMessage
from psych_runtime.ports.model import ModelRequest, StreamEvent
from psych_runtime.spec.usage import Cost, Usage
from psych_runtime.testing.fake_script import (
    Cut,
    Fail,
    FakeModelScriptExhausted,
    FakePermanentFailure,
    FakeTransientFailure,
    FakeTurn,
    ScriptedStep,
    Stall,
    ToolCallScript,
)

__all__ = [
    "FakeModel",
    "FakeModelScriptExhausted",
    "FakePermanentFailure",
    "FakeTransientFailure",
    "FakeTurn",
    "ToolCallScript",
    "first_user_message",
]

Predicate = Callable[[ModelRequest], bool]
Responder = Callable[[ModelRequest], FakeTurn | str]


def first_user_message(request: ModelRequest) -> str:
    """Return the text of the request's first user message, or an empty string.

    The usual ``script_per`` of a `FakeModel`: it stays the same through all turns of a Run.
    """
    return next((m.content for m in request.messages if isinstance(m, UserMessage)), "")


@dataclass(slots=True)
class _Cursor:
    """How far one conversation is in the script."""

    start: int = 0
    used: set[int] = field(default_factory=set)
    served: int = 0


class FakeModel:
    """A scripted `ModelClient`.

    Each scripting method adds one step and returns the model, so that calls chain. Every call of
    the model takes the first step not used yet whose ``when`` accepts the request (a step without
    ``when`` accepts all). Past the script, the function given to `respond` answers; without one
    `FakeModelScriptExhausted` is raised.

    Args:
        known_models: What `known_models` answers; default ``fake-standard``, ``fake-reasoning``.
        script_per: Gives each request a key; requests with different keys play the whole script
            independently of each other. Use `first_user_message` when several Runs share one
            model. None: all requests share one script.
        keep_requests: How many of the latest requests ``requests`` holds; None keeps all. Give a
            number to very long Runs, whose requests would fill the memory.

    Attributes:
        requests: The requests received, oldest first.
        call_count: How many calls were made.

    Example:
        >>> model = FakeModel().turn(tool_calls=[("lookup", {"id": "A1"})]).turn(text="Shipped.")
    """

    def __init__(
        self,
        *,
        known_models: Sequence[str] | None = None,
        script_per: Callable[[ModelRequest], Hashable] | None = None,
        keep_requests: int | None = None,
    ) -> None:
        if keep_requests is not None and keep_requests < 1:
            raise ValueError(f"keep_requests must be at least 1, or None for all: {keep_requests}")
        self.requests: list[ModelRequest] = []
        self.call_count = 0
        self._known = tuple(known_models or ("fake-standard", "fake-reasoning"))
        self._script_per = script_per
        self._keep = keep_requests
        self._steps: list[tuple[ScriptedStep, Predicate | None]] = []
        self._responder: Responder | None = None
        self._cursors: dict[Hashable, _Cursor] = {}

    # -- scripting ----------------------------------------------------------------------------

    def turn(
        self,
        *,
        text: str | Sequence[str] = "",
        tool_calls: Sequence[ToolCallScript | tuple[str, dict[str, Any]]] = (),
        reasoning: str | Sequence[str] | None = None,
        usage: Usage | None = None,
        cost: Cost | None = None,
        finish_reason: str | None = None,
        chunk_delay_seconds: float = 0.0,
        delay_seconds: float = 0.0,
        usage_reported: bool = True,
        reasoning_blocks: Sequence[dict[str, Any]] = (),
        provider_extra: dict[str, Any] | None = None,
        when: Predicate | None = None,
    ) -> Self:
        """Answer one call.

        Args:
            text: The answer. A string is streamed word by word, a sequence chunk by chunk.
            tool_calls: Calls to make, as `ToolCallScript` or ``(name, arguments)``.
            reasoning: Reasoning text, streamed before the answer.
            usage: Token counters; default zeros.
            cost: What the provider claims the call cost.
            finish_reason: Default ``tool_calls`` when there are any, else ``stop``.
            chunk_delay_seconds: Pause after each event.
            delay_seconds: Pause before the first event.
            usage_reported: False plays a provider that sends no counters.
            reasoning_blocks: Opaque reasoning items.
            provider_extra: Opaque facts about the turn.
            when: Use this turn only for requests it accepts.
        """
        return self._add(
            FakeTurn(
                text=text,
                tool_calls=tool_calls,
                reasoning=reasoning,
                reasoning_blocks=reasoning_blocks,
                provider_extra=provider_extra,
                usage=usage,
                usage_reported=usage_reported,
                cost=cost,
                finish_reason=finish_reason,
                chunk_delay_seconds=chunk_delay_seconds,
                delay_seconds=delay_seconds,
            ),
            when,
        )

    def stalls(self, seconds: float | None = None, *, when: Predicate | None = None) -> Self:
        """Say nothing for ``seconds`` (default: 0.05 s over the idle timeout), then end empty."""
        return self._add(Stall(seconds), when)

    def aborts_mid_token(
        self,
        text: str = "The answer is",
        *,
        chunk_delay_seconds: float = 0.0,
        when: Predicate | None = None,
    ) -> Self:
        """Stream ``text`` and end without `StreamDone`, like a connection that was cut."""
        return self._add(Cut(text, chunk_delay_seconds), when)

    def raises_transient(
        self,
        status_code: int = 503,
        *,
        message: str | None = None,
        retry_after_seconds: float | None = None,
        when: Predicate | None = None,
    ) -> Self:
        """Raise `FakeTransientFailure`, which is worth another try."""
        return self._add(
            Fail(lambda: FakeTransientFailure(status_code, message, retry_after_seconds)), when
        )

    def raises_permanent(
        self,
        status_code: int = 400,
        *,
        message: str | None = None,
        when: Predicate | None = None,
    ) -> Self:
        """Raise `FakePermanentFailure`, which is not."""
        return self._add(Fail(lambda: FakePermanentFailure(status_code, message)), when)

    def respond(self, answer: Responder) -> Self:
        """Answer every call past the script with what ``answer(request)`` returns.

        The answer depends on the request alone, so any number of concurrent Runs get the same
        answers in any order. A string is a turn with that text.
        """
        self._responder = answer
        return self

    def _add(self, step: ScriptedStep, when: Predicate | None) -> Self:
        self._steps.append((step, when))
        return self

    # -- ModelClient --------------------------------------------------------------------------

    def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        """Play the next step for this request."""
        self.call_count += 1
        self.requests.append(request)
        if self._keep is not None:
            del self.requests[: -self._keep]
        key = self._script_per(request) if self._script_per is not None else None
        cursor = self._cursors.setdefault(key, _Cursor())
        cursor.served += 1
        # The message count keeps ids apart when a new FakeModel carries on a recovered Run.
        prefix = f"call_{cursor.served}_{len(request.messages)}"
        return self._next(cursor, request).play(request, prefix, asyncio.sleep)

    async def known_models(self) -> Sequence[str]:
        """The ids given to the constructor."""
        return self._known

    @property
    def last_request(self) -> ModelRequest:
        """The latest request.

        Raises:
            LookupError: The model was never called.
        """
        if not self.requests:
            raise LookupError("this FakeModel was never called")
        return self.requests[-1]

    def _next(self, cursor: _Cursor, request: ModelRequest) -> ScriptedStep:
        while cursor.start in cursor.used:
            cursor.used.discard(cursor.start)
            cursor.start += 1
        for position in range(cursor.start, len(self._steps)):
            step, when = self._steps[position]
            if position not in cursor.used and (when is None or when(request)):
                cursor.used.add(position)
                return step
        if self._responder is None:
            scripted, call_number = len(self._steps), cursor.served
            return Fail(lambda: FakeModelScriptExhausted(scripted, call_number))
        answer = self._responder(request)
        return FakeTurn(text=answer) if isinstance(answer, str) else answer
