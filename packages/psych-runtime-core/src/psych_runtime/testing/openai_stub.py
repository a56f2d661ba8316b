"""A small model server on a loopback socket that speaks the OpenAI chat completions API.

It plays a script, like `FakeModel`, but over real HTTP: what a client does with bytes, statuses
and broken connections can only be seen there.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self

from psych_runtime.testing.openai_replies import (
    StubReply,
    answer_chunks,
    error_reply,
    stream_reply,
)

__all__ = ["OpenAIStub", "StubReply", "StubRequest", "answer_chunks"]

_MAX_HEAD = 64 * 1024


@dataclass(frozen=True, slots=True)
class StubRequest:
    """One request the stub received.

    Attributes:
        method: Such as ``POST``.
        path: Path and query, as sent.
        headers: By lower-case name.
        body: The decoded JSON body; None when there was none.
    """

    method: str
    path: str
    headers: Mapping[str, str]
    body: Any


class OpenAIStub:
    """The server; use it as an async context manager.

    Each scripting method adds the reply to one chat request and returns the stub. Past the
    script, the function given to `respond` makes replies; without one the stub answers 400.

    Args:
        models: What ``GET .../models`` lists.

    Attributes:
        requests: The chat requests received, oldest first.
        open_connections: How many client connections are open now.
        connections: How many were ever opened.

    Example:
        ```python
        async with OpenAIStub() as stub:
            stub.answer(text="Hello")
            client = OpenAICompatibleClient(base_url=stub.url, transport=transport, scope=scope)
        ```
    """

    def __init__(self, *, models: Sequence[str] = ("stub-model",)) -> None:
        self.requests: list[StubRequest] = []
        self.open_connections = 0
        self.connections = 0
        self._models = tuple(models)
        self._script: list[StubReply] = []
        self._responder: Callable[[StubRequest], StubReply] | None = None
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Condition()

    # -- scripting ----------------------------------------------------------------------------

    def answer(
        self,
        text: str | Sequence[str] = "",
        *,
        tool_calls: Sequence[tuple[str, Any]] = (),
        reasoning: str = "",
        usage: Mapping[str, Any] | None = None,
        finish_reason: str | None = None,
    ) -> Self:
        """Stream an answer, with counters in a chunk of their own when ``usage`` is given."""
        return self.chunks(
            answer_chunks(
                text,
                tool_calls=tool_calls,
                reasoning=reasoning,
                usage=usage,
                finish_reason=finish_reason,
            )
        )

    def chunks(
        self,
        chunks: Sequence[Any],
        *,
        done: bool = True,
        stall_before: int | None = None,
        drop: bool = False,
        pause_seconds: float = 0.0,
    ) -> Self:
        """Stream exactly these chunks.

        Args:
            chunks: A ``bytes`` goes out as it is, anything else as a JSON event.
            done: End with ``[DONE]``.
            stall_before: Send that many, then nothing until the client goes away.
            drop: Break the connection after the last chunk instead of ending the response.
            pause_seconds: Wait that long before each chunk.
        """
        return self.reply(
            stream_reply(
                chunks,
                done=done,
                stall_before=stall_before,
                drop=drop,
                pause_seconds=pause_seconds,
            )
        )

    def error(
        self,
        status: int,
        message: str = "scripted error",
        *,
        code: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Self:
        """Answer with an error status and the usual error body."""
        return self.reply(error_reply(status, message, code=code, headers=headers))

    def reply(self, reply: StubReply) -> Self:
        """Answer with any reply."""
        self._script.append(reply)
        return self

    def respond(self, make: Callable[[StubRequest], StubReply]) -> Self:
        """Answer every request past the script with what ``make(request)`` returns."""
        self._responder = make
        return self

    # -- the server ---------------------------------------------------------------------------

    @property
    def url(self) -> str:
        """The base URL to give to a client; it ends in ``/v1``.

        Raises:
            RuntimeError: The stub is not running.
        """
        if self._server is None:
            raise RuntimeError("this OpenAIStub is not running: enter it with `async with` first")
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"

    async def wait_for_connections(self, count: int, timeout: float = 5.0) -> None:
        """Wait until exactly ``count`` connections are open.

        Raises:
            TimeoutError: They were not within ``timeout`` seconds.
        """
        async with asyncio.timeout(timeout), self._changed:
            await self._changed.wait_for(lambda: self.open_connections == count)

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=_MAX_HEAD)
        return self

    async def __aexit__(self, *exc: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()
        self._server = None

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        await self._count(+1)
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                while await self._exchange(reader, writer):
                    pass
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()
            await self._count(-1)

    async def _count(self, change: int) -> None:
        self.open_connections += change
        async with self._changed:
            self._changed.notify_all()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Serve one request; return whether the connection may serve another."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.rstrip().split("\r\n")
        method, path, _ = first.split(" ", 2)
        headers = {
            name.strip().lower(): value.strip()
            for name, _, value in (line.partition(":") for line in lines)
        }
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        request = StubRequest(method, path, headers, json.loads(body) if body else None)
        reply = self._choose(request)
        return await reply.send(reader, writer)

    def _choose(self, request: StubRequest) -> StubReply:
        route = request.path.partition("?")[0]
        if request.method == "GET" and route.endswith("/models"):
            listed = [{"id": model, "object": "model"} for model in self._models]
            return StubReply(body=json.dumps({"object": "list", "data": listed}).encode())
        if request.method != "POST" or not route.endswith("/chat/completions"):
            return error_reply(404, f"no route {request.method} {route}")
        self.requests.append(request)
        if self._script:
            return self._script.pop(0)
        if self._responder is not None:
            return self._responder(request)
        return error_reply(400, "the OpenAIStub has no scripted reply left")
