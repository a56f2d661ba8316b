"""Where claimers find a Run: the column ``queue``."""

from __future__ import annotations

from psych_runtime.ports.store import NewRun, RunState, WakeKind

from psych_runtime_sqlite import rows
from psych_runtime_sqlite.rows import RunRow
from psych_runtime_sqlite.writer import Write

URGENT = 1
"""Aborted: claimed before all others."""
READY = 2
"""Claimable, in its tenant's turn."""
PARKED = 3
"""Claimable once ``runnable_after`` has passed."""


def for_new(write: Write, run: NewRun) -> int | None:
    """The place of a Run that is being admitted."""
    if run.concurrency_key is None or _head(write, run.scope.tenant, run.concurrency_key) is None:
        return READY
    return None


def moved(write: Write, row: RunRow) -> None:
    """Place a changed Run, write it back, and let the next of its concurrency key go."""
    if row.state is RunState.RUNNABLE:
        row.queue = _place(write, row)
        if row.queue in (URGENT, READY):
            write.hints.append((row.run_id, WakeKind.RUNNABLE))
    elif row.state is RunState.RUNNING and row.holder_closed:
        row.queue = _place(write, row)
    else:
        row.queue = None
    rows.save(write.connection, row)
    if row.state is RunState.SETTLED and row.concurrency_key is not None:
        _promote(write, row.scope.tenant, row.concurrency_key)


def offer_lost(write: Write, row: RunRow) -> None:
    """Place a Run whose session was closed under it."""
    row.queue = _place(write, row)
    rows.save(write.connection, row)


def unpark(write: Write, now: int) -> None:
    """Place the Runs whose ``runnable_after`` has passed."""
    due = rows.select(write.connection, "WHERE runs.queue = 3 AND runs.runnable_after <= ?", (now,))
    for row in due:
        row.queue = _place(write, row)
        rows.save(write.connection, row)


def _place(write: Write, row: RunRow) -> int | None:
    if row.runnable_after is not None and row.runnable_after > write.now:
        return PARKED
    if row.aborted:
        return URGENT
    key = row.concurrency_key
    if key is not None and _head(write, row.scope.tenant, key) != row.ord:
        return None
    return READY


def _head(write: Write, tenant: str, concurrency_key: str) -> int | None:
    found = write.connection.execute(
        "SELECT ord FROM runs WHERE tenant = ? AND concurrency_key = ? "
        "AND concurrency_key IS NOT NULL AND state <> 'settled' ORDER BY ord LIMIT 1",
        (tenant, concurrency_key),
    ).fetchone()
    return None if found is None else int(found[0])


def _promote(write: Write, tenant: str, concurrency_key: str) -> None:
    order = _head(write, tenant, concurrency_key)
    if order is None:
        return
    (head,) = rows.select(write.connection, "WHERE runs.ord = ?", (order,))
    if head.state is RunState.RUNNABLE and head.queue is None:
        moved(write, head)
