"""Answers for the calls that a Run leaves open when it ends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from psych_runtime.log.fold.state import RunStateView
from psych_runtime.log.records import RecordBase, ToolCallFinished, ToolCallStarted
from psych_runtime.log.values import ToolFailure, ToolOutcome


def closing_records(
    state: RunStateView, why: str
) -> Iterator[tuple[type[RecordBase], dict[str, Any]]]:
    """What to write so that every call of ``state`` is answered, as (record type, fields).

    A call that had started is `unknown`: it may or may not have happened. One that had not is
    `not_executed`.
    """
    for asked in list(state.unanswered_calls.values()):
        if asked.call_id in state.open_tool_calls:
            continue
        yield (
            ToolCallStarted,
            {
                "call_id": asked.call_id,
                "tool": asked.name or "<unnamed>",
                "arguments": asked.arguments,
                "turn": asked.turn,
                "step_id": asked.step_id,
                "read_only": True,
            },
        )
        yield (
            ToolCallFinished,
            {
                "call_id": asked.call_id,
                "outcome": ToolOutcome.ERROR,
                "failure": ToolFailure(kind="not_executed", message=why),
                "step_id": asked.step_id,
            },
        )
    for call in list(state.open_tool_calls.values()):
        yield (
            ToolCallFinished,
            {
                "call_id": call.call_id,
                "outcome": ToolOutcome.UNKNOWN,
                "failure": ToolFailure(kind="orphaned", message=why),
                "step_id": call.step_id,
            },
        )
