"""The fold: records in, state out. Pure: no clock, no I/O, no randomness."""

from __future__ import annotations

from collections.abc import Iterable

from psych_runtime.ids import RunId, VersionHash
from psych_runtime.log.corruption import CorruptionReason
from psych_runtime.log.fold import children, model, queue, run, steps, tools, waits
from psych_runtime.log.fold.handlers import Handler
from psych_runtime.log.fold.refusing import UNKNOWN, refuse
from psych_runtime.log.fold.state import RunStateView
from psych_runtime.log.records import Record, RecordBase, RunAdmitted
from psych_runtime.scope import Scope

_HANDLERS: dict[type[RecordBase], Handler] = {
    **run.HANDLERS,
    **model.HANDLERS,
    **tools.HANDLERS,
    **waits.HANDLERS,
    **queue.HANDLERS,
    **steps.HANDLERS,
    **children.HANDLERS,
}


def initial_state(run_id: RunId, scope: Scope) -> RunStateView:
    """The state of a Run before its first record."""
    return RunStateView(run_id=run_id, scope=scope, version_hash=VersionHash(""))


def reduce(
    records: Iterable[Record],
    *,
    run_id: RunId | None = None,
    prior: RunStateView | None = None,
) -> RunStateView:
    """Fold ``records`` into a state.

    Args:
        records: In order, from record 1, or from ``prior.head_seq + 1``.
        run_id: The Run they must belong to; None takes the first record's.
        prior: An earlier fold to continue; it is not changed.

    Raises:
        CorruptLog: The records contradict one another.
        ValueError: There are no records and no ``prior``.
    """
    state = None if prior is None else prior.copy()
    if state is not None and run_id is not None and state.run_id != run_id:
        raise ValueError(f"prior is the state of {state.run_id}, not of {run_id}")
    for record in records:
        if state is None:
            state = initial_state(run_id or record.run_id, record.scope)
        fold(state, record)
    if state is None:
        raise ValueError("there is nothing to fold: no records and no prior state")
    return state


def fold(state: RunStateView, record: Record) -> None:
    """Fold one record into ``state``, in place. Atomic: a refused record changes nothing.

    Raises:
        CorruptLog: The record is impossible here.
    """
    if record.seq != state.head_seq + 1 and not state.settled:
        refuse(
            record,
            CorruptionReason.NON_CONSECUTIVE_SEQ,
            f"record {record.seq} follows {state.head_seq}",
        )
    fold_unsequenced(state, record)
    state.head_seq = record.seq


def fold_unsequenced(state: RunStateView, record: RecordBase) -> None:
    """Like `fold`, for a record whose final seq is not known: ``head_seq`` is left alone.

    Raises:
        CorruptLog: The record is impossible here.
    """
    check(state, record)
    apply = _HANDLERS[type(record)].apply
    if apply is not None:
        apply(state, record)


def check(state: RunStateView, record: RecordBase) -> None:
    """Raise what folding ``record`` would raise (its seq apart); change nothing.

    Raises:
        CorruptLog: The record is impossible here.
    """
    if record.run_id != state.run_id:
        refuse(record, UNKNOWN, f"a record of {record.run_id} in the log of {state.run_id}")
    if record.scope is not state.scope and record.scope.tenant != state.scope.tenant:
        refuse(record, UNKNOWN, "a record of another tenant")
    if state.settled:
        refuse(record, CorruptionReason.RECORD_AFTER_FINISH, "the Run has ended")
    if not state.admitted and type(record) is not RunAdmitted:
        refuse(record, UNKNOWN, "the Run was not admitted")
    own = _HANDLERS[type(record)].check
    if own is not None:
        own(state, record)
