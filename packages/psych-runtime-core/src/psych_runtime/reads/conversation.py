"""The conversation of one agent, as its model sees it: extended record by record, never rebuilt."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from psych_runtime.ids import RunId, StepId, ToolCallId
from psych_runtime.log.records import (
    AttemptStarted,
    CompactionApplied,
    ModelCallFailed,
    ModelCallFinished,
    ModelCallStarted,
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
from psych_runtime.log.values import ToolOutcome
from psych_runtime.ports.messages import (
    AssistantMessage,
    Message,
    ToolResultMessage,
    UserMessage,
)
from psych_runtime.reads.entries import Entry, OpenTurn, result_entry, with_arguments
from psych_runtime.reads.inputs import first_user_message
from psych_runtime.reads.tool_text import (
    failure_text,
    rendered,
)

__all__ = ["Conversation", "Entry", "build_conversation", "first_user_message"]

SUMMARY_HEADER = "Summary of the conversation so far (the messages themselves are not shown):"


class Conversation:
    """What a model sees of a log: an observer that is given each record once, in log order.

    Tool results stand in the model's own order, directly after the message that asked for them,
    whatever order they finished in. A user message that arrives while the model is being asked, or
    while calls are open, is placed after the answer and the last result. Every prefix of a log gives a conversation a provider accepts: a call
    without a result gets a stand-in.

    Args:
        step_id: The workflow agent step whose conversation this is; None for the Run's own agent.
    """

    def __init__(self, step_id: StepId | None = None) -> None:
        self.step_id = step_id
        self._closed: list[Entry] = []
        self._messages: list[Message] = []
        self._open: OpenTurn | None = None
        self._asking = False
        self._waiting: list[Entry] = []
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
            self._cached = (*self._messages, *(entry.message for entry in self._tail()))
        return self._cached

    def entries(self) -> Iterator[Entry]:
        """Yield the same messages, each with the record it came from."""
        yield from self._closed
        yield from self._tail()

    def _tail(self) -> Iterator[Entry]:
        if self._open is not None:
            yield from self._open.entries()
        yield from self._waiting

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

    def _asked(self, record: ModelCallStarted) -> None:
        if self._mine(record):
            self._asking = True

    def _answered(self, record: ModelCallFinished) -> None:
        if not self._mine(record):
            return
        self._asking = False
        if record.text or record.calls:
            self._close()
            self._open = OpenTurn(record)
        self._settle()

    def _failed(self, record: ModelCallFailed) -> None:
        if self._mine(record):
            self._asking = False
            self._settle()

    def _attempt(self, record: AttemptStarted) -> None:
        self._asking = False
        self._settle()

    def _finished(self, record: ToolCallFinished) -> None:
        if self._open is not None and record.call_id in self._open.results:
            entry = self._open.answer(record)
            self._settle()
        elif record.call_id in self._stand_ins:
            index = self._stand_ins.pop(record.call_id)
            entry = result_entry(record, self._closed[index])
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
        self._waiting.append(entry)
        self._settle()

    def _settle(self) -> None:
        """Close a turn whose calls are all answered; then let in what waited behind it."""
        if self._open is not None and self._open.complete:
            self._close()
        if self._open is None and not self._asking:
            for entry in self._waiting:
                self._append(entry)
            self._waiting.clear()

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
        self._replace(index, with_arguments(self._closed[index], record))

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
            self._asking = False
            self._waiting.clear()
            self._unknown.clear()


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
    AttemptStarted: Conversation._attempt,
    ModelCallStarted: Conversation._asked,
    ModelCallFinished: Conversation._answered,
    ModelCallFailed: Conversation._failed,
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
