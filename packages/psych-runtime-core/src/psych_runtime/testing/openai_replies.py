"""The replies an `OpenAIStub` can send."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any


@dataclass(frozen=True, slots=True)
class StubReply:
    """One HTTP response.

    Attributes:
        status: The status code.
        headers: Response headers; ``Content-Type`` defaults to JSON.
        body: A whole body. Ignored when ``pieces`` is given.
        pieces: A body sent in pieces, each flushed on its own.
        stall_before: Send that many pieces, then nothing until the client goes away.
        drop: Break the connection after the last piece instead of ending the body.
        pause_seconds: Wait that long before each piece.
    """

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    pieces: Sequence[bytes] | None = None
    stall_before: int | None = None
    drop: bool = False
    pause_seconds: float = 0.0

    async def send(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Write the response; return whether the connection may serve another request."""
        headers = {"Content-Type": "application/json", **self.headers}
        if self.pieces is None:
            headers["Content-Length"] = str(len(self.body))
        else:
            headers["Transfer-Encoding"] = "chunked"
        phrase = HTTPStatus(self.status).phrase if self.status in _STATUSES else "Status"
        lines = [f"HTTP/1.1 {self.status} {phrase}", *(f"{n}: {v}" for n, v in headers.items())]
        writer.write("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n")
        if self.pieces is None:
            writer.write(self.body)
            await writer.drain()
            return True
        for index, piece in enumerate(self.pieces):
            if index == self.stall_before:
                break
            if self.pause_seconds:
                await asyncio.sleep(self.pause_seconds)
            if piece:
                writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                await writer.drain()
        if self.stall_before is not None:
            await writer.drain()
            await reader.read()
            return False
        if self.drop:
            writer.transport.abort()
            return False
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True


_STATUSES = frozenset(int(status) for status in HTTPStatus)
_call_numbers = itertools.count(1)


def stream_reply(
    chunks: Sequence[Any],
    *,
    done: bool = True,
    stall_before: int | None = None,
    drop: bool = False,
    pause_seconds: float = 0.0,
) -> StubReply:
    """Build a server-sent event stream; ``bytes`` go out as they are, anything else as JSON."""
    pieces = [chunk if isinstance(chunk, bytes) else _event(chunk) for chunk in chunks]
    if done:
        pieces.append(b"data: [DONE]\n\n")
    return StubReply(
        headers={"Content-Type": "text/event-stream"},
        pieces=pieces,
        stall_before=stall_before,
        drop=drop,
        pause_seconds=pause_seconds,
    )


def error_reply(
    status: int,
    message: str,
    *,
    code: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> StubReply:
    """Build an error with the usual body."""
    error = {"message": message, "type": "error", "param": None, "code": code}
    return StubReply(status, headers or {}, json.dumps({"error": error}).encode())


def answer_chunks(
    text: str | Sequence[str] = "",
    *,
    tool_calls: Sequence[tuple[str, Any]] = (),
    reasoning: str = "",
    usage: Mapping[str, Any] | None = None,
    finish_reason: str | None = None,
) -> list[dict[str, Any]]:
    """Return the chunks of a well-formed streamed answer.

    Args:
        text: Split into words when it is a string.
        tool_calls: ``(name, arguments)``; a string is sent as it is, else as JSON, in pieces.
        reasoning: Sent first, as ``reasoning_content``.
        usage: Sent last, in a chunk without choices.
        finish_reason: Default ``tool_calls`` when there are any, else ``stop``.
    """
    deltas = list(_deltas(text, tool_calls, reasoning))
    chunks = [_chunk([{"index": 0, "delta": delta, "finish_reason": None}]) for delta in deltas]
    reason = finish_reason or ("tool_calls" if tool_calls else "stop")
    chunks.append(_chunk([{"index": 0, "delta": {}, "finish_reason": reason}]))
    if usage is not None:
        chunks.append({**_chunk([]), "usage": dict(usage)})
    return chunks


def _deltas(
    text: str | Sequence[str], tool_calls: Sequence[tuple[str, Any]], reasoning: str
) -> Iterator[dict[str, Any]]:
    yield {"role": "assistant", "content": ""}
    if reasoning:
        yield {"reasoning_content": reasoning}
    for word in re.findall(r"\S+\s*|\s+", text) if isinstance(text, str) else text:
        yield {"content": word}
    for index, (name, arguments) in enumerate(tool_calls):
        wire = arguments if isinstance(arguments, str) else json.dumps(arguments)
        head = {"index": index, "id": f"call_stub_{next(_call_numbers)}", "type": "function"}
        yield {"tool_calls": [{**head, "function": {"name": name, "arguments": ""}}]}
        for at in range(0, len(wire), 8):
            yield {"tool_calls": [{"index": index, "function": {"arguments": wire[at : at + 8]}}]}


def _chunk(choices: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "id": "chatcmpl-stub",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": "stub-model",
        "choices": choices,
    }


def _event(chunk: Any) -> bytes:
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"
