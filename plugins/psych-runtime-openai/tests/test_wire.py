from __future__ import annotations

import json
from typing import Any

from psych_runtime.ports.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from psych_runtime.ports.model import ModelRequest
from psych_runtime.spec.definitions import ToolDefinition
from psych_runtime_openai.wire import encode_request


def payload(*messages: Message, model: str = "m", **more: Any) -> dict[str, Any]:
    request = ModelRequest(model=model, messages=messages, **more)

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    decoded: dict[str, Any] = json.loads(
        encode_request(request, include_usage=False), parse_constant=refuse
    )
    return decoded


def test_a_plain_request_names_nothing_it_was_not_given() -> None:
    assert payload(UserMessage(content="hi")) == {
        "model": "m",
        "messages": [{"role": "user", "content": "hi"}],
        "stream": True,
    }


def test_every_setting_has_its_key_and_extra_wins() -> None:
    sent = payload(
        temperature=0.0,
        top_p=0.5,
        max_output_tokens=7,
        reasoning_effort="low",
        stop=("END",),
        extra={"temperature": 1, "seed": 3},
    )
    assert sent == {
        "model": "m",
        "messages": [],
        "stream": True,
        "temperature": 1,
        "top_p": 0.5,
        "max_completion_tokens": 7,
        "reasoning_effort": "low",
        "stop": ["END"],
        "seed": 3,
    }


def test_a_whole_conversation() -> None:
    sent = payload(
        SystemMessage(content="be brief"),
        UserMessage(content="where?", name="Ann Lee"),
        AssistantMessage(tool_calls=(ToolCall(id="c1", name="look", arguments={"q": "ä"}),)),
        ToolResultMessage(tool_call_id="c1", name="look", content="there"),
        AssistantMessage(content="There."),
    )["messages"]
    assert sent[0] == {"role": "system", "content": "be brief"}
    assert sent[1] == {"role": "user", "content": "where?", "name": "Ann_Lee"}
    assert sent[2]["content"] == ""
    (call,) = sent[2]["tool_calls"]
    assert json.loads(call["function"].pop("arguments")) == {"q": "ä"}
    assert call == {"id": "c1", "type": "function", "function": {"name": "look"}}
    assert sent[3] == {"role": "tool", "tool_call_id": "c1", "content": "there"}
    assert sent[4] == {"role": "assistant", "content": "There."}


def test_what_the_provider_put_on_a_turn_goes_back() -> None:
    call = ToolCall(id="c1", name="t", extra={"extra_content": {"sig": "s"}, "id": "not this"})
    extra = {"reasoning_field": "reasoning_content"}
    sent = payload(
        AssistantMessage(
            tool_calls=(call,),
            reasoning="because",
            reasoning_blocks=({"type": "reasoning.encrypted", "data": "z"},),
            provider_extra=extra,
        ),
        AssistantMessage(content="done", reasoning="dropped", provider_extra=extra),
        AssistantMessage(tool_calls=(call,), reasoning="of another provider"),
    )["messages"]
    assert sent[0]["reasoning_content"] == "because"
    assert sent[0]["reasoning_details"] == [{"type": "reasoning.encrypted", "data": "z"}]
    assert sent[0]["tool_calls"][0]["extra_content"] == {"sig": "s"}
    assert sent[0]["tool_calls"][0]["id"] == "c1"
    assert set(sent[1]) == {"role", "content"}
    assert set(sent[2]) == {"role", "content", "tool_calls"}


def test_history_is_valid_json_even_with_numbers_that_json_lacks() -> None:
    call = ToolCall(id="c", name="t", arguments={"x": [float("nan"), {"y": float("inf")}], "z": 1})
    (message,) = payload(AssistantMessage(tool_calls=(call,)))["messages"]
    arguments = message["tool_calls"][0]["function"]["arguments"]
    assert json.loads(arguments) == {"x": [None, {"y": None}], "z": 1}


def test_lone_surrogates_do_not_stop_a_request() -> None:
    assert payload(UserMessage(content="\ud800"))["messages"][0]["content"] == "\ud800"


def test_tools_have_an_object_schema_and_stable_bytes() -> None:
    one = ToolDefinition(
        name="a", description="d", input_schema={"type": "object", "properties": {"x": {}, "b": {}}}
    )
    same = ToolDefinition(
        name="a", description="d", input_schema={"properties": {"b": {}, "x": {}}, "type": "object"}
    )
    bare = ToolDefinition(name="b", annotations=frozenset({"destructive"}))

    def encode(*tools: ToolDefinition) -> bytes:
        request = ModelRequest(model="m", messages=(), tools=tools)
        return encode_request(request, include_usage=True)

    assert encode(one, bare) == encode(bare, same)
    sent = payload(tools=(bare,))["tools"]
    assert sent == [
        {
            "type": "function",
            "function": {
                "name": "b",
                "description": "",
                "parameters": {"type": "object", "properties": {}},
            },
        }
    ]


def test_cache_marks_are_for_the_models_that_want_them() -> None:
    messages = (SystemMessage(content="long"), UserMessage(content="hi"))
    marked = payload(*messages, model="anthropic/claude-x", cache_breakpoints=(0, 9))["messages"]
    assert marked[0]["content"] == [
        {"type": "text", "text": "long", "cache_control": {"type": "ephemeral"}}
    ]
    assert marked[1]["content"] == "hi"
    plain = payload(*messages, model="gpt-x", cache_breakpoints=(0,))["messages"]
    assert plain[0]["content"] == "long"
