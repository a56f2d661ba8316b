"""Reading one model stream: accumulating text and calls, watching for silence."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import Any

from psych_runtime.errors import TransientError
from psych_runtime.ports.model import (
    ModelClient,
    ModelRequest,
    ProviderExtra,
    ReasoningBlock,
    ReasoningDelta,
    StreamDone,
    TextDelta,
    ToolCallDelta,
)


@dataclass(slots=True)
class CallParts:
    """What has arrived of one tool call."""

    id: str | None = None
    name: str = ""
    arguments: list[str] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Streamed:
    """What has arrived of one model answer; complete once ``done`` is set."""

    text: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    reasoning_blocks: list[dict[str, Any]] = field(default_factory=list)
    provider_extra: dict[str, Any] = field(default_factory=dict)
    calls: dict[int, CallParts] = field(default_factory=dict)
    done: StreamDone | None = None
    started: float = field(default_factory=time.perf_counter)
    first_event: float | None = None

    @property
    def seconds(self) -> float:
        """How long the call has taken so far."""
        return time.perf_counter() - self.started

    @property
    def time_to_first_token(self) -> float | None:
        """Seconds until the first event, or None when there was none."""
        return None if self.first_event is None else self.first_event - self.started

    def take(self, event: object) -> None:
        """Add one event."""
        if isinstance(event, TextDelta):
            self.text.append(event.text)
        elif isinstance(event, ToolCallDelta):
            parts = self.calls.get(event.index)
            if parts is None:
                parts = self.calls[event.index] = CallParts()
            if event.id:
                parts.id = event.id
            if event.name:
                parts.name = event.name
            if event.arguments_fragment:
                parts.arguments.append(event.arguments_fragment)
            if event.extra:
                parts.extra.update(event.extra)
        elif isinstance(event, StreamDone):
            self.done = event
        elif isinstance(event, ReasoningDelta):
            self.reasoning.append(event.text)
        elif isinstance(event, ReasoningBlock):
            self.reasoning_blocks.append(event.block)
        elif isinstance(event, ProviderExtra):
            self.provider_extra.update(event.extra)


async def read_stream(client: ModelClient, request: ModelRequest, into: Streamed) -> None:
    """Read the whole answer into ``into``, which keeps what arrived when this raises.

    Raises:
        TransientError: The stream was silent for longer than ``request.idle_timeout_seconds``, or
            ended before it was complete.
        Exception: Whatever the client raises.
    """
    idle = request.idle_timeout_seconds
    watchdog = _Watchdog(idle) if idle > 0 else None
    stream = client.stream(request)
    try:
        async for event in stream:
            if into.first_event is None:
                into.first_event = time.perf_counter()
            if watchdog is not None:
                watchdog.feed()
            into.take(event)
            if into.done is not None:
                return
    except asyncio.CancelledError:
        if watchdog is not None and watchdog.expired:
            raise TransientError(f"the model sent nothing for {idle:g} s") from None
        raise
    finally:
        if watchdog is not None:
            watchdog.stop()
        close = getattr(stream, "aclose", None)
        if close is not None:
            await close()
    raise TransientError("the model's answer ended before it was complete")


class _Watchdog:
    """Cancels the current task after ``seconds`` without `feed`; one timer for the whole stream."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.current_task()
        self._last = self._loop.time()
        self.expired = False
        self._timer = self._loop.call_later(seconds, self._look)

    def feed(self) -> None:
        """Note a sign of life."""
        self._last = self._loop.time()

    def _look(self) -> None:
        left = self._last + self._seconds - self._loop.time()
        if left > 0:
            self._timer = self._loop.call_later(left, self._look)
            return
        self.expired = True
        if self._task is not None:
            self._task.cancel()

    def stop(self) -> None:
        """Stop watching."""
        self._timer.cancel()
