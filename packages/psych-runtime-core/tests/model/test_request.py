from __future__ import annotations

import time

import pytest
from psych_runtime.ports.messages import AssistantMessage, ToolCall, ToolResultMessage, UserMessage
from psych_runtime.ports.model import ModelRequest, StreamDone, TextDelta
from psych_runtime.spec.definitions import ToolDefinition
from pydantic import ValidationError


def test_messages_are_the_same_objects_and_tools_are_sorted_by_name() -> None:
    message = UserMessage(content="x")
    tools = [ToolDefinition(name="b"), ToolDefinition(name="a")]
    request = ModelRequest(model="m", messages=[message], tools=tools)
    assert isinstance(request.messages, tuple)
    assert request.messages[0] is message
    assert [tool.name for tool in request.tools] == ["a", "b"]


def test_a_request_costs_the_same_however_long_the_conversation_is() -> None:
    def cost(count: int) -> float:
        messages = tuple(UserMessage(content=str(n)) for n in range(count))
        best = float("inf")
        for _ in range(5):
            started = time.perf_counter()
            for _ in range(50):
                ModelRequest(model="m", messages=messages)
            best = min(best, time.perf_counter() - started)
        return best

    cost(1)
    assert cost(20_000) < cost(10) * 20


def test_messages_are_frozen_and_refuse_unknown_fields() -> None:
    call = ToolCall(id="c", name="t", arguments={"x": 1}, extra={"sig": "s"})
    message = AssistantMessage(tool_calls=(call,), reasoning="r", reasoning_blocks=({"b": 1},))
    with pytest.raises(ValidationError):
        message.content = "other"
    with pytest.raises(ValidationError):
        ToolResultMessage(tool_call_id="c", name="t", content="", surprise=1)
    assert AssistantMessage.model_validate_json(message.model_dump_json()) == message


def test_events_know_their_type() -> None:
    assert TextDelta("x").type == TextDelta.type == "text_delta"
    assert StreamDone("stop").usage_reported is True
