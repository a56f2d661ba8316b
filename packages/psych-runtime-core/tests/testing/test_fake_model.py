from __future__ import annotations

import asyncio
import json
import time
from decimal import Decimal
from typing import Any

import pytest
from psych_runtime.ports.messages import AssistantMessage, UserMessage
from psych_runtime.ports.model import (
    ModelClient,
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
from psych_runtime.testing.fake_model import (
    FakeModel,
    FakeModelScriptExhausted,
    FakePermanentFailure,
    FakeTransientFailure,
    FakeTurn,
    ToolCallScript,
    first_user_message,
)


def ask(text: str = "hi", **more: Any) -> ModelRequest:
    return ModelRequest(model="fake-standard", messages=(UserMessage(content=text),), **more)


async def play(model: ModelClient, request: ModelRequest | None = None) -> list[StreamEvent]:
    return [event async for event in model.stream(request or ask())]


def text_of(events: list[StreamEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


async def test_text_is_streamed_word_by_word_and_joins_to_the_text() -> None:
    events = await play(FakeModel().turn(text="  one two\nthree "))
    assert [e.text for e in events if isinstance(e, TextDelta)] == ["  ", "one ", "two\n", "three "]
    assert events[-1] == StreamDone("stop", Usage(), True, None)


async def test_a_sequence_is_streamed_as_it_is() -> None:
    events = await play(FakeModel().turn(text=["ab", "c d"], reasoning=["x"]))
    assert events[:-1] == [ReasoningDelta("x"), TextDelta("ab"), TextDelta("c d")]


async def test_tool_calls_stream_in_fragments_with_one_id_and_name() -> None:
    model = FakeModel().turn(tool_calls=[("a", {"x": 1}), ToolCallScript("b", raw_arguments="{")])
    events = await play(model)
    deltas = [event for event in events if isinstance(event, ToolCallDelta)]
    joined = {0: "", 1: ""}
    for delta in deltas:
        joined[delta.index] += delta.arguments_fragment
    assert json.loads(joined[0]) == {"x": 1}
    assert joined[1] == "{"
    assert [delta.name for delta in deltas if delta.name] == ["a", "b"]
    ids = [delta.id for delta in deltas if delta.id]
    assert len(set(ids)) == len(ids) == 2
    assert isinstance(events[-1], StreamDone)
    assert events[-1].finish_reason == "tool_calls"


async def test_default_call_ids_stay_unique_when_a_new_model_carries_on_a_run() -> None:
    first = await play(FakeModel().turn(tool_calls=[("a", {})]))
    longer = ModelRequest(
        model="m", messages=(UserMessage(content="hi"), AssistantMessage(content="x"))
    )
    second = await play(FakeModel().turn(tool_calls=[("a", {})]), longer)
    assert isinstance(first[0], ToolCallDelta)
    assert isinstance(second[0], ToolCallDelta)
    assert first[0].id != second[0].id


async def test_everything_a_turn_can_carry_arrives() -> None:
    cost = Cost(amount=Decimal("0.5"), model="m", source="provider")
    model = FakeModel().turn(
        text="x",
        usage=Usage(input=3),
        usage_reported=False,
        cost=cost,
        finish_reason="length",
        reasoning_blocks=[{"sig": 1}],
        provider_extra={"k": "v"},
        tool_calls=[ToolCallScript("t", {}, call_id="c1", extra={"thought": "s"})],
    )
    events = await play(model)
    assert ReasoningBlock({"sig": 1}) in events
    assert ProviderExtra({"k": "v"}) in events
    assert ToolCallDelta(0, "c1", "t", "{}", {"thought": "s"}) in events
    assert events[-1] == StreamDone("length", Usage(input=3), False, cost)


@pytest.mark.parametrize("given", [{}, {"arguments": {}, "raw_arguments": "{}"}])
def test_a_call_needs_exactly_one_kind_of_arguments(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="exactly one"):
        ToolCallScript("t", **given)


def test_fragments_must_join_to_the_arguments() -> None:
    with pytest.raises(ValueError, match="join to"):
        ToolCallScript("t", {"x": 1}, fragments=["{", "}"])
    assert ToolCallScript("t", {}, fragments=["{", "}"]).pieces() == ["{", "}"]


async def test_failures_are_raised_in_their_turn() -> None:
    model = (
        FakeModel()
        .raises_transient(429, retry_after_seconds=7)
        .raises_permanent(401, message="no key")
        .turn(text="ok")
    )
    with pytest.raises(FakeTransientFailure) as transient:
        await play(model)
    assert (transient.value.status_code, transient.value.retry_after_seconds) == (429, 7)
    with pytest.raises(FakePermanentFailure, match="no key") as permanent:
        await play(model)
    assert permanent.value.status_code == 401
    assert text_of(await play(model)) == "ok"


async def test_a_cut_stream_has_no_end() -> None:
    events = await play(FakeModel().aborts_mid_token("half an"))
    assert text_of(events) == "half an"
    assert not any(isinstance(event, StreamDone) for event in events)


async def test_a_stall_outlasts_the_idle_timeout_and_then_ends_empty() -> None:
    started = time.monotonic()
    events = await play(FakeModel().stalls(), ask(idle_timeout_seconds=0.01))
    assert time.monotonic() - started >= 0.05
    assert events == [StreamDone("stop")]


async def test_a_delay_comes_before_the_first_event() -> None:
    stream = FakeModel().turn(text="late", delay_seconds=30).stream(ask())
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.02):
            await anext(stream)


async def test_an_exhausted_script_says_so() -> None:
    model = FakeModel().turn(text="only")
    await play(model)
    with pytest.raises(FakeModelScriptExhausted, match="1 scripted turn and none is left") as error:
        await play(model)
    assert (error.value.scripted, error.value.call_number) == (1, 2)


async def test_a_conditional_turn_waits_for_its_request() -> None:
    model = (
        FakeModel()
        .turn(text="weather", when=lambda r: "rain" in first_user_message(r))
        .turn(text="first")
        .turn(text="second")
    )
    answers = [text_of(await play(model, ask(q))) for q in ("a", "will it rain", "rain again")]
    assert answers == ["first", "weather", "second"]


async def test_script_per_gives_each_conversation_the_whole_script() -> None:
    model = FakeModel(script_per=first_user_message).turn(text="one").turn(text="two")

    async def run(name: str) -> list[str]:
        return [text_of(await play(model, ask(name))) for _ in range(2)]

    assert await asyncio.gather(*(run(str(n)) for n in range(5))) == [["one", "two"]] * 5


async def test_respond_answers_from_the_request_past_the_script() -> None:
    model = FakeModel().turn(text="scripted")
    model.respond(
        lambda r: (
            FakeTurn(tool_calls=[("t", {})])
            if first_user_message(r) == "call"
            else first_user_message(r).upper()
        )
    )
    assert text_of(await play(model, ask("x"))) == "scripted"
    assert text_of(await play(model, ask("x"))) == "X"
    assert isinstance((await play(model, ask("call")))[0], ToolCallDelta)


async def test_requests_are_kept_oldest_first_up_to_the_limit() -> None:
    model = FakeModel(keep_requests=2).respond(lambda r: "ok")
    with pytest.raises(LookupError, match="never called"):
        _ = model.last_request
    for name in "abc":
        await play(model, ask(name))
    assert [first_user_message(request) for request in model.requests] == ["b", "c"]
    assert first_user_message(model.last_request) == "c"
    assert model.call_count == 3
    with pytest.raises(ValueError, match="at least 1"):
        FakeModel(keep_requests=0)


async def test_it_is_a_model_client_with_known_models() -> None:
    assert isinstance(FakeModel(), ModelClient)
    assert await FakeModel().known_models() == ("fake-standard", "fake-reasoning")
    assert await FakeModel(known_models=["m"]).known_models() == ("m",)


async def test_thousands_of_turns_per_second() -> None:
    model = FakeModel().respond(lambda r: "a short answer")
    started = time.perf_counter()
    for _ in range(2000):
        await play(model)
    assert time.perf_counter() - started < 5
