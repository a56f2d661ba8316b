"""The client against a stub server over real sockets."""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import aclosing
from decimal import Decimal
from typing import Any

import pytest
from psych_runtime.egress import DenyAll, HttpTransport
from psych_runtime.errors import AccessDenied, TransientError
from psych_runtime.model.transient import is_context_overflow, is_transient
from psych_runtime.ports.messages import UserMessage
from psych_runtime.ports.model import (
    ModelClient,
    ModelRequest,
    StreamDone,
    StreamEvent,
    TextDelta,
    ToolCallDelta,
)
from psych_runtime.scope import Scope
from psych_runtime.spec.usage import Usage
from psych_runtime.testing.openai_stub import OpenAIStub, StubReply, answer_chunks
from psych_runtime_openai.client import OpenAICompatibleClient
from psych_runtime_openai.errors import ModelRequestError, ModelUnavailable

SCOPE = Scope(tenant="acme")


def ask(**more: Any) -> ModelRequest:
    return ModelRequest(model="stub-model", messages=(UserMessage(content="hi"),), **more)


async def collect(client: ModelClient, request: ModelRequest | None = None) -> list[StreamEvent]:
    return [event async for event in client.stream(request or ask())]


def text_of(events: list[StreamEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def calls_of(events: list[StreamEvent]) -> list[tuple[str | None, str | None, str]]:
    calls: dict[int, list[Any]] = {}
    for event in events:
        if isinstance(event, ToolCallDelta):
            call = calls.setdefault(event.index, [None, None, ""])
            call[0] = call[0] or event.id
            call[1] = call[1] or event.name
            call[2] += event.arguments_fragment
    return [(call[0], call[1], call[2]) for _, call in sorted(calls.items())]


def done_of(events: list[StreamEvent]) -> StreamDone:
    assert isinstance(events[-1], StreamDone)
    return events[-1]


async def test_text_and_usage(stub: OpenAIStub, client: OpenAICompatibleClient) -> None:
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "prompt_tokens_details": {"cached_tokens": 60},
        "completion_tokens_details": {"reasoning_tokens": 5},
        "cost": 0.0125,
    }
    stub.answer("Hello there, world", usage=usage)
    events = await collect(client)
    assert text_of(events) == "Hello there, world"
    assert len([event for event in events if isinstance(event, TextDelta)]) == 3
    done = done_of(events)
    assert done.finish_reason == "stop"
    assert done.usage == Usage(input=40, output=20, cache_read=60, reasoning=5)
    assert done.usage_reported
    assert done.cost is not None
    assert (done.cost.amount, done.cost.source) == (Decimal("0.0125"), "provider")
    sent = stub.requests[0]
    assert sent.path == "/v1/chat/completions"
    assert sent.headers["authorization"] == "Bearer sk-test"
    assert sent.body["stream_options"] == {"include_usage": True}


async def test_two_tool_calls(stub: OpenAIStub, client: OpenAICompatibleClient) -> None:
    stub.answer(tool_calls=[("lookup", {"order": "A1"}), ("refund", {"amount": 12.5})])
    events = await collect(client)
    (first_id, first, one), (second_id, second, two) = calls_of(events)
    assert (first, json.loads(one)) == ("lookup", {"order": "A1"})
    assert (second, json.loads(two)) == ("refund", {"amount": 12.5})
    assert first_id != second_id
    assert done_of(events).finish_reason == "tool_calls"
    assert not done_of(events).usage_reported


async def test_answers_one_after_another_share_a_connection(
    stub: OpenAIStub, client: OpenAICompatibleClient
) -> None:
    stub.respond(
        lambda request: StubReply(
            headers={"Content-Type": "text/event-stream"},
            pieces=[b"data: " + json.dumps(c).encode() + b"\n\n" for c in answer_chunks("ok")]
            + [b"data: [DONE]\n\n"],
        )
    )
    for _ in range(5):
        assert text_of(await collect(client)) == "ok"
    assert stub.connections == 1


@pytest.mark.parametrize(
    ("status", "error_type"),
    [
        (408, ModelUnavailable),
        (429, ModelUnavailable),
        (500, ModelUnavailable),
        (503, ModelUnavailable),
        (529, ModelUnavailable),
        (400, ModelRequestError),
        (401, ModelRequestError),
        (404, ModelRequestError),
        (422, ModelRequestError),
    ],
)
async def test_statuses(
    stub: OpenAIStub, client: OpenAICompatibleClient, status: int, error_type: type[Exception]
) -> None:
    stub.error(status, "the reason", code="some_code", headers={"X-Request-Id": "req-7"})
    with pytest.raises(error_type, match=rf"answered {status} \(some_code\): the reason") as error:
        await collect(client)
    assert error.value.status_code == status  # type: ignore[attr-defined]
    assert error.value.request_id == "req-7"  # type: ignore[attr-defined]
    assert is_transient(error.value) is (error_type is ModelUnavailable)


async def test_retry_after_reaches_the_caller(
    stub: OpenAIStub, client: OpenAICompatibleClient
) -> None:
    stub.error(429, headers={"Retry-After": "7"})
    with pytest.raises(TransientError) as error:
        await collect(client)
    assert error.value.retry_after_seconds == 7


async def test_an_exhausted_quota_is_final(
    stub: OpenAIStub, client: OpenAICompatibleClient
) -> None:
    stub.error(429, "You exceeded your current quota", code="insufficient_quota")
    with pytest.raises(ModelRequestError, match="quota") as error:
        await collect(client)
    assert not is_transient(error.value)


async def test_a_prompt_that_is_too_long_is_recognised(
    stub: OpenAIStub, client: OpenAICompatibleClient
) -> None:
    stub.error(400, "This model's maximum context length is 8192", code="context_length_exceeded")
    with pytest.raises(ModelRequestError) as error:
        await collect(client)
    assert is_context_overflow(error.value)


async def test_the_api_key_never_appears_in_an_error(
    stub: OpenAIStub, client: OpenAICompatibleClient
) -> None:
    stub.error(401, "Incorrect API key provided: sk-test.")
    with pytest.raises(ModelRequestError, match=r"provided: \*\*\*\.") as error:
        await collect(client)
    assert "sk-test" not in str(error.value)


async def test_a_refused_usage_option_is_dropped_once_and_remembered(
    stub: OpenAIStub, client: OpenAICompatibleClient
) -> None:
    stub.error(400, "Unknown field: stream_options").answer("one").answer("two")
    assert text_of(await collect(client)) == "one"
    assert text_of(await collect(client)) == "two"
    asked = ["stream_options" in request.body for request in stub.requests]
    assert asked == [True, False, False]


async def test_a_stream_without_finish_reason_is_truncated(
    stub: OpenAIStub, client: OpenAICompatibleClient
) -> None:
    stub.chunks(answer_chunks("half an answer")[:-1], done=False)
    stub.chunks(answer_chunks("half an answer")[:-1], done=True)
    stub.chunks([*answer_chunks("half")[:-1], b'data: {"choices": [{"del'], done=False)
    for _ in range(3):
        events: list[StreamEvent] = []

        async def consume(into: list[StreamEvent] = events) -> None:
            async for event in client.stream(ask()):
                into.append(event)

        with pytest.raises(TransientError, match="no finish reason"):
            await consume()
        assert text_of(events).startswith("half")


async def test_a_broken_connection_is_transient_unless_the_answer_was_whole(
    stub: OpenAIStub, client: OpenAICompatibleClient
) -> None:
    stub.chunks(answer_chunks("half an answer")[:-1], done=False, drop=True)
    with pytest.raises(TransientError, match="POST"):
        await collect(client)
    stub.chunks(answer_chunks("a whole answer"), done=False, drop=True)
    events = await collect(client)
    assert text_of(events) == "a whole answer"
    assert done_of(events).finish_reason == "stop"


async def test_done_may_be_missing_when_there_is_a_finish_reason(
    stub: OpenAIStub, client: OpenAICompatibleClient
) -> None:
    stub.chunks(answer_chunks("ok"), done=False)
    assert text_of(await collect(client)) == "ok"


@pytest.mark.parametrize("stall_before", [0, 3])
async def test_silence_ends_the_call(
    stub: OpenAIStub, client: OpenAICompatibleClient, stall_before: int
) -> None:
    stub.chunks(answer_chunks("one two three four"), stall_before=stall_before)
    with pytest.raises(TransientError, match=r"sent nothing for 0\.05 s"):
        await collect(client, ask(idle_timeout_seconds=0.05))
    await stub.wait_for_connections(0)


async def test_keep_alive_comments_are_no_sign_of_life(
    client: OpenAICompatibleClient, stub: OpenAIStub
) -> None:
    class Chatter(StubReply):
        async def send(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
            while not reader.at_eof():
                writer.write(b": keep-alive\n\n")
                await writer.drain()
                await asyncio.sleep(0.01)
            return False

    stub.reply(Chatter())
    started = time.monotonic()
    with pytest.raises(TransientError, match="idle timeout"):
        await collect(client, ask(idle_timeout_seconds=0.1))
    assert time.monotonic() - started < 2


async def test_a_long_answer_or_a_slow_consumer_is_not_silence(
    stub: OpenAIStub, client: OpenAICompatibleClient
) -> None:
    stub.chunks(answer_chunks("one two three four five six"), pause_seconds=0.1)
    text = ""
    async for event in client.stream(ask(idle_timeout_seconds=0.4)):
        if not text:
            await asyncio.sleep(0.45)
        text += event.text if isinstance(event, TextDelta) else ""
    assert text == "one two three four five six"


async def test_cancelling_mid_stream_leaves_no_connection(
    stub: OpenAIStub, client: OpenAICompatibleClient, transport: HttpTransport
) -> None:
    for _ in range(100):
        stub.chunks(answer_chunks("one two three four"), stall_before=3)
        seen = asyncio.Event()

        async def consume(seen: asyncio.Event = seen) -> None:
            async with aclosing(client.stream(ask())) as stream:  # type: ignore[type-var]
                async for _ in stream:
                    seen.set()

        task = asyncio.create_task(consume())
        await seen.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    await stub.wait_for_connections(0)
    assert stub.connections == 100
    assert transport._pool.get()._transport._pool.connections == []  # type: ignore[attr-defined]


async def test_closing_early_drops_the_connection(
    stub: OpenAIStub, client: OpenAICompatibleClient
) -> None:
    stub.chunks(answer_chunks("one two three four"), stall_before=3)
    stream = client.stream(ask())
    await anext(stream)
    await stream.aclose()  # type: ignore[attr-defined]
    await stub.wait_for_connections(0)


async def test_an_error_inside_the_stream(stub: OpenAIStub, client: OpenAICompatibleClient) -> None:
    broken = {
        "error": {"code": 502, "message": "Provider disconnected"},
        "choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": "error"}],
    }
    stub.chunks([*answer_chunks("half")[:-1], broken])
    with pytest.raises(ModelUnavailable, match="broke off the answer: Provider disconnected"):
        await collect(client)
    refused = {"object": "error", "message": "bad prompt", "type": "BadRequestError", "code": 400}
    stub.chunks([refused])
    with pytest.raises(ModelRequestError, match="bad prompt"):
        await collect(client)
    line = b'error: {"code":400,"message":"exceeds the available context size"}\n\n'
    stub.chunks([line])
    with pytest.raises(ModelRequestError) as error:
        await collect(client)
    assert is_context_overflow(error.value)


async def test_a_chunk_that_is_not_json(stub: OpenAIStub, client: OpenAICompatibleClient) -> None:
    stub.chunks([b"data: <html>\n\n", *answer_chunks("ok")])
    with pytest.raises(ModelRequestError, match="not JSON"):
        await collect(client)


async def test_a_web_page_is_not_an_answer(
    stub: OpenAIStub, client: OpenAICompatibleClient
) -> None:
    stub.reply(StubReply(headers={"Content-Type": "text/html"}, body=b"<h1>Sign in</h1>"))
    with pytest.raises(ModelRequestError, match=r"base_url.*Sign in"):
        await collect(client)


async def test_a_redirect_is_not_followed(stub: OpenAIStub, client: OpenAICompatibleClient) -> None:
    stub.reply(StubReply(307, {"Location": "http://elsewhere.test/"}))
    with pytest.raises(ModelRequestError, match=r"redirected to http://elsewhere\.test/"):
        await collect(client)
    assert len(stub.requests) == 1


async def test_an_answer_that_was_not_streamed_is_accepted(
    stub: OpenAIStub, client: OpenAICompatibleClient
) -> None:
    whole = {
        "choices": [
            {
                "message": {
                    "content": "whole",
                    "tool_calls": [
                        {
                            "id": "c1",
                            "type": "function",
                            "function": {"name": "t", "arguments": "{}"},
                        },
                        {
                            "id": "c2",
                            "type": "function",
                            "function": {"name": "t", "arguments": "{}"},
                        },
                    ],
                },
                "finish_reason": "tool_calls",
            }
        ],
        "usage": {"prompt_tokens": 3, "completion_tokens": 4},
    }
    stub.reply(StubReply(body=b"\n\n" + json.dumps(whole).encode()))
    events = await collect(client)
    assert text_of(events) == "whole"
    assert calls_of(events) == [("c1", "t", "{}"), ("c2", "t", "{}")]
    assert done_of(events).usage == Usage(input=3, output=4)


async def test_the_policy_is_asked() -> None:
    async with OpenAIStub() as stub, HttpTransport(policy=DenyAll()) as transport:
        client = OpenAICompatibleClient(base_url=stub.url, transport=transport, scope=SCOPE)
        with pytest.raises(AccessDenied):
            await collect(client)
        assert await client.known_models() == ()
        assert stub.connections == 0


async def test_no_server_is_transient(transport: HttpTransport) -> None:
    async with OpenAIStub() as stub:
        url = stub.url
    client = OpenAICompatibleClient(base_url=url, transport=transport, scope=SCOPE)
    with pytest.raises(TransientError):
        await collect(client)
    assert await client.known_models() == ()


async def test_known_models(stub: OpenAIStub, client: OpenAICompatibleClient) -> None:
    assert isinstance(client, ModelClient)
    assert await client.known_models() == ("stub-model",)


@pytest.mark.parametrize(
    ("suffix", "path"),
    [
        ("/", "/v1/chat/completions"),
        ("/chat/completions", "/v1/chat/completions"),
        ("/deep?api-version=1", "/v1/deep/chat/completions?api-version=1"),
    ],
)
async def test_base_urls(
    stub: OpenAIStub, transport: HttpTransport, suffix: str, path: str
) -> None:
    stub.answer("ok")
    client = OpenAICompatibleClient(
        base_url=stub.url + suffix, transport=transport, scope=SCOPE, headers={"api-key": "k"}
    )
    await collect(client)
    assert stub.requests[0].path == path
    assert stub.requests[0].headers["api-key"] == "k"
    assert "authorization" not in stub.requests[0].headers


async def test_a_base_url_without_version_is_used_as_given(
    stub: OpenAIStub, transport: HttpTransport
) -> None:
    stub.answer("ok")
    bare = stub.url.removesuffix("/v1")
    await collect(OpenAICompatibleClient(base_url=bare, transport=transport, scope=SCOPE))
    assert stub.requests[0].path == "/chat/completions"


async def test_a_header_of_the_caller_wins(stub: OpenAIStub, transport: HttpTransport) -> None:
    stub.answer("ok")
    client = OpenAICompatibleClient(
        base_url=stub.url,
        transport=transport,
        scope=SCOPE,
        api_key="sk",
        headers={"authorization": "Custom 1"},
    )
    await collect(client)
    assert stub.requests[0].headers["authorization"] == "Custom 1"
