"""`ModelRequest` to the JSON that the provider gets."""

from __future__ import annotations

import json
import math
import re
from typing import Any, Final

from psych_runtime.ports.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolCall,
    UserMessage,
)
from psych_runtime.ports.model import ModelRequest
from psych_runtime.spec.definitions import ToolDefinition

REASONING_FIELD: Final = "reasoning_field"
"""Key of `AssistantMessage.provider_extra`: the field that carried the reasoning text."""

_CACHE_MARK: Final = {"type": "ephemeral"}
_MAX_MARKS: Final = 4
_UNSAFE_NAME: Final = re.compile(r"[^A-Za-z0-9_-]")


def encode_request(request: ModelRequest, *, include_usage: bool) -> bytes:
    """Return the request body: a streaming chat completion.

    Cache breakpoints become ``cache_control`` marks when the model id names Claude, the family
    whose prompt cache wants marks behind this API; all others cache by themselves.
    """
    payload: dict[str, Any] = {
        "model": request.model,
        "messages": [_message(message) for message in request.messages],
        "stream": True,
    }
    if "claude" in request.model.lower():
        _mark(payload["messages"], request.cache_breakpoints)
    if include_usage:
        payload["stream_options"] = {"include_usage": True}
    if request.tools:
        payload["tools"] = [_tool(tool) for tool in request.tools]
    settings: dict[str, Any] = {
        "temperature": request.temperature,
        "top_p": request.top_p,
        "max_completion_tokens": request.max_output_tokens,
        "reasoning_effort": request.reasoning_effort,
        "stop": list(request.stop) or None,
    }
    payload.update({name: value for name, value in settings.items() if value is not None})
    payload.update(request.extra)
    return _dumps(payload).encode()


def _message(message: Message) -> dict[str, Any]:
    if isinstance(message, SystemMessage):
        return {"role": "system", "content": message.content}
    if isinstance(message, UserMessage):
        sent: dict[str, Any] = {"role": "user", "content": message.content}
        if message.name:
            sent["name"] = _UNSAFE_NAME.sub("_", message.name)[:64]
        return sent
    if isinstance(message, AssistantMessage):
        return _assistant(message)
    return {"role": "tool", "tool_call_id": message.tool_call_id, "content": message.content}


def _assistant(message: AssistantMessage) -> dict[str, Any]:
    sent: dict[str, Any] = {"role": "assistant", "content": message.content}
    if message.tool_calls:
        sent["tool_calls"] = [_call(call) for call in message.tool_calls]
        # Providers ask for the reasoning behind a tool call; after a final answer it is dead weight.
        field = message.provider_extra.get(REASONING_FIELD)
        if message.reasoning and isinstance(field, str):
            sent[field] = message.reasoning
    if message.reasoning_blocks:
        sent["reasoning_details"] = list(message.reasoning_blocks)
    return sent


def _call(call: ToolCall) -> dict[str, Any]:
    return {
        **(call.extra or {}),
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": _dumps(call.arguments)},
    }


def _tool(tool: ToolDefinition) -> dict[str, Any]:
    schema = tool.input_schema or {"type": "object", "properties": {}}
    function = {"name": tool.name, "description": tool.description, "parameters": schema}
    return {"type": "function", "function": function}


def _mark(messages: list[dict[str, Any]], breakpoints: tuple[int, ...]) -> None:
    for index in breakpoints[:_MAX_MARKS]:
        message = messages[index] if 0 <= index < len(messages) else None
        if message is not None and message["content"] and isinstance(message["content"], str):
            message["content"] = [
                {"type": "text", "text": message["content"], "cache_control": _CACHE_MARK}
            ]


def _dumps(value: Any) -> str:
    """JSON in ASCII; NaN and infinities, which JSON does not have, become null."""
    try:
        return json.dumps(value, separators=(",", ":"), allow_nan=False)
    except ValueError:
        return json.dumps(_finite(value), separators=(",", ":"), allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value
