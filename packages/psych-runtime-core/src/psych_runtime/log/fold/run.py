"""Folding what concerns a Run as a whole."""

from __future__ import annotations

from psych_runtime.log.fold.handlers import Handler
from psych_runtime.log.fold.parking import unpark
from psych_runtime.log.fold.refusing import MULTIPLE_OPEN, NON_CONSECUTIVE, refuse
from psych_runtime.log.fold.state import RunStateView
from psych_runtime.log.records import (
    AbortRequested,
    AttemptStarted,
    RecordBase,
    RunAdmitted,
    RunPaused,
    RunSettled,
    RunUnpaused,
)


def _check_admitted(state: RunStateView, record: RunAdmitted) -> None:
    if state.admitted:
        refuse(record, MULTIPLE_OPEN, "the Run was already admitted")


def _admitted(state: RunStateView, record: RunAdmitted) -> None:
    state.admitted = True
    state.admitted_at = record.at
    state.scope = record.scope
    state.version_hash = record.version_hash
    state.name = record.name
    state.run_input = record.input
    state.deadline_at = record.deadline_at
    state.idempotency_key = record.idempotency_key
    state.priority = record.priority
    state.concurrency_key = record.concurrency_key
    state.parent_run_id = record.parent_run_id
    state.delegation_depth = record.delegation_depth
    state.continues_run_id = record.continues_run_id
    state.forked_from_run_id = record.forked_from_run_id
    state.forked_at_seq = record.forked_at_seq
    state.replays_run_id = record.replays_run_id
    state.replay_from_step = record.replay_from_step
    state.breakpoints = record.breakpoints
    state.step_mode = record.step_mode


def _check_attempt(state: RunStateView, record: AttemptStarted) -> None:
    expected = state.attempt_count + 1
    if record.attempt_number != expected:
        refuse(record, NON_CONSECUTIVE, f"attempt {record.attempt_number} follows {expected - 1}")


def _attempt(state: RunStateView, record: AttemptStarted) -> None:
    state.attempt_count = record.attempt_number
    state.current_attempt = record.attempt_id
    state.resumed_since_attempt = False
    unpark(state, record.at)
    for activation in state.activations.values():
        if activation.model_call_open:
            state.unreported_model_calls += 1
        activation.turn_open = activation.model_call_open = False


def _abort(state: RunStateView, record: AbortRequested) -> None:
    if not state.aborted:
        state.aborted = True
        state.abort_seq = record.seq


def _paused(state: RunStateView, record: RunPaused | RunUnpaused) -> None:
    state.paused = isinstance(record, RunPaused)


def _settled(state: RunStateView, record: RunSettled) -> None:
    state.settled = True
    state.settled_at = record.at
    state.terminal_state = record.state
    state.output = record.output
    state.failure = record.failure
    state.orphaned_attempt_id = record.orphaned_attempt_id
    unpark(state, record.at)


HANDLERS: dict[type[RecordBase], Handler] = {
    RunAdmitted: Handler(_check_admitted, _admitted),
    AttemptStarted: Handler(_check_attempt, _attempt),
    AbortRequested: Handler(None, _abort),
    RunPaused: Handler(None, _paused),
    RunUnpaused: Handler(None, _paused),
    RunSettled: Handler(None, _settled),
}
"""By record class."""
