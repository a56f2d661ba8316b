"""Admission and appends."""

from __future__ import annotations

from psych_runtime.errors import RunNotFound, SeqConflict
from psych_runtime.ids import RunId
from psych_runtime.ports.store import (
    Created,
    External,
    ExternalResult,
    Lease,
    NewRun,
    RunState,
    Transition,
    WakeKind,
)
from psych_runtime.store import rules

from psych_runtime_sqlite import queue, records, rows
from psych_runtime_sqlite.rows import RunRow
from psych_runtime_sqlite.writer import Write

_APPEND = (
    "UPDATE runs SET head_seq = head_seq + :added, batch_no = :batch, last_base = head_seq "
    "WHERE run_id = :run AND state = 'running' AND epoch = :epoch AND last_session = :session "
    "AND batch_no = :batch - 1 AND (:head IS NULL OR head_seq = :head) RETURNING ord, last_base"
)


def create(write: Write, run: NewRun, bodies: tuple[bytes, ...]) -> Created:
    """Admit a Run, or return the one admitted before."""
    existing = _existing(write, run)
    if existing is not None:
        if existing.scope.tenant != run.scope.tenant:
            raise SeqConflict(run.run_id, existing.head_seq)
        return Created(existing.as_header(), created=False)
    place = queue.for_new(write, run)
    order = rows.insert(write.connection, run, write.now, len(bodies), place)
    records.insert(write.connection, order, 0, bodies)
    if place is not None:
        write.hints.append((run.run_id, WakeKind.RUNNABLE))
    return Created(rules.Row(run, write.now, len(bodies)).header(None), created=True)


def _existing(write: Write, run: NewRun) -> RunRow | None:
    if run.idempotency_key is not None:
        found = rows.select(
            write.connection,
            "WHERE runs.tenant = ? AND runs.idempotency_key = ?",
            (run.scope.tenant, run.idempotency_key),
        )
        if found:
            return found[0]
    return rows.find(write.connection, run.run_id)


def append(
    write: Write,
    run_id: RunId,
    bodies: tuple[bytes, ...],
    lease: Lease,
    batch_no: int,
    strict_head: int | None,
    transition: Transition | None,
) -> int:
    """Append as the holder. The common case, no transition, is one conditional update."""
    if transition is None and batch_no > 0:
        done = write.connection.execute(
            _APPEND,
            {
                "added": len(bodies),
                "batch": batch_no,
                "run": run_id,
                "epoch": lease.epoch,
                "session": lease.session_id,
                "head": strict_head,
            },
        ).fetchone()
        if done is not None:
            order, base = done
            records.insert(write.connection, order, base, bodies)
            write.hints.append((run_id, WakeKind.RECORDS))
            return int(base)
    row = _found(write, run_id)
    applied = rules.check_append(row, lease, batch_no, strict_head, transition)
    if applied is not None:
        return applied
    base = _extend(write, row, bodies)
    row.batch_no = batch_no
    row.last_base = base
    write.hints.append((run_id, WakeKind.RECORDS))
    if transition is not None:
        rules.apply_transition(row, transition, write.now)
    queue.moved(write, row)
    return base


def append_external(write: Write, run_id: RunId, external: External) -> ExternalResult:
    """Append without holding the Run."""
    row = _found(write, run_id)
    known = write.connection.execute(
        "SELECT base, state FROM external_keys WHERE run = ? AND key = ?", (row.ord, external.key)
    ).fetchone()
    if known is not None:
        return ExternalResult(known[0], applied=False, state=RunState(known[1]))
    rules.check_external(row, external, held=row.held(write.now))
    base = _extend(write, row, external.bodies)
    rules.apply_external(row, external, write.now)
    write.hints.append((run_id, WakeKind.EXTERNAL))
    queue.moved(write, row)
    write.connection.execute(
        "INSERT INTO external_keys (run, key, base, state) VALUES (?, ?, ?, ?)",
        (row.ord, external.key, base, row.state.value),
    )
    return ExternalResult(base, applied=True, state=row.state)


def _found(write: Write, run_id: RunId) -> RunRow:
    row = rows.find(write.connection, run_id)
    if row is None:
        raise RunNotFound(run_id)
    return row


def _extend(write: Write, row: RunRow, bodies: tuple[bytes, ...]) -> int:
    base = row.head_seq
    row.head_seq = base + len(bodies)
    records.insert(write.connection, row.ord, base, bodies)
    return base
