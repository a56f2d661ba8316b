"""Folding child Runs."""

from __future__ import annotations

from dataclasses import replace

from psych_runtime.log.fold.entries import ChildRun
from psych_runtime.log.fold.handlers import Handler
from psych_runtime.log.fold.refusing import MULTIPLE_OPEN, UNKNOWN, refuse
from psych_runtime.log.fold.state import RunStateView
from psych_runtime.log.records import (
    RecordBase,
    SubagentFinished,
    SubagentMessaged,
    SubagentSpawned,
)


def _check_spawned(state: RunStateView, record: SubagentSpawned) -> None:
    if record.child_run_id in state.children:
        refuse(record, MULTIPLE_OPEN, f"child {record.child_run_id} was already started")
    if record.name in state.live_child_names:
        refuse(record, MULTIPLE_OPEN, f"a child named {record.name!r} is alive")


def _spawned(state: RunStateView, record: SubagentSpawned) -> None:
    state.live_child_names[record.name] = record.child_run_id
    state.children[record.child_run_id] = ChildRun(
        run_id=record.child_run_id,
        name=record.name,
        call_id=record.call_id,
        version_hash=record.child_version_hash,
        depth=record.delegation_depth,
        background=record.background,
        tools=record.tools,
        model=record.model,
        spawned_seq=record.seq,
    )


def _check_messaged(state: RunStateView, record: SubagentMessaged) -> None:
    if record.child_run_id not in state.children:
        refuse(record, UNKNOWN, f"there is no child {record.child_run_id}")


def _messaged(state: RunStateView, record: SubagentMessaged) -> None:
    child = state.children[record.child_run_id]
    state.children[record.child_run_id] = replace(child, messages_sent=child.messages_sent + 1)


def _check_finished(state: RunStateView, record: SubagentFinished) -> None:
    child = state.children.get(record.child_run_id)
    if child is None:
        refuse(record, UNKNOWN, f"there is no child {record.child_run_id}")
    if not child.alive:
        refuse(record, MULTIPLE_OPEN, f"child {record.child_run_id} had already ended")


def _finished(state: RunStateView, record: SubagentFinished) -> None:
    child = state.children[record.child_run_id]
    state.live_child_names.pop(child.name, None)
    state.children[record.child_run_id] = replace(
        child,
        terminal_state=record.state,
        output=record.output,
        failure=record.failure,
        usage=record.usage,
        unreported_usage_calls=record.unreported_usage_calls,
        cost=record.cost,
        unpriced_model_calls=record.unpriced_model_calls,
        finished_seq=record.seq,
    )


HANDLERS: dict[type[RecordBase], Handler] = {
    SubagentSpawned: Handler(_check_spawned, _spawned),
    SubagentMessaged: Handler(_check_messaged, _messaged),
    SubagentFinished: Handler(_check_finished, _finished),
}
"""By record class."""
