"""The conversation as a model client sees it: five kinds of frozen message, text only."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

_FROZEN = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class SystemMessage(BaseModel):
    """What the model is told before the conversation."""

    model_config = _FROZEN

    role: Literal["system"] = "system"
    content: str


class UserMessage(BaseModel):
    """Something a person (or another agent, under ``name``) said."""

    model_config = _FROZEN

    role: Literal["user"] = "user"
    content: str
    name: str | None = None
    """Who said it, when there are several speakers."""


class ToolCall(BaseModel):
    """One tool call that the model asked for."""

    model_config = _FROZEN

    id: str = Field(min_length=1)
    """Answered by the `ToolResultMessage` with the same ``tool_call_id``."""
    name: str = Field(min_length=1)
    arguments: dict[str, Any] = Field(default_factory=dict)
    """Whole arguments. A call whose wire text was not a JSON object is kept with ``{}``."""
    extra: dict[str, Any] | None = None
    """Unknown fields the provider put on this call; a client sends them back unchanged."""


class AssistantMessage(BaseModel):
    """One model turn: text, tool calls, or both."""

    model_config = _FROZEN

    role: Literal["assistant"] = "assistant"
    content: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    reasoning: str | None = None
    """Reasoning text, sent back to providers that ask for it."""
    reasoning_blocks: tuple[dict[str, Any], ...] = ()
    """Opaque reasoning items (signed or encrypted), in order, sent back unchanged."""
    provider_extra: dict[str, Any] = Field(default_factory=dict)
    """Opaque facts about this turn that the client which wrote them needs to replay it."""


class ToolResultMessage(BaseModel):
    """The answer to one tool call."""

    model_config = _FROZEN

    role: Literal["tool"] = "tool"
    tool_call_id: str = Field(min_length=1)
    name: str = Field(min_length=1)
    content: str
    is_error: bool = False
    """The tool failed; ``content`` says how."""


Message = SystemMessage | UserMessage | AssistantMessage | ToolResultMessage
"""Anything a `ModelRequest` may hold."""
