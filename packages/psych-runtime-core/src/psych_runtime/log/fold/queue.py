"""Folding messages and signals."""

from __future__ import annotations

from psych_runtime.log.corruption import CorruptionReason
from psych_runtime.log.fold.entries import PendingQueueEntry, PendingSignal
from psych_runtime.log.fold.handlers import Handler
from psych_runtime.log.fold.refusing import refuse
from psych_runtime.log.fold.state import RunStateView
from psych_runtime.log.records import (
    QueueCancelled,
    QueueConsumed,
    QueueEnqueued,
    RecordBase,
    SignalConsumed,
    SignalReceived,
)
from psych_runtime.log.values import QueueKind

_MISMATCH = CorruptionReason.PROVISIONED_ENTRY_MISMATCH


def _check_enqueued(state: RunStateView, record: QueueEnqueued) -> None:
    if state.aborted and record.queue is not QueueKind.NEXT_RUN:
        refuse(
            record,
            CorruptionReason.QUEUE_AFTER_ABORT,
            f"a {record.queue} message was accepted after the abort",
        )
    if record.entry_id in state.used_entry_ids:
        refuse(record, _MISMATCH, f"entry {record.entry_id!r} was already queued")


def _enqueued(state: RunStateView, record: QueueEnqueued) -> None:
    state.used_entry_ids.add(record.entry_id)
    state.pending_queue[record.entry_id] = PendingQueueEntry(
        record.entry_id, record.queue, record.payload, record.seq
    )


def _check_cancelled(state: RunStateView, record: QueueCancelled) -> None:
    if record.entry_id not in state.pending_queue:
        refuse(
            record,
            CorruptionReason.INVALID_QUEUE_CANCELLATION,
            f"entry {record.entry_id!r} is not pending",
        )


def _check_consumed(state: RunStateView, record: QueueConsumed) -> None:
    if record.entry_id not in state.pending_queue:
        refuse(record, _MISMATCH, f"entry {record.entry_id!r} is not pending")


def _removed(state: RunStateView, record: QueueCancelled | QueueConsumed) -> None:
    del state.pending_queue[record.entry_id]


def _check_signal(state: RunStateView, record: SignalReceived) -> None:
    if record.signal_id in state.used_signal_ids:
        refuse(record, _MISMATCH, f"signal {record.signal_id!r} was already received")


def _signal(state: RunStateView, record: SignalReceived) -> None:
    state.used_signal_ids.add(record.signal_id)
    state.signals[record.signal_id] = PendingSignal(
        record.signal_id, record.name, record.payload, record.by, record.seq
    )


def _check_signal_taken(state: RunStateView, record: SignalConsumed) -> None:
    if record.signal_id not in state.signals:
        refuse(record, _MISMATCH, f"signal {record.signal_id!r} is not pending")


def _signal_taken(state: RunStateView, record: SignalConsumed) -> None:
    del state.signals[record.signal_id]


HANDLERS: dict[type[RecordBase], Handler] = {
    QueueEnqueued: Handler(_check_enqueued, _enqueued),
    QueueCancelled: Handler(_check_cancelled, _removed),
    QueueConsumed: Handler(_check_consumed, _removed),
    SignalReceived: Handler(_check_signal, _signal),
    SignalConsumed: Handler(_check_signal_taken, _signal_taken),
}
"""By record class."""
