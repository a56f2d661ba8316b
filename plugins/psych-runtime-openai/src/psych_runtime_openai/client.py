"""OpenAICompatibleClient: models behind any server that speaks the chat completions API."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing, suppress
from typing import TYPE_CHECKING, Any, Final

from psych_runtime.egress import HttpStream, HttpTransport
from psych_runtime.errors import TransientError
from psych_runtime.ports.model import ModelRequest, StreamEvent
from psych_runtime.scope import Scope

from psych_runtime_openai.assemble import ChunkAssembler
from psych_runtime_openai.errors import ModelRequestError, error_from_chunk, error_from_response
from psych_runtime_openai.idle import IdleTimer, chunks
from psych_runtime_openai.sse import SseEvent, SseParser
from psych_runtime_openai.wire import encode_request

if TYPE_CHECKING:
    import httpx

_MAX_STREAM_BYTES: Final = 256 * 1024 * 1024
_MAX_ERROR_BYTES: Final = 64 * 1024
_CONNECT_SECONDS: Final = 30.0
_CHAT: Final = "/chat/completions"
_DONE: Final = "[DONE]"


class OpenAICompatibleClient:
    """A `ModelClient` over the streaming chat completions API.

    Args:
        base_url: What comes before ``/chat/completions``, as the provider states it: usually it
            ends in ``/v1``, and nothing is added or guessed. A query string is kept, and a
            trailing ``/chat/completions`` is dropped.
        transport: The way out. It stays yours: close it when no client needs it any more.
        scope: On whose behalf, for the egress policy.
        api_key: Sent as a bearer token; None sends none.
        headers: Sent with every request; they win over the client's own.

    Example:
        ```python
        client = OpenAICompatibleClient(
            base_url="https://api.openai.com/v1", transport=transport, scope=scope, api_key=key
        )
        ```
    """

    def __init__(
        self,
        *,
        base_url: str,
        transport: HttpTransport,
        scope: Scope,
        api_key: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        path, mark, query = base_url.partition("?")
        self._base = path.rstrip("/").removesuffix(_CHAT)
        self._query = mark + query
        self._transport = transport
        self._scope = scope
        self._api_key = api_key or None
        self._headers = {"Accept": "text/event-stream", "Content-Type": "application/json"}
        if self._api_key:
            self._headers["Authorization"] = f"Bearer {self._api_key}"
        for name, value in (headers or {}).items():
            known = next((own for own in self._headers if own.lower() == name.lower()), name)
            self._headers[known] = value
        self._include_usage = True

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        """Ask the model and yield its answer as it arrives.

        Close the iterator (``contextlib.aclosing``) when you stop early: that drops the
        connection. ``request.idle_timeout_seconds`` bounds the wait for the response and for each
        event after it; keep-alive comments do not count as events, and the time you take between
        events does not either.

        Raises:
            TransientError: While iterating: no connection, a broken or cut stream, silence for
                too long, or a status worth another try.
            ModelRequestError: While iterating: the provider refused the request for good.
            AccessDenied: While iterating: the egress policy refused.
            ResponseTooLarge: While iterating: more than 256 MiB arrived.
        """
        while True:
            timer = IdleTimer(request.idle_timeout_seconds)
            asked_usage = self._include_usage
            opening = self._transport.stream(
                "POST",
                self._url(_CHAT),
                scope=self._scope,
                headers=self._headers,
                content=encode_request(request, include_usage=asked_usage),
                timeout=_timeout(),
                max_bytes=_MAX_STREAM_BYTES,
            )
            async with AsyncExitStack() as stack:
                response = await timer.wait(stack.enter_async_context(opening))
                if response.status_code == 200:
                    async with aclosing(self._answer(request.model, response, timer)) as answer:
                        async for event in answer:
                            yield event
                    await response.drain()
                    return
                timer.rearm()
                refused = await timer.wait(response.read(_MAX_ERROR_BYTES))
            if asked_usage and response.status_code in (400, 422) and _refuses_usage(refused):
                self._include_usage = False
                continue
            raise error_from_response(
                response.status_code, response.headers, refused, hide=self._api_key
            )

    async def known_models(self) -> Sequence[str]:
        """The ids the server lists; empty when it does not."""
        try:
            response = await self._transport.request(
                "GET", self._url("/models"), scope=self._scope, headers=self._headers
            )
            listed = response.json()["data"] if response.status_code == 200 else []
            return tuple(str(entry["id"]) for entry in listed)
        except Exception:
            return ()

    async def _answer(
        self, model: str, response: HttpStream, timer: IdleTimer
    ) -> AsyncGenerator[StreamEvent]:
        assembler = ChunkAssembler(model, hide=self._api_key)
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind == "text/html":
            start = (await timer.wait(response.read(200))).decode(errors="replace")
            raise ModelRequestError(
                "the model provider answered with a web page instead of a stream; check base_url. "
                f"It begins: {start}",
                status_code=response.status_code,
            )
        documents = _whole if kind == "application/json" else self._streamed
        try:
            async with aclosing(documents(response, timer)) as arriving:
                async for document in arriving:
                    for event in assembler.feed(document):
                        yield event
                    timer.rearm()
        except TransientError:
            # Whatever breaks after the finish reason takes nothing from the answer.
            if not assembler.complete:
                raise
        for event in assembler.finish():
            yield event

    async def _streamed(self, response: HttpStream, timer: IdleTimer) -> AsyncGenerator[Any]:
        parser = SseParser()
        async for chunk in chunks(response, timer):
            for event in parser.feed(chunk):
                if event.data.strip() == _DONE:
                    return
                yield self._document(event)
        for event in parser.flush():
            # What the connection's end cut off is not JSON; the missing finish reason tells.
            with suppress(ModelRequestError):
                if event.data.strip() != _DONE:
                    yield self._document(event)

    def _document(self, event: SseEvent) -> Any:
        try:
            document = json.loads(event.data)
        except ValueError as exc:
            if event.event != "error":
                raise ModelRequestError(
                    f"the model provider sent a chunk that is not JSON: {event.data[:200]!r}"
                ) from exc
            document = event.data
        if event.event == "error":
            raise error_from_chunk(document, hide=self._api_key)
        return document

    def _url(self, path: str) -> str:
        return f"{self._base}{path}{self._query}"


async def _whole(response: HttpStream, timer: IdleTimer) -> AsyncGenerator[Any]:
    """Read an answer that the server did not stream although it was asked to."""
    body = bytearray()
    async for chunk in chunks(response, timer):
        timer.rearm()
        body += chunk
    try:
        yield json.loads(body)
    except ValueError as exc:
        raise ModelRequestError(
            f"the model provider sent an answer that is not JSON: {bytes(body[:200])!r}"
        ) from exc


def _refuses_usage(body: bytes) -> bool:
    return b"stream_options" in body or b"include_usage" in body


def _timeout() -> httpx.Timeout:
    import httpx

    # Silence while reading is the idle timer's business.
    return httpx.Timeout(_CONNECT_SECONDS, read=None)
