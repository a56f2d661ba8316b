"""Headers as rows of the table ``runs``."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from psych_runtime.ids import RunId, VersionHash, WorkerId
from psych_runtime.ports.store import NewRun, RunHeader, RunState
from psych_runtime.store.rules import Row

from psych_runtime_sqlite import values

_COLUMNS = [
    "ord",
    "run_id",
    "scope",
    "version_hash",
    "name",
    "idempotency_key",
    "priority",
    "concurrency_key",
    "parent_run_id",
    "delegation_depth",
    "continues_run_id",
    "created_at",
    "deadline_at",
    "state",
    "head_seq",
    "epoch",
    "batch_no",
    "crashes",
    "session_id",
    "lease_holder",
    "aborted",
    "waits",
    "suspended_at",
    "outbox",
    "terminal_state",
    "settled_at",
    "purged",
    "runnable_after",
    "last_base",
    "last_session",
    "queue",
]

_SELECT = (
    f"SELECT {', '.join(f'runs.{column}' for column in _COLUMNS)}, holder.expires_at, "
    "holder.closed FROM runs {hint} LEFT JOIN sessions AS holder "
    "ON holder.session_id = runs.session_id"
)

_UPDATE = (
    "UPDATE runs SET deadline_at = ?, state = ?, head_seq = ?, epoch = ?, batch_no = ?, "
    "crashes = ?, session_id = ?, lease_holder = ?, aborted = ?, waits = ?, suspended_at = ?, "
    "outbox = ?, terminal_state = ?, settled_at = ?, runnable_after = ?, last_base = ?, "
    "last_session = ?, queue = ?, next_wait_at = ? WHERE ord = ?"
)

_UPDATE_TAKEN = (
    "UPDATE runs SET state = ?, epoch = ?, batch_no = ?, crashes = ?, session_id = ?, "
    "lease_holder = ?, runnable_after = ?, last_base = ?, last_session = ?, queue = ? WHERE ord = ?"
)

_INSERT = (
    "INSERT INTO runs (run_id, tenant, scope, version_hash, name, idempotency_key, priority, "
    "concurrency_key, parent_run_id, delegation_depth, continues_run_id, created_at, deadline_at, "
    "state, head_seq, queue) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING ord"
)


class RunRow(Row):
    """A header as loaded, with its place in the table.

    Attributes:
        ord: Admission order, the row's key.
        queue: Where claimers find it: 1 urgent, 2 ready, 3 parked, None nowhere.
        expires_at: When the holder's session lapses.
        holder_closed: The holder's session is closed for good.
    """

    __slots__ = ("expires_at", "holder_closed", "ord", "queue")

    def __init__(self, columns: Sequence[Any]) -> None:
        (
            self.ord,
            run_id,
            scope,
            version_hash,
            self.name,
            self.idempotency_key,
            self.priority,
            self.concurrency_key,
            self.parent_run_id,
            self.delegation_depth,
            self.continues_run_id,
            created_at,
            deadline_at,
            state,
            self.head_seq,
            self.epoch,
            self.batch_no,
            self.crashes,
            self.session_id,
            holder,
            aborted,
            waits,
            suspended_at,
            outbox,
            self.terminal_state,
            settled_at,
            purged,
            runnable_after,
            self.last_base,
            self.last_session,
            self.queue,
            expires_at,
            closed,
        ) = columns
        self.run_id = RunId(run_id)
        self.scope = values.to_scope(scope)
        self.version_hash = VersionHash(version_hash)
        self.created_at = values.to_time(created_at)
        self.deadline_at = values.to_time(deadline_at)
        self.state = RunState(state)
        self.lease_holder = None if holder is None else WorkerId(holder)
        self.aborted = bool(aborted)
        self.waits = values.to_waits(waits)
        self.suspended_at = values.to_optional_time(suspended_at)
        self.outbox = values.to_outbox(outbox)
        self.settled_at = values.to_optional_time(settled_at)
        self.purged = bool(purged)
        self.runnable_after = values.to_optional_time(runnable_after)
        self.expires_at: datetime | None = values.to_optional_time(expires_at)
        self.holder_closed = bool(closed)

    def held(self, now: datetime) -> bool:
        """Whether a live session holds it."""
        return self.expires_at is not None and not self.holder_closed and self.expires_at > now

    def as_header(self) -> RunHeader:
        """The frozen header."""
        return self.header(self.expires_at if self.session_id is not None else None)


def select(
    connection: sqlite3.Connection, tail: str, parameters: Sequence[Any], *, index: str = ""
) -> list[RunRow]:
    """Load the rows that ``tail`` (``WHERE …``) selects, by way of ``index`` when one is named."""
    hint = f"INDEXED BY {index}" if index else ""
    cursor = connection.execute(f"{_SELECT.format(hint=hint)} {tail}", parameters)
    return [RunRow(columns) for columns in cursor.fetchall()]


def find(connection: sqlite3.Connection, run_id: RunId) -> RunRow | None:
    """Load one row, or None."""
    rows = select(connection, "WHERE runs.run_id = ?", (run_id,))
    return rows[0] if rows else None


def insert(
    connection: sqlite3.Connection, run: NewRun, now: datetime, head_seq: int, queue: int | None
) -> int:
    """Insert a new header and return its key."""
    parameters = (
        run.run_id,
        run.scope.tenant,
        values.from_scope(run.scope),
        run.version_hash,
        run.name,
        run.idempotency_key,
        run.priority,
        run.concurrency_key,
        run.parent_run_id,
        run.delegation_depth,
        run.continues_run_id,
        values.from_time(now),
        values.from_time(run.deadline_at),
        RunState.RUNNABLE.value,
        head_seq,
        queue,
    )
    (order,) = connection.execute(_INSERT, parameters).fetchone()
    return int(order)


def save(connection: sqlite3.Connection, row: RunRow) -> None:
    """Write a changed row back."""
    connection.execute(
        _UPDATE,
        (
            values.from_time(row.deadline_at),
            row.state.value,
            row.head_seq,
            row.epoch,
            row.batch_no,
            row.crashes,
            row.session_id,
            row.lease_holder,
            row.aborted,
            values.from_waits(row.waits),
            values.from_optional_time(row.suspended_at),
            values.from_outbox(row.outbox),
            row.terminal_state,
            values.from_optional_time(row.settled_at),
            values.from_optional_time(row.runnable_after),
            row.last_base,
            row.last_session,
            row.queue,
            values.from_optional_time(min(_wait_times(row), default=None)),
            row.ord,
        ),
    )


def save_taken(connection: sqlite3.Connection, row: RunRow) -> None:
    """Write a row back after a claim, which leaves most of it, and its indexes, alone."""
    connection.execute(
        _UPDATE_TAKEN,
        (
            row.state.value,
            row.epoch,
            row.batch_no,
            row.crashes,
            row.session_id,
            row.lease_holder,
            values.from_optional_time(row.runnable_after),
            row.last_base,
            row.last_session,
            row.queue,
            row.ord,
        ),
    )


def _wait_times(row: RunRow) -> Iterator[datetime]:
    if row.state is RunState.SETTLED:
        return
    for wait in row.waits:
        yield wait.expires_at
        if wait.wake_at is not None:
            yield wait.wake_at
