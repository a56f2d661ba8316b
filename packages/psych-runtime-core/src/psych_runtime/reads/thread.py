"""A conversation over every Run of its chain, as a person reads it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Literal

from psych_runtime.ids import RunId, StepId, ToolCallId
from psych_runtime.log.records import ModelCallFinished, Record, StepStarted
from psych_runtime.ports.messages import AssistantMessage, ToolCall, ToolResultMessage, UserMessage
from psych_runtime.reads.conversation import Conversation, Entry
from psych_runtime.reads.model import ReadModel


class MessageView(ReadModel):
    """One message of a conversation."""

    role: Literal["user", "assistant", "tool"]
    content: str
    """The text the model sees."""
    run_id: RunId
    seq: int
    """The Record it comes from."""
    at: datetime
    tool_name: str | None = None
    """With role ``tool``."""
    tool_call_id: ToolCallId | None = None
    """With role ``tool``: the Run's own id of the call."""
    is_error: bool = False
    """With role ``tool``: the outcome was not ``ok``."""
    tool_calls: tuple[ToolCall, ...] = ()
    """With role ``assistant``: what it asked for, under the ids that the model knows."""


class ThreadView(ReadModel):
    """A conversation: its Runs, oldest first, and their messages."""

    run_ids: tuple[RunId, ...] = ()
    messages: tuple[MessageView, ...] = ()


def messages_of(run_id: RunId, records: Sequence[Record]) -> tuple[MessageView, ...]:
    """Return one Run's part of a conversation.

    Only recorded messages appear: no stand-in for a result that is still to come, and nothing
    that a program called by itself. Of a workflow, each agent step follows the ones that started
    before it.
    """
    seen: set[int] = set()
    views: list[MessageView] = []
    for step_id in _activations(records):
        conversation = Conversation(step_id)
        for record in records:
            conversation.add(record)
        entries = [entry for entry in conversation.entries() if entry.recorded]
        fresh = [entry for entry in entries if entry.turn_seq not in seen]
        views.extend(_view(run_id, entry) for entry in fresh)
        seen.update(entry.turn_seq for entry in entries if entry.turn_seq > 0)
    return tuple(views)


def _activations(records: Iterable[Record]) -> list[StepId | None]:
    """Return the Run's own agent, then each agent step in the order of its first start."""
    found: dict[StepId | None, None] = {None: None}
    for record in records:
        if (isinstance(record, StepStarted) and record.kind == "agent") or isinstance(
            record, ModelCallFinished
        ):
            found.setdefault(record.step_id)
    return list(found)


def _view(run_id: RunId, entry: Entry) -> MessageView:
    message = entry.message
    assert isinstance(message, UserMessage | AssistantMessage | ToolResultMessage)
    if isinstance(message, ToolResultMessage):
        return MessageView(
            role="tool",
            content=message.content,
            run_id=run_id,
            seq=entry.seq,
            at=entry.at,
            tool_name=message.name,
            tool_call_id=entry.call_id,
            is_error=message.is_error,
        )
    return MessageView(
        role=message.role,
        content=message.content,
        run_id=run_id,
        seq=entry.seq,
        at=entry.at,
        tool_calls=message.tool_calls if isinstance(message, AssistantMessage) else (),
    )
