"""What real servers put into their chunks, one quirk per test."""

from __future__ import annotations

import time
from typing import Any

import pytest
from psych_runtime.ports.model import (
    ProviderExtra,
    ReasoningBlock,
    ReasoningDelta,
    StreamDone,
    StreamEvent,
    TextDelta,
    ToolCallDelta,
)
from psych_runtime.spec.usage import Usage
from psych_runtime_openai.assemble import ChunkAssembler
from psych_runtime_openai.calls import CallAssembler
from psych_runtime_openai.errors import ModelRequestError, ModelUnavailable


def chunk(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def call(name: str | None = None, arguments: Any = "", **more: Any) -> dict[str, Any]:
    function = {"arguments": arguments} if name is None else {"name": name, "arguments": arguments}
    return {**more, "function": function}


def tools(*items: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    return chunk(finish, tool_calls=list(items))


def assemble(*chunks: Any) -> list[StreamEvent]:
    assembler = ChunkAssembler("m")
    events = [event for one in chunks for event in assembler.feed(one)]
    return [*events, *assembler.finish()]


def calls(*chunks: Any) -> list[tuple[str, str]]:
    """Assemble, check what every consumer relies on, and return names and arguments."""
    found: dict[int, list[str]] = {}
    fragments: dict[int, list[str]] = {}
    ids = []
    for event in assemble(*chunks, chunk("tool_calls")):
        if isinstance(event, ToolCallDelta):
            if event.index not in found:
                assert event.index == len(found)
                assert event.name, "the first piece of a call carries its name"
                assert event.id
                found[event.index] = [event.name]
                ids.append(event.id)
            else:
                assert event.name is None
                assert event.id is None
            fragments.setdefault(event.index, []).append(event.arguments_fragment)
    assert len(set(ids)) == len(ids)
    return [(name, "".join(fragments[index])) for index, (name,) in found.items()]


def test_interleaved_fragments() -> None:
    assert calls(
        tools(call("a", "", index=0, id="1")),
        tools(call("b", "", index=1, id="2")),
        tools(call(None, '{"x"', index=0), call(None, '{"y"', index=1)),
        tools(call(None, ":1}", index=0)),
        tools(call(None, ":2}", index=1)),
    ) == [("a", '{"x":1}'), ("b", '{"y":2}')]


def test_no_index_is_matched_by_id_and_then_by_order() -> None:
    assert calls(tools(call("a", '{"q":1}', id="1")), tools(call("b", '{"q":2}', id="2"))) == [
        ("a", '{"q":1}'),
        ("b", '{"q":2}'),
    ]
    assert calls(tools(call("a", "", id="1")), tools(call(None, "{}")), tools(call(None, " "))) == [
        ("a", "{} ")
    ]
    assert calls(tools(call("a", "{}"), call("a", "{}"))) == [("a", "{}"), ("a", "{}")]
    assert calls(tools(call("a", "{}")), tools(call("a", "{}"))) == [("a", "{}"), ("a", "{}")]


def test_several_calls_may_share_index_zero() -> None:
    assert calls(
        tools(call("a", '{"n":1}', index=0, id="1")),
        tools(call("a", '{"n":2}', index=0, id="2")),
    ) == [("a", '{"n":1}'), ("a", '{"n":2}')]
    assert calls(tools(call("a", "", index=0, id="1")), tools(call("a", "", index=0, id="2"))) == [
        ("a", ""),
        ("a", ""),
    ]


def test_an_id_that_changes_with_every_fragment_is_one_call() -> None:
    assert calls(tools(call("a", "{", index=0, id="1")), tools(call("", "}", index=0, id="2"))) == [
        ("a", "{}")
    ]


def test_arguments_may_be_null_or_an_object() -> None:
    assert calls(tools(call("a", None, index=0, id="1")), tools(call(None, "{}", index=0))) == [
        ("a", "{}")
    ]
    assert calls(tools(call("a", {"city": "Paris"}, id="1"))) == [("a", '{"city": "Paris"}')]


def test_an_empty_or_repeated_name_does_not_change_the_call() -> None:
    assert calls(
        tools(call("a", "", index=0, id="1")),
        tools(call("", '{"x":', index=0)),
        tools(call("a", "1}", index=0, id="1"), finish="tool_calls"),
    ) == [("a", '{"x":1}')]


def test_a_name_that_comes_late_is_waited_for() -> None:
    assert calls(
        tools({"index": 0, "id": "1"}),
        tools(call(None, "{", index=0)),
        tools(call("a", "}", index=0)),
    ) == [("a", "{}")]


def test_a_call_that_is_never_named_still_arrives() -> None:
    assert calls(tools(call(None, "{}", index=0, id="1"))) == [("unnamed_tool", "{}")]


def test_missing_and_reused_ids_are_replaced() -> None:
    assert calls(
        tools(call("a", "{}", index=0, id="")),
        tools(call("b", "{}", index=1, id="x")),
        tools(call("c", "{}", index=2, id="x")),
    ) == [("a", "{}"), ("b", "{}"), ("c", "{}")]


def test_indices_may_start_at_one() -> None:
    assert calls(tools(call("a", "{}", index=1, id="1"))) == [("a", "{}")]


def test_unknown_fields_of_a_call_are_kept() -> None:
    signature = {"google": {"thought_signature": "EjQ"}}
    events = assemble(
        tools(call("a", "{}", id="1", type="function", extra_content=signature)),
        tools({"index": 0, "id": "1", "late": 1}),
        chunk("stop"),
    )
    assert events[0] == ToolCallDelta(0, "1", "a", "{}", {"extra_content": signature})
    assert events[1] == ToolCallDelta(0, extra={"late": 1})


def test_long_arguments_in_small_fragments_take_linear_time() -> None:
    assembler = CallAssembler()
    started = time.perf_counter()
    list(assembler.feed([call("a", "{", index=0, id="1")]))
    for _ in range(100_000):
        list(assembler.feed([call(None, "x" * 20, index=0)]))
    assert time.perf_counter() - started < 5


def test_a_legacy_function_call() -> None:
    assert calls(
        chunk(function_call={"name": "a", "arguments": "{"}),
        chunk(function_call={"arguments": "}"}),
    ) == [("a", "{}")]


def test_content_in_every_shape() -> None:
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    events = assemble(
        chunk(role="assistant", content=None),
        chunk(content=""),
        chunk(content=7),
        chunk(content=[thinking, {"type": "text", "text": "so"}]),
        chunk(content=None, refusal="I will not"),
        chunk("stop"),
    )
    assert events[:-1] == [
        TextDelta("7"),
        ReasoningDelta("hm"),
        TextDelta("so"),
        TextDelta("I will not"),
    ]


@pytest.mark.parametrize("field", ["reasoning", "reasoning_content"])
def test_the_reasoning_field_is_remembered(field: str) -> None:
    events = assemble(chunk(**{field: "because"}), chunk("stop", content="x"))
    assert events[0] == ReasoningDelta("because")
    assert ProviderExtra({"reasoning_field": field}) in events


def test_reasoning_twice_in_one_chunk_is_said_once() -> None:
    events = assemble(chunk(reasoning="r", reasoning_content="r"), chunk("stop"))
    assert [event for event in events if isinstance(event, ReasoningDelta)] == [ReasoningDelta("r")]


def test_reasoning_details_are_joined_in_order() -> None:
    events = assemble(
        chunk(reasoning_details=[{"type": "reasoning.text", "index": 0, "text": "a"}]),
        chunk(reasoning_details=[{"type": "reasoning.text", "index": 0, "text": "b"}]),
        chunk(
            reasoning_details=[
                {"type": "reasoning.text", "index": 0, "text": None, "signature": "s"},
                {"type": "reasoning.encrypted", "index": 1, "data": "zz"},
            ]
        ),
        chunk("stop"),
    )
    assert [event.block for event in events if isinstance(event, ReasoningBlock)] == [
        {"type": "reasoning.text", "index": 0, "text": "ab", "signature": "s"},
        {"type": "reasoning.encrypted", "index": 1, "data": "zz"},
    ]


@pytest.mark.parametrize(
    "harmless",
    [
        {"id": "", "choices": [], "prompt_filter_results": []},
        {"choices": None},
        {"choices": [{"index": 0, "content_filter_offsets": {}}]},
        {"choices": [{"index": 1, "delta": {"content": "other answer"}}]},
        {"choices": [None, {"delta": None}]},
        {},
    ],
)
def test_chunks_without_anything_to_say(harmless: dict[str, Any]) -> None:
    assert assemble(harmless, chunk("stop"))[:-1] == []


def done(*chunks: Any) -> StreamDone:
    last = assemble(*chunks)[-1]
    assert isinstance(last, StreamDone)
    return last


def counted(**usage: Any) -> dict[str, Any]:
    return {"choices": [], "usage": usage}


def test_usage_on_every_chunk_is_not_summed_and_zeros_do_not_erase_it() -> None:
    end = done(
        counted(prompt_tokens=5, completion_tokens=1),
        counted(prompt_tokens=5, completion_tokens=9),
        chunk("stop"),
        counted(prompt_tokens=0, completion_tokens=0),
    )
    assert end.usage == Usage(input=5, output=9)
    assert end.usage_reported


def test_absent_usage_is_not_reported() -> None:
    assert done({**chunk("stop"), "usage": None}).usage_reported is False


def test_usage_on_the_finishing_chunk_and_vendor_usage() -> None:
    usage = {"prompt_tokens": 2, "completion_tokens": 3}
    assert done({**chunk("eos"), "usage": usage}).usage == Usage(input=2, output=3)
    assert done(chunk("stop"), {"choices": [], "x_groq": {"usage": usage}}).usage.output == 3


def test_an_incomplete_answer_is_not_passed_off_as_one() -> None:
    with pytest.raises(ModelUnavailable, match="no finish reason"):
        assemble(chunk(content="half"))
    for reason in ("error", "insufficient_system_resource"):
        with pytest.raises(ModelUnavailable, match=reason):
            assemble(chunk(reason, content="half"))


@pytest.mark.parametrize("reason", ["length", "content_filter", "model_length"])
def test_the_finish_reason_is_the_providers_word(reason: str) -> None:
    assert done(chunk(reason)).finish_reason == reason


@pytest.mark.parametrize(
    ("bad", "kind"),
    [
        ({"error": {"code": 429, "message": "slow down"}}, ModelUnavailable),
        ({"error": {"code": "400", "message": "no"}}, ModelRequestError),
        ({"error": "backend died"}, ModelUnavailable),
        ({"error": {"message": "no", "type": "invalid_request_error"}}, ModelRequestError),
        (
            {"error": {"message": "x", "code": "tool_use_failed", "status_code": 400}},
            ModelUnavailable,
        ),
        (["not", "a", "chunk"], ModelUnavailable),
    ],
)
def test_errors_inside_the_stream(bad: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        assemble(chunk(content="half"), bad)
