"""Folding tool calls, and what tools show."""

from __future__ import annotations

from dataclasses import replace

from psych_runtime.log.corruption import CorruptionReason
from psych_runtime.log.fold.entries import (
    LateResult,
    OpenToolCall,
    Progress,
    RepeatTally,
    ToolResult,
)
from psych_runtime.log.fold.handlers import Handler
from psych_runtime.log.fold.refusing import NON_CONSECUTIVE, UNKNOWN, refuse
from psych_runtime.log.fold.repetition import call_key, result_digest
from psych_runtime.log.fold.state import RunStateView
from psych_runtime.log.records import (
    ComponentShown,
    PolicyDecided,
    RecordBase,
    TaskListUpdated,
    ToolCallFinished,
    ToolCallReconciled,
    ToolCallRetried,
    ToolCallStarted,
    ToolProgress,
    ToolResultLate,
)
from psych_runtime.log.values import ToolOutcome

PROGRAM_TOOL = "run_code"
"""The tool whose calls run programs that call tools themselves."""
READ_TOOL = "read_tool_output"
"""The tool that reads a result by its handle."""
NOT_THE_TOOLS_FAULT = frozenset({"not_executed", "denied", "approval_expired", "duplicate_call_id"})
"""Failure kinds of calls that never ran: they say nothing about the tool."""


def _check_started(state: RunStateView, record: ToolCallStarted) -> None:
    call_id = record.call_id
    if call_id in state.open_tool_calls or call_id in state.result_positions:
        refuse(
            record,
            CorruptionReason.DUPLICATE_TOOL_INVOCATION,
            f"call {call_id!r} was already started",
        )
    activation = state.activations.get(record.step_id)
    if activation is not None and activation.turn:
        if record.turn != activation.turn:
            refuse(record, UNKNOWN, f"turn {record.turn} is not the current turn {activation.turn}")
    elif record.turn > max(state.turn, 1):
        refuse(record, UNKNOWN, f"there was no turn {record.turn}")
    parent = record.parent_call_id
    if parent is not None and parent not in state.open_tool_calls:
        refuse(record, UNKNOWN, f"the program's call {parent!r} is not open")


def _started(state: RunStateView, record: ToolCallStarted) -> None:
    call_id = record.call_id
    state.open_tool_calls[call_id] = OpenToolCall(
        call_id,
        record.tool,
        record.arguments,
        record.turn,
        record.step_id,
        record.interruptible,
        record.safe_to_retry,
        record.at,
        record.read_only,
        record.attempt_number,
        record.parent_call_id,
        None,
        state.attempt_count,
    )
    if record.parent_call_id is not None:
        state.program_binding_call_ids.add(call_id)
        state.program_tool_calls += 1
    elif record.tool == PROGRAM_TOOL:
        state.program_call_ids.add(call_id)


def _check_retried(state: RunStateView, record: ToolCallRetried) -> None:
    _check_open(state, record)
    expected = state.open_tool_calls[record.call_id].attempt_number + 1
    if record.attempt_number != expected:
        refuse(
            record,
            NON_CONSECUTIVE,
            f"attempt {record.attempt_number} of call {record.call_id!r} follows {expected - 1}",
        )


def _retried(state: RunStateView, record: ToolCallRetried) -> None:
    call = state.open_tool_calls[record.call_id]
    state.open_tool_calls[record.call_id] = replace(
        call, attempt_number=record.attempt_number, attempt_count=state.attempt_count
    )


def _reconciled(state: RunStateView, record: ToolCallReconciled) -> None:
    call = state.open_tool_calls[record.call_id]
    state.open_tool_calls[record.call_id] = replace(call, verdict=record.verdict)


def _check_open(
    state: RunStateView, record: ToolCallRetried | ToolCallReconciled | ToolCallFinished
) -> None:
    if record.call_id not in state.open_tool_calls:
        refuse(record, CorruptionReason.TOOL_CALL_MISMATCH, f"call {record.call_id!r} is not open")


def _check_known(state: RunStateView, record: ToolProgress | ToolResultLate) -> None:
    call_id = record.call_id
    if call_id not in state.open_tool_calls and call_id not in state.result_positions:
        refuse(record, CorruptionReason.TOOL_CALL_MISMATCH, f"call {call_id!r} was never started")


def _progress(state: RunStateView, record: ToolProgress) -> None:
    if record.call_id in state.open_tool_calls:
        state.tool_progress[record.call_id] = Progress(
            record.message, record.fraction, record.data, record.at
        )


def _check_finished(state: RunStateView, record: ToolCallFinished) -> None:
    _check_open(state, record)
    call = state.open_tool_calls[record.call_id]
    if (
        call.tool == READ_TOOL
        and record.outcome is ToolOutcome.OK
        and call.parent_call_id is None
        # A continued or forked Run may read the handles of the Run it comes from.
        and state.continues_run_id is None
        and state.forked_from_run_id is None
    ):
        handle = (record.arguments or call.arguments).get("handle")
        if handle not in state.result_handles:
            refuse(
                record,
                CorruptionReason.INVALID_DEFERRED_HANDLE,
                f"no result of this Run has the handle {handle!r}",
            )


def _finished(state: RunStateView, record: ToolCallFinished) -> None:
    call_id = record.call_id
    call = state.open_tool_calls.pop(call_id)
    state.unanswered_calls.pop(call_id, None)
    state.tool_progress.pop(call_id, None)
    state.result_positions[call_id] = len(state.tool_results)
    state.tool_results.append(
        ToolResult(
            call_id,
            call.tool,
            record.outcome,
            record.result,
            record.failure,
            record.duration_seconds,
            record.result_handle,
            record.preview,
            call.turn,
            record.result_blob_key,
            record.result_content_type,
            record.attachments,
            record.parts,
            call.step_id,
            call.parent_call_id,
            record.reconciled,
            record.arguments,
        )
    )
    if record.result_handle is not None:
        state.result_handles[record.result_handle] = call_id
    for attachment in record.attachments:
        state.result_handles[attachment.handle] = call_id
    _count_program(state, call, record)
    _count_outcome(state, call, record)


def _count_program(state: RunStateView, call: OpenToolCall, record: ToolCallFinished) -> None:
    if call.parent_call_id is not None:
        state.program_binding_call_ids.discard(call.call_id)
    elif call.tool != PROGRAM_TOOL:
        return
    if record.result_handle is not None:
        state.program_preserved_bytes += record.result_bytes
    state.program_preserved_bytes += sum(item.size_bytes for item in record.attachments)


def _count_outcome(state: RunStateView, call: OpenToolCall, record: ToolCallFinished) -> None:
    tool = call.tool
    if record.outcome is ToolOutcome.OK:
        state.failure_streaks.pop(tool, None)
        key = call_key(tool, call.arguments if record.arguments is None else record.arguments)
        digest = result_digest(record)
        before = state.repeat_counts.get(key)
        count = before.count + 1 if before is not None and before.result_digest == digest else 1
        state.repeat_counts[key] = RepeatTally(digest, count)
    elif record.outcome is not ToolOutcome.ABORTED and (
        record.failure is None or record.failure.kind not in NOT_THE_TOOLS_FAULT
    ):
        state.failure_streaks[tool] = state.failure_streaks.get(tool, 0) + 1


def _late(state: RunStateView, record: ToolResultLate) -> None:
    state.late_results.setdefault(
        record.call_id,
        LateResult(record.outcome, record.result, record.failure, record.duration_seconds),
    )


def _tasks(state: RunStateView, record: TaskListUpdated) -> None:
    state.tasks = record.tasks


def _component(state: RunStateView, record: ComponentShown) -> None:
    state.components.append(record.component)


HANDLERS: dict[type[RecordBase], Handler] = {
    PolicyDecided: Handler(None, None),
    ToolCallStarted: Handler(_check_started, _started),
    ToolCallRetried: Handler(_check_retried, _retried),
    ToolCallReconciled: Handler(_check_open, _reconciled),
    ToolProgress: Handler(_check_known, _progress),
    ToolCallFinished: Handler(_check_finished, _finished),
    ToolResultLate: Handler(_check_known, _late),
    TaskListUpdated: Handler(None, _tasks),
    ComponentShown: Handler(None, _component),
}
"""By record class."""
