"""The messages of a conversation with the records they came from, and a turn being answered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from psych_runtime.ids import ToolCallId
from psych_runtime.log.records import ModelCallFinished, ToolCallFinished
from psych_runtime.log.values import ModelToolCall, ToolOutcome
from psych_runtime.ports.messages import AssistantMessage, Message, ToolCall, ToolResultMessage
from psych_runtime.reads.tool_text import NO_RESULT_TEXT, tool_result_text

UNNAMED = "<unnamed>"
"""Stands for the tool name of a call that came without one."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A message and the record it came from.

    Attributes:
        message: What the model sees.
        seq: The record's seq.
        at: The record's time (UTC).
        call_id: The Run's own id of the call that a tool result answers, else None.
        recorded: False for a stand-in result of a call that has none (yet).
        turn_seq: The record that the message stands or falls with when the log is compacted.
        call_ids: The Run's own ids of the calls that an assistant message asks for.
    """

    message: Message
    seq: int
    at: datetime
    call_id: ToolCallId | None = None
    recorded: bool = True
    turn_seq: int = 0
    call_ids: tuple[ToolCallId, ...] = ()


class OpenTurn:
    """A model turn and the results of its calls, in the model's order."""

    def __init__(self, record: ModelCallFinished) -> None:
        self.seq = record.seq
        ids = _wire_ids(record.calls)
        calls = tuple(
            ToolCall(
                id=wire,
                name=call.name or UNNAMED,
                arguments={} if call.problem else call.arguments,
                extra=call.extra or None,
            )
            for call, wire in zip(record.calls, ids, strict=True)
        )
        message = AssistantMessage(
            content=record.text,
            tool_calls=calls,
            reasoning=record.reasoning or None,
            reasoning_blocks=record.reasoning_blocks,
            provider_extra=record.provider_extra,
        )
        self.assistant = Entry(
            message, record.seq, record.at, turn_seq=record.seq, call_ids=record.tool_calls
        )
        self.results: dict[ToolCallId, Entry] = {
            call.call_id: Entry(
                ToolResultMessage(
                    tool_call_id=made.id, name=made.name, content=NO_RESULT_TEXT, is_error=True
                ),
                record.seq,
                record.at,
                call_id=call.call_id,
                recorded=False,
                turn_seq=record.seq,
            )
            for call, made in zip(record.calls, calls, strict=True)
        }
        self._missing = len(self.results)

    @property
    def complete(self) -> bool:
        """Whether every call has its result."""
        return self._missing == 0

    def answer(self, record: ToolCallFinished) -> Entry:
        """Put the result of one of its calls in place, and return it."""
        before = self.results[record.call_id]
        if not before.recorded:
            self._missing -= 1
        entry = result_entry(record, before)
        self.results[record.call_id] = entry
        if record.arguments is not None:
            self.assistant = with_arguments(self.assistant, record)
        return entry

    def entries(self) -> Iterator[Entry]:
        """Yield the assistant message and one result for each of its calls."""
        yield self.assistant
        yield from self.results.values()


def result_entry(record: ToolCallFinished, stand_in: Entry) -> Entry:
    """Return the recorded result that takes the place of its stand-in."""
    before = stand_in.message
    assert isinstance(before, ToolResultMessage)
    message = ToolResultMessage(
        tool_call_id=before.tool_call_id,
        name=before.name,
        content=tool_result_text(record),
        is_error=record.outcome is not ToolOutcome.OK,
    )
    return Entry(message, record.seq, record.at, record.call_id, turn_seq=stand_in.turn_seq)


def with_arguments(assistant: Entry, record: ToolCallFinished) -> Entry:
    """Return the assistant message with the arguments that a person gave the finished call."""
    message = assistant.message
    assert isinstance(message, AssistantMessage)
    calls = tuple(
        call.model_copy(update={"arguments": record.arguments}) if own == record.call_id else call
        for own, call in zip(assistant.call_ids, message.tool_calls, strict=True)
    )
    return replace(assistant, message=message.model_copy(update={"tool_calls": calls}))


def _wire_ids(calls: tuple[ModelToolCall, ...]) -> list[str]:
    """Return the id each call has for the model: the provider's own where it is unambiguous."""
    wanted = [call.wire_id or call.call_id for call in calls]
    times = Counter(wanted)
    own = {call.call_id for call in calls}
    return [
        wire if times[wire] == 1 and (wire == call.call_id or wire not in own) else call.call_id
        for call, wire in zip(calls, wanted, strict=True)
    ]
