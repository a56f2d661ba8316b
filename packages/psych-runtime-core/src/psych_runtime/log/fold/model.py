"""Folding prompts, turns, model calls and compaction."""

from __future__ import annotations

from psych_runtime.log.corruption import CorruptionReason
from psych_runtime.log.fold.entries import PromptDefinition, UnansweredCall
from psych_runtime.log.fold.handlers import Handler
from psych_runtime.log.fold.metering import add_usage, check_cost
from psych_runtime.log.fold.refusing import MULTIPLE_OPEN, NON_CONSECUTIVE, UNKNOWN, refuse
from psych_runtime.log.fold.state import Activation, RunStateView
from psych_runtime.log.records import (
    CompactionApplied,
    ModelCallFailed,
    ModelCallFinished,
    ModelCallStarted,
    PromptDefined,
    RecordBase,
    TurnStarted,
)
from psych_runtime.spec.usage import Usage


def _prompt(state: RunStateView, record: PromptDefined) -> None:
    state.prompts.setdefault(record.digest, PromptDefinition(record.system_prompt, record.tools))


def _check_turn(state: RunStateView, record: TurnStarted) -> None:
    activation = state.activations.get(record.step_id)
    if activation is not None and activation.turn_open:
        refuse(record, MULTIPLE_OPEN, f"turn {activation.turn} is still open")
    if record.turn != state.turn + 1:
        refuse(record, NON_CONSECUTIVE, f"turn {record.turn} follows {state.turn}")


def _turn(state: RunStateView, record: TurnStarted) -> None:
    state.turn = record.turn
    activation = state.activations.get(record.step_id)
    if activation is None:
        activation = state.activations[record.step_id] = Activation(record.step_id)
    activation.turn = record.turn
    activation.turns += 1
    activation.turn_open = True


def _check_call_started(state: RunStateView, record: ModelCallStarted) -> None:
    activation = state.activations.get(record.step_id)
    if activation is None or not activation.turn_open or activation.turn != record.turn:
        refuse(record, UNKNOWN, f"turn {record.turn} is not open")
    if activation.model_call_open:
        refuse(record, MULTIPLE_OPEN, f"turn {record.turn} already waits for a model")
    if record.prompt_digest is not None and record.prompt_digest not in state.prompts:
        refuse(record, UNKNOWN, f"no prompt {record.prompt_digest!r} was defined")


def _call_started(state: RunStateView, record: ModelCallStarted) -> None:
    state.activations[record.step_id].model_call_open = True


def _check_call_over(state: RunStateView, record: ModelCallFinished | ModelCallFailed) -> None:
    activation = state.activations.get(record.step_id)
    if activation is None or not activation.model_call_open or activation.turn != record.turn:
        refuse(record, UNKNOWN, f"no model call of turn {record.turn} is open")
    check_cost(state, record, record.cost)


def _check_call_finished(state: RunStateView, record: ModelCallFinished) -> None:
    _check_call_over(state, record)
    if not record.calls:
        return
    asked = set()
    for call in record.calls:
        call_id = call.call_id
        if (
            call_id in asked
            or call_id in state.unanswered_calls
            or call_id in state.open_tool_calls
            or call_id in state.result_positions
        ):
            refuse(
                record,
                CorruptionReason.DUPLICATE_TOOL_INVOCATION,
                f"call id {call_id!r} is in use",
            )
        asked.add(call_id)


def _call_finished(state: RunStateView, record: ModelCallFinished) -> None:
    usage = record.usage
    activation = _close(state, record)
    activation.transient_retries = 0
    state.model_calls += 1
    add_usage(state, usage, reported=record.usage_reported, cost=record.cost)
    activation.last_prompt_tokens = usage.input + usage.cache_read + usage.cache_write
    state.last_prompt_tokens = activation.last_prompt_tokens
    for call in record.calls:
        state.unanswered_calls[call.call_id] = UnansweredCall(call, record.turn, record.step_id)


def _call_failed(state: RunStateView, record: ModelCallFailed) -> None:
    activation = _close(state, record)
    state.failed_model_calls += 1
    if record.will_retry:
        state.transient_retries_used += 1
        activation.transient_retries += 1
    else:
        activation.transient_retries = 0
    if record.usage is not None:
        state.answering_failed_calls += 1
        add_usage(state, record.usage, reported=record.usage_reported, cost=record.cost)
    elif record.text or record.timings.time_to_first_token_seconds is not None:
        # It had begun to answer: that cost something, and nobody said how much.
        state.answering_failed_calls += 1
        add_usage(state, Usage(), reported=False, cost=None)


def _close(state: RunStateView, record: ModelCallFinished | ModelCallFailed) -> Activation:
    activation = state.activations[record.step_id]
    activation.model_call_open = activation.turn_open = False
    return activation


def _check_compaction(state: RunStateView, record: CompactionApplied) -> None:
    boundary = state.activation(record.step_id).compaction_boundary_seq
    first, last = record.replaced_from_seq, record.replaced_to_seq
    if not boundary < first <= last <= state.head_seq:
        refuse(
            record,
            CorruptionReason.INVALID_COMPACTION_REASON,
            f"records {first} to {last} cannot be replaced: {boundary} are already, "
            f"{state.head_seq} are written",
        )
    check_cost(state, record, record.cost)


def _compaction(state: RunStateView, record: CompactionApplied) -> None:
    activation = state.activations.get(record.step_id)
    if activation is None:
        activation = state.activations[record.step_id] = Activation(record.step_id)
    activation.compaction_boundary_seq = record.replaced_to_seq
    activation.compaction_summary = record.summary
    state.compaction_boundary_seq = max(state.compaction_boundary_seq, record.replaced_to_seq)
    state.compaction_summaries.append(record.summary)
    state.compaction_calls += 1
    add_usage(state, record.usage, reported=record.usage_reported, cost=record.cost)


HANDLERS: dict[type[RecordBase], Handler] = {
    PromptDefined: Handler(None, _prompt),
    TurnStarted: Handler(_check_turn, _turn),
    ModelCallStarted: Handler(_check_call_started, _call_started),
    ModelCallFinished: Handler(_check_call_finished, _call_finished),
    ModelCallFailed: Handler(_check_call_over, _call_failed),
    CompactionApplied: Handler(_check_compaction, _compaction),
}
"""By record class."""
