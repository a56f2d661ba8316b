"""The conversation of one agent, as its model sees it: extended record by record, never rebuilt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from psych_runtime.ids import RunId, StepId, ToolCallId
from psych_runtime.log.records import (
    CompactionApplied,
    ModelCallFinished,
    QueueCancelled,
    QueueConsumed,
    QueueEnqueued,
    Record,
    RunAdmitted,
    StepCompleted,
    StepStarted,
    SubagentFinished,
    SubagentSpawned,
    ToolCallFinished,
    ToolResultLate,
)
from psych_runtime.log.values import ModelToolCall, ToolOutcome
from psych_runtime.ports.messages import (
    AssistantMessage,
    Message,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from psych_runtime.reads.inputs import first_user_message
from psych_runtime.reads.tool_text import (
    NO_RESULT_TEXT,
    failure_text,
    rendered,
    tool_result_text,
)

__all__ = ["Conversation", "Entry", "build_conversation", "first_user_message"]

UNNAMED = "<unnamed>"
"""Stands for the tool name of a call that came without one."""

SUMMARY_HEADER = "Summary of the conversation so far (the messages themselves are not shown):"


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


class Conversation:
    """What a model sees of a log: an observer that is given each record once, in log order.

    Tool results stand in the model's own order, directly after the message that asked for them,
    whatever order they finished in. A user message that arrives while calls are open is placed
    after the last result. Every prefix of a log gives a conversation a provider accepts: a call
    without a result gets a stand-in.

    Args:
        step_id: The workflow agent step whose conversation this is; None for the Run's own agent.
    """

    def __init__(self, step_id: StepId | None = None) -> None:
        self.step_id = step_id
        self._closed: list[Entry] = []
        self._messages: list[Message] = []
        self._open: _OpenTurn | None = None
        self._stand_ins: dict[ToolCallId, int] = {}
        self._unknown: dict[ToolCallId, str] = {}
        self._children: set[RunId] = set()
        self._queued: dict[str, dict[str, Any]] = {}
        self._run_input: tuple[str, RunAdmitted] | None = None
        self._step_over = True
        self._cached: tuple[Message, ...] | None = None

    # -- reading ------------------------------------------------------------------------------

    def messages(self) -> tuple[Message, ...]:
        """Return the conversation so far, without the system prompt."""
        if self._cached is None:
            if self._open is None:
                self._cached = tuple(self._messages)
            else:
                tail = (entry.message for entry in self._open.entries())
                self._cached = (*self._messages, *tail)
        return self._cached

    def entries(self) -> Iterator[Entry]:
        """Yield the same messages, each with the record it came from."""
        yield from self._closed
        if self._open is not None:
            yield from self._open.entries()

    # -- writing ------------------------------------------------------------------------------

    def add(self, record: Record, /) -> None:
        """Take one record in. Records that say nothing to this agent's model are passed over."""
        handler = _HANDLERS.get(type(record))
        if handler is not None:
            self._cached = None
            handler(self, record)

    def _mine(self, record: Any) -> bool:
        return bool(record.step_id == self.step_id)

    def _admitted(self, record: RunAdmitted) -> None:
        text = first_user_message(record.input)
        if text is None:
            return
        if self.step_id is None:
            self._say(text, record)
        else:
            self._run_input = (text, record)

    def _step_started(self, record: StepStarted) -> None:
        if self.step_id is None or not self._mine(record) or not self._step_over:
            return
        self._step_over = False
        self._forget()
        text = first_user_message(_mapped_input(record.input))
        if text is not None:
            self._say(text, record)
        elif self._run_input is not None:
            self._say(*self._run_input)

    def _step_completed(self, record: StepCompleted) -> None:
        if self._mine(record):
            self._step_over = True

    def _enqueued(self, record: QueueEnqueued) -> None:
        self._queued[record.entry_id] = record.payload

    def _cancelled(self, record: QueueCancelled) -> None:
        self._queued.pop(record.entry_id, None)

    def _consumed(self, record: QueueConsumed) -> None:
        payload = self._queued.pop(record.entry_id, None)
        if payload is None or not self._mine(record):
            return
        text = first_user_message(payload)
        if text is not None:
            self._say(text, record)

    def _answered(self, record: ModelCallFinished) -> None:
        if not self._mine(record) or not (record.text or record.calls):
            return
        self._close()
        turn = _OpenTurn(record)
        if not record.calls:
            self._append(turn.assistant)
            return
        self._open = turn

    def _finished(self, record: ToolCallFinished) -> None:
        if self._open is not None and record.call_id in self._open.results:
            entry = self._open.answer(record)
            if self._open.complete:
                self._close()
        elif record.call_id in self._stand_ins:
            index = self._stand_ins.pop(record.call_id)
            entry = _result(record, self._closed[index])
            self._replace(index, entry)
            if record.arguments is not None:
                self._correct(index, record)
        else:
            return
        if record.outcome is ToolOutcome.UNKNOWN:
            assert isinstance(entry.message, ToolResultMessage)
            self._unknown[record.call_id] = entry.message.name

    def _late(self, record: ToolResultLate) -> None:
        name = self._unknown.pop(record.call_id, None)
        if name is not None:
            self._say(_late_text(name, record), record)

    def _spawned(self, record: SubagentSpawned) -> None:
        if record.background and self._mine(record):
            self._children.add(record.child_run_id)

    def _child_finished(self, record: SubagentFinished) -> None:
        if record.child_run_id in self._children:
            self._children.discard(record.child_run_id)
            self._say(_child_text(record), record)

    def _compacted(self, record: CompactionApplied) -> None:
        if not self._mine(record):
            return
        text = f"{SUMMARY_HEADER}\n\n{record.summary}"
        kept = [entry for entry in self._closed if entry.turn_seq > record.replaced_to_seq]
        self._forget(keep_open=True)
        self._append(Entry(UserMessage(content=text), record.seq, record.at, turn_seq=-1))
        for entry in kept:
            if not entry.recorded and entry.call_id is not None:
                self._stand_ins[entry.call_id] = len(self._closed)
            self._append(entry)

    # -- the list -----------------------------------------------------------------------------

    def _say(self, text: str, record: Record) -> None:
        entry = Entry(UserMessage(content=text), record.seq, record.at, turn_seq=record.seq)
        if self._open is not None:
            self._open.waiting.append(entry)
        else:
            self._append(entry)

    def _append(self, entry: Entry) -> None:
        self._closed.append(entry)
        self._messages.append(entry.message)

    def _replace(self, index: int, entry: Entry) -> None:
        self._closed[index] = entry
        self._messages[index] = entry.message

    def _correct(self, index: int, record: ToolCallFinished) -> None:
        """Show the arguments that a person put in place in the message that asked for the call."""
        while not isinstance(self._messages[index], AssistantMessage):
            index -= 1
        self._replace(index, _with_arguments(self._closed[index], record))

    def _close(self) -> None:
        turn, self._open = self._open, None
        if turn is None:
            return
        for entry in turn.entries():
            if not entry.recorded and entry.call_id is not None:
                self._stand_ins[entry.call_id] = len(self._closed)
            self._append(entry)

    def _forget(self, *, keep_open: bool = False) -> None:
        self._closed.clear()
        self._messages.clear()
        self._stand_ins.clear()
        if not keep_open:
            self._open = None
            self._unknown.clear()


class _OpenTurn:
    """A model turn whose calls are not all answered, and what waits behind it."""

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
        self.waiting: list[Entry] = []
        self._missing = len(self.results)

    @property
    def complete(self) -> bool:
        return self._missing == 0

    def answer(self, record: ToolCallFinished) -> Entry:
        before = self.results[record.call_id]
        if not before.recorded:
            self._missing -= 1
        entry = _result(record, before)
        self.results[record.call_id] = entry
        if record.arguments is not None:
            self.assistant = _with_arguments(self.assistant, record)
        return entry

    def entries(self) -> Iterator[Entry]:
        yield self.assistant
        yield from self.results.values()
        yield from self.waiting


def _result(record: ToolCallFinished, stand_in: Entry) -> Entry:
    before = stand_in.message
    assert isinstance(before, ToolResultMessage)
    message = ToolResultMessage(
        tool_call_id=before.tool_call_id,
        name=before.name,
        content=tool_result_text(record),
        is_error=record.outcome is not ToolOutcome.OK,
    )
    return Entry(message, record.seq, record.at, record.call_id, turn_seq=stand_in.turn_seq)


def _with_arguments(assistant: Entry, record: ToolCallFinished) -> Entry:
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
        wire
        if times[wire] == 1 and (wire == call.call_id or wire not in own)
        else call.call_id
        for call, wire in zip(calls, wanted, strict=True)
    ]


def _mapped_input(recorded: dict[str, Any]) -> dict[str, Any]:
    mapped = recorded.get("input")
    if isinstance(mapped, dict):
        return mapped
    return {key: value for key, value in recorded.items() if key != "prior"}


def _late_text(name: str, record: ToolResultLate) -> str:
    head = f"The call of {name} whose outcome was not known has reported since:"
    if record.failure is not None:
        return f"{head} it failed. {failure_text(record.failure)}"
    return f"{head}\n{rendered(record.result)}"


def _child_text(record: SubagentFinished) -> str:
    head = f"Subagent {record.name!r} ({record.child_run_id}) finished: {record.state.value}."
    if record.failure is not None:
        return f"{head}\n{record.failure.message}"
    if not record.output:
        return head
    text = record.output.get("text")
    return f"{head}\n{text if isinstance(text, str) else rendered(record.output)}"


_HANDLERS: dict[type[Any], Callable[[Conversation, Any], None]] = {
    RunAdmitted: Conversation._admitted,
    StepStarted: Conversation._step_started,
    StepCompleted: Conversation._step_completed,
    QueueEnqueued: Conversation._enqueued,
    QueueCancelled: Conversation._cancelled,
    QueueConsumed: Conversation._consumed,
    ModelCallFinished: Conversation._answered,
    ToolCallFinished: Conversation._finished,
    ToolResultLate: Conversation._late,
    SubagentSpawned: Conversation._spawned,
    SubagentFinished: Conversation._child_finished,
    CompactionApplied: Conversation._compacted,
}


def build_conversation(
    records: Iterable[Record], *, step_id: StepId | None = None
) -> tuple[Message, ...]:
    """Return the conversation that a whole log holds."""
    conversation = Conversation(step_id)
    for record in records:
        conversation.add(record)
    return conversation.messages()
