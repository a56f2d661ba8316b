"""Logs: one row of the table ``records`` per batch."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from psych_runtime.ids import RunId
from psych_runtime.ports.store import StoredRecord

from psych_runtime_sqlite import values


def insert(connection: sqlite3.Connection, order: int, base: int, bodies: Sequence[bytes]) -> None:
    """Store a batch; ``order`` is the Run's place in the table ``runs``."""
    if bodies:
        connection.execute(
            "INSERT INTO records (run, last, lengths, bodies) VALUES (?, ?, ?, ?)",
            (order, base + len(bodies), *values.from_bodies(bodies)),
        )


def load(
    connection: sqlite3.Connection, order: int, after: int, limit: int | None
) -> list[StoredRecord]:
    """Records with ``seq > after``, at most ``limit``."""
    found: list[StoredRecord] = []
    if limit is not None and limit <= 0:
        return found
    cursor = connection.execute(
        "SELECT last, lengths, bodies FROM records WHERE run = ? AND last > ? ORDER BY last",
        (order, after),
    )
    for last, lengths, bodies in cursor:
        found += (r for r in values.to_records(last, lengths, bodies) if r.seq > after)
        if limit is not None and len(found) >= limit:
            del found[limit:]
            break
    cursor.close()
    return found


def read(
    connection: sqlite3.Connection, run_id: RunId, after: int, limit: int | None
) -> list[StoredRecord]:
    """`load` by Run id; an unknown Run has no records."""
    row = connection.execute("SELECT ord FROM runs WHERE run_id = ?", (run_id,)).fetchone()
    return [] if row is None else load(connection, row[0], after, limit)


def remove(connection: sqlite3.Connection, order: int) -> None:
    """Remove a Run's whole log."""
    connection.execute("DELETE FROM records WHERE run = ?", (order,))
    connection.execute("DELETE FROM external_keys WHERE run = ?", (order,))
