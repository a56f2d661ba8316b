"""Chunks of a streamed chat completion to the events of the model port."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from psych_runtime.ports.model import (
    ProviderExtra,
    ReasoningBlock,
    ReasoningDelta,
    StreamDone,
    StreamEvent,
    TextDelta,
)
from psych_runtime.spec.usage import Cost, Usage

from psych_runtime_openai.calls import CallAssembler
from psych_runtime_openai.errors import ModelUnavailable, error_from_chunk
from psych_runtime_openai.usage import find_cost, find_usage, normalise_usage
from psych_runtime_openai.wire import REASONING_FIELD

_FAILED_FINISH: Final = frozenset({"error", "insufficient_system_resource"})
_JOINED: Final = frozenset({"text", "summary", "data"})


class ChunkAssembler:
    """Reads the chunks of one answer.

    Args:
        model: The model id that was asked, for costs.
        hide: A secret that must not appear in error messages.
    """

    def __init__(self, model: str, *, hide: str | None = None) -> None:
        self._model = model
        self._hide = hide
        self._calls = CallAssembler()
        self._blocks: dict[object, dict[str, Any]] = {}
        self._reasoning_field: str | None = None
        self._finish_reason: str | None = None
        self._usage = Usage()
        self._usage_reported = False
        self._cost: Cost | None = None

    @property
    def complete(self) -> bool:
        """A finish reason has arrived; at most counters are still missing."""
        return self._finish_reason is not None

    def feed(self, chunk: Any) -> Iterator[StreamEvent]:
        """Yield the events of one chunk (or of a whole answer that was not streamed).

        Raises:
            ModelRequestError: The chunk is an error that another try would not change.
            ModelUnavailable: The chunk is another error.
        """
        if not isinstance(chunk, dict):
            raise error_from_chunk(chunk, hide=self._hide)
        choices = chunk.get("choices")
        if chunk.get("error") or (choices is None and chunk.get("object") == "error"):
            raise error_from_chunk(chunk, hide=self._hide)
        self._count(chunk)
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, dict) and not choice.get("index"):
                yield from self._choice(choice)

    def finish(self) -> Iterator[StreamEvent]:
        """Yield the last events of the answer.

        Raises:
            ModelUnavailable: The answer is not complete: it has no finish reason.
        """
        if self._finish_reason is None:
            raise ModelUnavailable(
                "the model's stream ended before the answer did: no finish reason arrived"
            )
        if self._finish_reason in _FAILED_FINISH:
            raise ModelUnavailable(
                f"the model provider gave up on the answer: finish reason {self._finish_reason!r}"
            )
        yield from self._calls.finish()
        for block in self._blocks.values():
            yield ReasoningBlock(block)
        if self._reasoning_field is not None:
            yield ProviderExtra({REASONING_FIELD: self._reasoning_field})
        yield StreamDone(self._finish_reason, self._usage, self._usage_reported, self._cost)

    def _count(self, chunk: dict[str, Any]) -> None:
        raw = find_usage(chunk)
        if raw is not None:
            self._usage_reported = True
            usage = normalise_usage(raw)
            # Some servers repeat growing counters in every chunk, others end with zeros.
            if usage != Usage():
                self._usage = usage
        self._cost = find_cost(chunk, self._model) or self._cost

    def _choice(self, choice: dict[str, Any]) -> Iterator[StreamEvent]:
        delta = choice["delta"] if "delta" in choice else choice.get("message")
        if isinstance(delta, dict):
            yield from self._delta(delta)
        reason = choice.get("finish_reason")
        if isinstance(reason, str) and reason:
            self._finish_reason = reason

    def _delta(self, delta: dict[str, Any]) -> Iterator[StreamEvent]:
        for field in ("reasoning_content", "reasoning"):
            text = delta.get(field)
            if isinstance(text, str) and text:
                self._reasoning_field = self._reasoning_field or field
                yield ReasoningDelta(text)
                break
        details = delta.get("reasoning_details")
        for block in details if isinstance(details, list) else ():
            if isinstance(block, dict):
                self._collect(block)
        yield from self._content(delta.get("content"))
        yield from self._content(delta.get("refusal"))
        calls = delta.get("tool_calls")
        if isinstance(calls, list):
            yield from self._calls.feed(calls)
        legacy = delta.get("function_call")
        if isinstance(legacy, dict):
            yield from self._calls.feed([{"index": 0, "function": legacy}])

    def _content(self, content: Any) -> Iterator[StreamEvent]:
        if content is None or content == "":
            return
        if isinstance(content, str):
            yield TextDelta(content)
        elif isinstance(content, list):
            for part in content:
                yield from self._part(part)
        else:
            yield TextDelta(json.dumps(content))

    def _part(self, part: Any) -> Iterator[StreamEvent]:
        if not isinstance(part, dict):
            yield from self._content(part if isinstance(part, str) else None)
        elif part.get("type") == "thinking":
            inner = part.get("thinking")
            pieces = inner if isinstance(inner, list) else [inner]
            for piece in pieces:
                text = piece.get("text") if isinstance(piece, dict) else piece
                if isinstance(text, str) and text:
                    yield ReasoningDelta(text)
        elif isinstance(part.get("text"), str) and part["text"]:
            yield TextDelta(part["text"])

    def _collect(self, piece: dict[str, Any]) -> None:
        """Join the pieces of one reasoning item: texts are appended, other fields replaced."""
        index = piece.get("index")
        key = len(self._blocks) if index is None else ("at", index, piece.get("type"))
        block = self._blocks.setdefault(key, {})
        for name, value in piece.items():
            if name in _JOINED and isinstance(value, str) and isinstance(block.get(name), str):
                block[name] += value
            elif value is not None or name not in block:
                block[name] = value
