"""The answer of a Run, apart from the work that led to it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from psych_runtime.ids import RunId, ToolCallId
from psych_runtime.log.records import (
    ModelCallFailed,
    ModelCallFinished,
    Record,
    ToolCallFinished,
    ToolCallStarted,
)
from psych_runtime.log.values import ModelToolCall, ToolOutcome
from psych_runtime.reads.model import ReadModel


class ToolCallView(ReadModel):
    """One tool call that the model asked for."""

    call_id: ToolCallId
    tool: str
    arguments: dict[str, Any]
    outcome: ToolOutcome | None = None
    """None while it is open."""
    result: Any = None
    """The result, unless it was too large to keep in the log."""
    failure_message: str | None = None
    duration_seconds: float | None = None
    started_at: datetime
    """When it started; while it has not, when the model asked for it (UTC)."""
    finished_at: datetime | None = None


class WorkTurn(ReadModel):
    """A model call that was not the answer, with the tool calls it asked for."""

    turn: int
    text: str = ""
    tool_calls: tuple[ToolCallView, ...] = ()
    failure_message: str | None = None
    """Why the model call failed, if it did."""
    at: datetime


class AnswerView(ReadModel):
    """What a Run says, and the work behind it.

    A workflow Run has no answer of its own; this is the last one of its agents.
    """

    run_id: RunId
    text: str = ""
    """The text of the last model call that asked for no tool."""
    work: tuple[WorkTurn, ...] = ()
    """Every other model call, in order, failed ones included."""
    finished: bool = False
    """Whether there is such a last call."""

    @property
    def tool_call_count(self) -> int:
        """How many tool calls the model asked for."""
        return sum(len(turn.tool_calls) for turn in self.work)

    def summary(self) -> str:
        """Return the work in words, such as ``2 turns, 1 tool call``; empty without any work."""
        if not self.work:
            return ""
        return f"{_count(len(self.work), 'turn')}, {_count(self.tool_call_count, 'tool call')}"


def answer_of(run_id: RunId, records: Iterable[Record]) -> AnswerView:
    """Return the answer that a log holds."""
    turns: list[ModelCallFinished | ModelCallFailed] = []
    started: dict[ToolCallId, ToolCallStarted] = {}
    finished: dict[ToolCallId, ToolCallFinished] = {}
    answer: ModelCallFinished | None = None
    for record in records:
        if isinstance(record, ModelCallFinished):
            turns.append(record)
            if not record.calls:
                answer = record
        elif isinstance(record, ModelCallFailed):
            turns.append(record)
        elif isinstance(record, ToolCallStarted):
            started[record.call_id] = record
        elif isinstance(record, ToolCallFinished):
            finished[record.call_id] = record
    work: list[WorkTurn] = []
    for turn in turns:
        if turn is answer:
            continue
        if isinstance(turn, ModelCallFailed):
            message = turn.failure.message
            work.append(WorkTurn(turn=turn.turn, failure_message=message, at=turn.at))
            continue
        calls = tuple(
            _call_view(call, turn.at, started.get(call.call_id), finished.get(call.call_id))
            for call in turn.calls
        )
        work.append(WorkTurn(turn=turn.turn, text=turn.text, tool_calls=calls, at=turn.at))
    return AnswerView(
        run_id=run_id,
        text=answer.text if answer else "",
        work=tuple(work),
        finished=answer is not None,
    )


def _call_view(
    call: ModelToolCall,
    asked_at: datetime,
    started: ToolCallStarted | None,
    finished: ToolCallFinished | None,
) -> ToolCallView:
    failure = finished.failure if finished else None
    return ToolCallView(
        call_id=call.call_id,
        tool=started.tool if started else call.name,
        arguments=started.arguments if started else call.arguments,
        outcome=finished.outcome if finished else None,
        result=finished.result if finished else None,
        failure_message=failure.message if failure else None,
        duration_seconds=finished.duration_seconds if finished else None,
        started_at=started.at if started else asked_at,
        finished_at=finished.at if finished else None,
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
