"""Worker sessions and claims."""

from __future__ import annotations

import sqlite3
from datetime import timedelta

from psych_runtime.errors import LeaseLost
from psych_runtime.ports.store import Claim, WakeKind, WorkerSession
from psych_runtime.store import rules

from psych_runtime_sqlite import queue, records, rows, values
from psych_runtime_sqlite.rows import RunRow
from psych_runtime_sqlite.writer import Write

_RENEW = (
    "INSERT INTO sessions (session_id, worker_id, expires_at) VALUES (?, ?, ?) "
    "ON CONFLICT (session_id) DO UPDATE SET expires_at = excluded.expires_at "
    "WHERE closed = 0 RETURNING session_id"
)

_LAPSED = (
    "SELECT session_id, EXISTS (SELECT 1 FROM runs WHERE runs.session_id = sessions.session_id) "
    "FROM sessions WHERE closed = 0 AND expires_at <= ?"
)


def renew(write: Write, session: WorkerSession) -> bool:
    """Create or renew a session; False when it was closed."""
    expires_at = write.now + timedelta(seconds=session.lease_seconds)
    done = write.connection.execute(
        _RENEW, (session.session_id, session.worker_id, values.from_time(expires_at))
    ).fetchone()
    return done is not None


def end(write: Write, session_id: str) -> None:
    """Close a session for good and hand its Runs back."""
    held = [row for row in _held(write.connection, session_id) if not row.holder_closed]
    _close(write, session_id)
    for row in held:
        rules.release(row)
        write.hints.append((row.run_id, WakeKind.RECORDS))
        queue.moved(write, row)


def claim(write: Write, session: WorkerSession, limit: int, log_limit: int) -> list[Claim]:
    """Take up to ``limit`` Runs for ``session``."""
    if not renew(write, session):
        raise LeaseLost(f"of session {session.session_id}", session.worker_id)
    now = values.from_time(write.now)
    _close_lapsed(write, now)
    queue.unpark(write, now)
    claims: list[Claim] = []
    for row in _urgent(write, limit):
        claims.append(_take(write, row, session, log_limit))
    turn = first_turn = _turn(write)
    while len(claims) < limit:
        row_or_none = _ready(write, turn)
        if row_or_none is None:
            if not turn:
                break
            turn = ""
            continue
        turn = row_or_none.scope.tenant
        claims.append(_take(write, row_or_none, session, log_limit))
    if turn and turn != first_turn:
        write.connection.execute("UPDATE ring SET tenant = ?", (turn,))
    return claims


def held(connection: sqlite3.Connection, session_id: str) -> list[Claim]:
    """The Runs a session holds."""
    return [
        Claim(row.as_header()) for row in _held(connection, session_id) if not row.holder_closed
    ]


def _held(connection: sqlite3.Connection, session_id: str) -> list[RunRow]:
    return rows.select(connection, "WHERE runs.session_id = ? ORDER BY runs.ord", (session_id,))


def _close(write: Write, session_id: str) -> None:
    # A session that never was is closed too: it must not come alive after its end.
    write.connection.execute(
        "INSERT INTO sessions (session_id, worker_id, expires_at, closed) VALUES (?, '', 0, 1) "
        "ON CONFLICT (session_id) DO UPDATE SET closed = 1",
        (session_id,),
    )


def _close_lapsed(write: Write, now: int) -> None:
    for session_id, holds in write.connection.execute(_LAPSED, (now,)).fetchall():
        if not holds:
            # Nothing depends on it: forgotten, a late heartbeat simply makes it anew.
            write.connection.execute("DELETE FROM sessions WHERE session_id = ?", (session_id,))
            continue
        _close(write, session_id)
        for row in _held(write.connection, session_id):
            queue.offer_lost(write, row)


def _urgent(write: Write, limit: int) -> list[RunRow]:
    return rows.select(
        write.connection, "WHERE runs.queue = 1 ORDER BY runs.ord LIMIT ?", (max(limit, 0),)
    )


def _ready(write: Write, after_tenant: str) -> RunRow | None:
    found = rows.select(
        write.connection,
        "WHERE runs.queue = 2 AND runs.tenant > ? "
        "ORDER BY runs.tenant, runs.priority DESC, runs.ord LIMIT 1",
        (after_tenant,),
        index="runs_ready",
    )
    return found[0] if found else None


def _turn(write: Write) -> str:
    return str(write.connection.execute("SELECT tenant FROM ring").fetchone()[0])


def _take(write: Write, row: RunRow, session: WorkerSession, log_limit: int) -> Claim:
    reclaimed = rules.take(row, session.session_id, session.worker_id)
    row.queue = None
    rows.save_taken(write.connection, row)
    row.expires_at = write.now + timedelta(seconds=session.lease_seconds)
    log = None
    if row.head_seq <= log_limit:
        log = tuple(records.load(write.connection, row.ord, 0, None))
    return Claim(row.as_header(), reclaimed, log)
