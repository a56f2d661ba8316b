"""Listing Runs, removing old logs, and the Versions."""

from __future__ import annotations

import sqlite3
from datetime import datetime
from typing import Any

from psych_runtime.ids import VersionHash
from psych_runtime.ports.store import RunFilter, RunPage
from psych_runtime.spec.version import Version

from psych_runtime_sqlite import records, rows, values
from psych_runtime_sqlite.writer import Write

_PURGEABLE = (
    "SELECT ord FROM runs WHERE tenant = ? AND state = 'settled' AND purged = 0 "
    "AND settled_at < ? AND outbox IS NULL "
    "AND NOT EXISTS (SELECT 1 FROM runs AS child "
    "WHERE child.parent_run_id = runs.run_id AND child.state <> 'settled') "
    "AND NOT EXISTS (SELECT 1 FROM runs AS next "
    "WHERE next.continues_run_id = runs.run_id AND next.state <> 'settled') "
    "ORDER BY settled_at LIMIT ?"
)


def list_runs(
    connection: sqlite3.Connection, tenant: str, where: RunFilter, limit: int, before: int | None
) -> RunPage:
    """One page, newest first."""
    terms = ["runs.tenant = ?"]
    parameters: list[Any] = [tenant]

    def add(term: str, *values_: Any) -> None:
        terms.append(term)
        parameters.extend(values_)

    if before is not None:
        add("runs.ord < ?", before)
    if where.states:
        add(f"runs.state IN ({_marks(len(where.states))})", *(s.value for s in where.states))
    if where.terminal_states:
        add(
            f"runs.terminal_state IN ({_marks(len(where.terminal_states))})", *where.terminal_states
        )
    if where.name is not None:
        add("runs.name = ?", where.name)
    if where.version_hash is not None:
        add("runs.version_hash = ?", where.version_hash)
    if where.created_after is not None:
        add("runs.created_at > ?", values.from_time(where.created_after))
    if where.created_before is not None:
        add("runs.created_at < ?", values.from_time(where.created_before))
    if where.parent_run_id is not None:
        add("runs.parent_run_id = ?", where.parent_run_id)
    if where.continues_run_id is not None:
        add("runs.continues_run_id = ?", where.continues_run_id)
    for key, value in where.labels:
        add(
            "EXISTS (SELECT 1 FROM json_each(runs.scope, '$[2]') AS label "
            "WHERE label.key = ? AND label.value = ?)",
            key,
            value,
        )
    tail = f"WHERE {' AND '.join(terms)} ORDER BY runs.ord DESC LIMIT ?"
    found = rows.select(connection, tail, (*parameters, limit + 1))
    page = found[:limit]
    return RunPage(
        tuple(row.as_header() for row in page),
        str(page[-1].ord) if page and len(found) > limit else None,
    )


def purge(write: Write, before: datetime, tenant: str, limit: int) -> int:
    """Remove the logs of up to ``limit`` Runs settled before ``before``."""
    chosen = write.connection.execute(
        _PURGEABLE, (tenant, values.from_time(before), limit)
    ).fetchall()
    for (order,) in chosen:
        write.connection.execute("UPDATE runs SET purged = 1 WHERE ord = ?", (order,))
        records.remove(write.connection, order)
    return len(chosen)


def put_version(write: Write, version_hash: VersionHash, document: str) -> None:
    """Store a Version's document once."""
    write.connection.execute(
        "INSERT INTO versions (hash, document) VALUES (?, ?) ON CONFLICT (hash) DO NOTHING",
        (version_hash, document),
    )


def get_version(connection: sqlite3.Connection, version_hash: VersionHash) -> Version | None:
    """Load a Version, or None."""
    row = connection.execute(
        "SELECT document FROM versions WHERE hash = ?", (version_hash,)
    ).fetchone()
    return None if row is None else Version.import_json(row[0])


def _marks(count: int) -> str:
    return ", ".join("?" * count)
