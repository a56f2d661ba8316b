from __future__ import annotations

import asyncio
import json

import httpx
import pytest
from psych_runtime.testing.openai_replies import error_reply
from psych_runtime.testing.openai_stub import OpenAIStub, StubReply, answer_chunks


async def post(stub: OpenAIStub, body: object = None) -> httpx.Response:
    async with httpx.AsyncClient() as client:
        return await client.post(f"{stub.url}/chat/completions", json=body or {"model": "m"})


async def test_a_scripted_answer_is_an_event_stream() -> None:
    async with OpenAIStub() as stub:
        stub.answer("two words", tool_calls=[("t", {"x": 1})], usage={"prompt_tokens": 1})
        response = await post(stub, {"model": "m", "stream": True})
    assert response.headers["content-type"] == "text/event-stream"
    *events, last = [line[6:] for line in response.text.split("\n\n") if line]
    assert last == "[DONE]"
    chunks = [json.loads(event) for event in events]
    assert chunks[-1]["usage"] == {"prompt_tokens": 1}
    assert chunks[-2]["choices"][0]["finish_reason"] == "tool_calls"
    assert stub.requests[0].body == {"model": "m", "stream": True}
    assert stub.requests[0].method == "POST"


async def test_the_script_is_played_in_order_and_then_the_responder() -> None:
    async with OpenAIStub() as stub:
        stub.error(429, "slow", headers={"Retry-After": "1"})
        assert (await post(stub)).headers["retry-after"] == "1"
        exhausted = await post(stub)
        assert exhausted.status_code == 400
        assert "no scripted reply" in exhausted.text
        stub.respond(lambda request: error_reply(418, request.body["model"]))
        assert (await post(stub, {"model": "tea"})).json()["error"]["message"] == "tea"
        assert len(stub.requests) == 3


async def test_models_and_unknown_routes() -> None:
    async with OpenAIStub(models=["a", "b"]) as stub, httpx.AsyncClient() as client:
        listed = (await client.get(f"{stub.url}/models")).json()["data"]
        assert [model["id"] for model in listed] == ["a", "b"]
        assert (await client.get(f"{stub.url}/nothing")).status_code == 404
        assert stub.requests == []


async def test_connections_are_counted() -> None:
    async with OpenAIStub() as stub:
        async with httpx.AsyncClient() as client:
            await client.get(f"{stub.url}/models")
            await client.get(f"{stub.url}/models")
            assert (stub.open_connections, stub.connections) == (1, 1)
            with pytest.raises(TimeoutError):
                await stub.wait_for_connections(0, timeout=0.01)
        await stub.wait_for_connections(0)


async def test_a_stall_holds_the_response_open_until_the_client_leaves() -> None:
    async with OpenAIStub() as stub, httpx.AsyncClient() as client:
        stub.chunks(answer_chunks("one two"), stall_before=1)
        async with client.stream("POST", f"{stub.url}/chat/completions", json={}) as response:
            lines = response.aiter_lines()
            assert "assistant" in await anext(lines)
            await anext(lines)
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(anext(lines), 0.02)
        await stub.wait_for_connections(0)


async def test_a_dropped_response_is_broken_for_the_client() -> None:
    async with OpenAIStub() as stub:
        stub.chunks([{"choices": []}], drop=True)
        with pytest.raises(httpx.TransportError):
            await post(stub)


async def test_leaving_ends_stalled_responses_and_the_url() -> None:
    async with OpenAIStub() as stub, httpx.AsyncClient() as client:
        stub.reply(StubReply(pieces=[b"x"], stall_before=1))
        request = client.build_request("POST", f"{stub.url}/chat/completions", json={})
        response = await client.send(request, stream=True)
        assert response.status_code == 200
        await stub.__aexit__(None, None, None)
        assert stub.open_connections == 0
        with pytest.raises(RuntimeError, match="not running"):
            _ = stub.url
        await response.aclose()
        await stub.__aenter__()
