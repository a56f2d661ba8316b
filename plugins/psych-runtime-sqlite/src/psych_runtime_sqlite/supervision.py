"""What falls due."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import datetime
from itertools import chain, zip_longest
from typing import Any

from psych_runtime.ports.store import Due, DueKind

from psych_runtime_sqlite import rows, values
from psych_runtime_sqlite.rows import RunRow

_UNHELD = (
    "(runs.session_id IS NULL OR holder.session_id IS NULL OR holder.closed = 1 "
    "OR holder.expires_at <= ?)"
)


class Rounds:
    """Finds due Runs; looks further on each time, so that none is starved by others that stay."""

    def __init__(self) -> None:
        self._after: dict[str, int] = {}

    def due(self, connection: sqlite3.Connection, limit: int, now: datetime) -> list[Due]:
        """Up to ``limit`` duties, of every kind in turn."""
        at = values.from_time(now)

        def kind(where: str, index: str, parameters: Sequence[Any]) -> list[RunRow]:
            return self._next(connection, where, index, parameters, limit)

        aborted = kind(
            f"runs.aborted = 1 AND runs.state <> 'settled' AND {_UNHELD}", "runs_aborted", (at,)
        )
        late = kind(
            "runs.state IN ('runnable', 'running') AND runs.deadline_at <= ? AND " + _UNHELD,
            "runs_deadline",
            (at, at),
        )
        waiting = kind(
            "runs.next_wait_at IS NOT NULL AND runs.next_wait_at <= ?", "runs_waits", (at,)
        )
        owing = kind("runs.outbox IS NOT NULL", "runs_outbox", ())
        lists = (
            [Due(row.as_header(), DueKind.ABORTED) for row in aborted],
            [Due(row.as_header(), DueKind.DEADLINE) for row in late],
            [due for row in waiting for due in _waits_due(row, now)],
            [Due(row.as_header(), DueKind.OUTBOX) for row in owing],
        )
        mixed = chain.from_iterable(zip_longest(*lists))
        return [due for due in mixed if due is not None][:limit]

    def _next(
        self,
        connection: sqlite3.Connection,
        where: str,
        index: str,
        parameters: Sequence[Any],
        limit: int,
    ) -> list[RunRow]:
        tail = f"WHERE {where} AND runs.ord {{}} ? ORDER BY runs.ord LIMIT ?"
        after = self._after.get(index, 0)
        found = rows.select(connection, tail.format(">"), (*parameters, after, limit), index=index)
        if after and len(found) < limit:
            found += rows.select(
                connection,
                tail.format("<="),
                (*parameters, after, limit - len(found)),
                index=index,
            )
        self._after[index] = found[-1].ord if len(found) == limit and found else 0
        return found


def next_due_at(connection: sqlite3.Connection) -> datetime | None:
    """When the next timer, expiry, parked Run or lease lapse falls due."""
    candidates = (
        "SELECT MIN(next_wait_at) FROM runs WHERE next_wait_at IS NOT NULL",
        "SELECT MIN(runnable_after) FROM runs WHERE queue = 3",
        "SELECT expires_at FROM sessions WHERE closed = 0 AND EXISTS "
        "(SELECT 1 FROM runs WHERE runs.session_id = sessions.session_id) "
        "ORDER BY expires_at LIMIT 1",
    )
    found = [connection.execute(candidate).fetchone() for candidate in candidates]
    return values.to_optional_time(
        min((row[0] for row in found if row is not None and row[0] is not None), default=None)
    )


def _waits_due(row: RunRow, now: datetime) -> list[Due]:
    header = row.as_header()
    due: list[Due] = []
    if any(wait.wake_at is not None and wait.wake_at <= now for wait in row.waits):
        due.append(Due(header, DueKind.TIMER))
    if any(wait.expires_at <= now for wait in row.waits):
        due.append(Due(header, DueKind.WAIT_EXPIRED))
    return due
