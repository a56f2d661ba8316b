"""Folding workflow steps and their compensation."""

from __future__ import annotations

from dataclasses import replace

from psych_runtime.log.corruption import CorruptionReason
from psych_runtime.log.fold.entries import Compensation, StepRecord
from psych_runtime.log.fold.handlers import Handler
from psych_runtime.log.fold.refusing import NON_CONSECUTIVE, refuse
from psych_runtime.log.fold.state import RunStateView
from psych_runtime.log.records import (
    CompensationFinished,
    CompensationStarted,
    RecordBase,
    StepCompleted,
    StepStarted,
)

_INCONSISTENT = CorruptionReason.INCONSISTENT_STEP


def _check_started(state: RunStateView, record: StepStarted) -> None:
    step = state.steps.get(record.step_id)
    if step is not None and step.settled:
        refuse(record, _INCONSISTENT, f"step {step.name!r} ({step.step_id}) has completed")
    expected = 1 if step is None else step.attempt_number + 1
    if record.attempt_number != expected:
        refuse(
            record,
            NON_CONSECUTIVE,
            f"attempt {record.attempt_number} of step {record.name!r} follows {expected - 1}",
        )


def _started(state: RunStateView, record: StepStarted) -> None:
    state.step_starts += 1
    state.steps[record.step_id] = StepRecord(
        step_id=record.step_id,
        name=record.name,
        kind=record.kind,
        attempt_number=record.attempt_number,
        input=record.input,
        started_at=record.at,
        started_seq=record.seq,
        path=record.path,
        parent_step_id=record.parent_step_id,
        iteration=record.iteration,
        replayed_from=record.replayed_from,
    )


def _check_completed(state: RunStateView, record: StepCompleted) -> None:
    step = state.steps.get(record.step_id)
    if step is None:
        refuse(record, _INCONSISTENT, f"step {record.step_id} never started")
    if step.completed:
        refuse(record, _INCONSISTENT, f"step {step.name!r} ({step.step_id}) has completed")


def _completed(state: RunStateView, record: StepCompleted) -> None:
    step = state.steps[record.step_id]
    state.steps[record.step_id] = replace(
        step,
        completed=True,
        output=record.output,
        failure=record.failure,
        child_run_id=record.child_run_id,
        skipped=record.skipped,
        will_retry=record.will_retry,
        retry_at=record.retry_at,
        completed_at=record.at,
        completed_seq=record.seq,
    )
    if step.kind == "set_state" and record.output and record.failure is None:
        state.workflow_state_updates.update(record.output)


def _check_compensation_started(state: RunStateView, record: CompensationStarted) -> None:
    step = state.steps.get(record.step_id)
    if step is None or not step.completed:
        refuse(record, _INCONSISTENT, f"step {record.step_id} has not completed")
    before = state.compensations.get(record.step_id)
    if before is not None and before.outcome is not None:
        refuse(record, _INCONSISTENT, f"step {record.step_id} was already compensated")


def _compensation_started(state: RunStateView, record: CompensationStarted) -> None:
    state.compensations[record.step_id] = Compensation(record.step_id, record.tool, record.call_id)


def _check_compensation_finished(state: RunStateView, record: CompensationFinished) -> None:
    running = state.compensations.get(record.step_id)
    if running is None or running.outcome is not None:
        refuse(record, _INCONSISTENT, f"no compensation of step {record.step_id} is running")


def _compensation_finished(state: RunStateView, record: CompensationFinished) -> None:
    state.compensations[record.step_id] = Compensation(
        record.step_id, record.tool, record.call_id, record.outcome, record.failure
    )


HANDLERS: dict[type[RecordBase], Handler] = {
    StepStarted: Handler(_check_started, _started),
    StepCompleted: Handler(_check_completed, _completed),
    CompensationStarted: Handler(_check_compensation_started, _compensation_started),
    CompensationFinished: Handler(_check_compensation_finished, _compensation_finished),
}
"""By record class."""
