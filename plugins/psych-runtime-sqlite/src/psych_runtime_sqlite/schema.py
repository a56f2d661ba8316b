"""The tables, and how an older file is brought up to date."""

from __future__ import annotations

import sqlite3

from psych_runtime.errors import SchemaVersionError

_VERSION_1 = (
    """
    CREATE TABLE runs (
        ord INTEGER PRIMARY KEY AUTOINCREMENT,
        run_id TEXT NOT NULL UNIQUE,
        tenant TEXT NOT NULL,
        scope TEXT NOT NULL,
        version_hash TEXT NOT NULL,
        name TEXT NOT NULL,
        idempotency_key TEXT,
        priority INTEGER NOT NULL,
        concurrency_key TEXT,
        parent_run_id TEXT,
        delegation_depth INTEGER NOT NULL,
        continues_run_id TEXT,
        created_at INTEGER NOT NULL,
        deadline_at INTEGER NOT NULL,
        state TEXT NOT NULL,
        head_seq INTEGER NOT NULL,
        epoch INTEGER NOT NULL DEFAULT 0,
        batch_no INTEGER NOT NULL DEFAULT 0,
        crashes INTEGER NOT NULL DEFAULT 0,
        session_id TEXT,
        lease_holder TEXT,
        aborted INTEGER NOT NULL DEFAULT 0,
        waits TEXT,
        suspended_at INTEGER,
        outbox TEXT,
        terminal_state TEXT,
        settled_at INTEGER,
        purged INTEGER NOT NULL DEFAULT 0,
        runnable_after INTEGER,
        last_base INTEGER NOT NULL DEFAULT 0,
        last_session TEXT,
        queue INTEGER,
        next_wait_at INTEGER
    )
    """,
    """
    CREATE UNIQUE INDEX runs_key ON runs (tenant, idempotency_key)
        WHERE idempotency_key IS NOT NULL
    """,
    "CREATE INDEX runs_listed ON runs (tenant, ord)",
    "CREATE INDEX runs_urgent ON runs (ord) WHERE queue = 1",
    "CREATE INDEX runs_ready ON runs (tenant, priority DESC, ord) WHERE queue = 2",
    "CREATE INDEX runs_parked ON runs (runnable_after) WHERE queue = 3",
    """
    CREATE INDEX runs_line ON runs (tenant, concurrency_key, ord)
        WHERE concurrency_key IS NOT NULL AND state <> 'settled'
    """,
    "CREATE INDEX runs_held ON runs (session_id) WHERE session_id IS NOT NULL",
    "CREATE INDEX runs_deadline ON runs (deadline_at) WHERE state IN ('runnable', 'running')",
    "CREATE INDEX runs_waits ON runs (next_wait_at) WHERE next_wait_at IS NOT NULL",
    "CREATE INDEX runs_outbox ON runs (ord) WHERE outbox IS NOT NULL",
    "CREATE INDEX runs_aborted ON runs (ord) WHERE aborted = 1 AND state <> 'settled'",
    "CREATE INDEX runs_parent ON runs (parent_run_id) WHERE parent_run_id IS NOT NULL",
    "CREATE INDEX runs_previous ON runs (continues_run_id) WHERE continues_run_id IS NOT NULL",
    """
    CREATE INDEX runs_purgeable ON runs (tenant, settled_at)
        WHERE state = 'settled' AND purged = 0
    """,
    """
    CREATE TABLE records (
        run INTEGER NOT NULL,
        last INTEGER NOT NULL,
        lengths TEXT NOT NULL,
        bodies BLOB NOT NULL,
        PRIMARY KEY (run, last)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE external_keys (
        run INTEGER NOT NULL,
        key TEXT NOT NULL,
        base INTEGER NOT NULL,
        state TEXT NOT NULL,
        PRIMARY KEY (run, key)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE sessions (
        session_id TEXT PRIMARY KEY,
        worker_id TEXT NOT NULL,
        expires_at INTEGER NOT NULL,
        closed INTEGER NOT NULL DEFAULT 0
    ) WITHOUT ROWID
    """,
    "CREATE INDEX sessions_open ON sessions (expires_at) WHERE closed = 0",
    "CREATE TABLE versions (hash TEXT PRIMARY KEY, document TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE ring (one INTEGER PRIMARY KEY CHECK (one = 1), tenant TEXT NOT NULL)",
    "INSERT INTO ring VALUES (1, '')",
    """
    CREATE TABLE changes (
        id INTEGER PRIMARY KEY,
        origin TEXT NOT NULL,
        run_id TEXT NOT NULL,
        kind TEXT NOT NULL
    )
    """,
)

MIGRATIONS: tuple[tuple[str, ...], ...] = (_VERSION_1,)
"""The statements that lead from each version to the next; never edited once released."""

SCHEMA_VERSION = len(MIGRATIONS)
"""The schema version this adapter reads and writes."""


def found_version(connection: sqlite3.Connection) -> int:
    """Return the schema version of the file; 0 when it is empty."""
    row = connection.execute("PRAGMA user_version").fetchone()
    return int(row[0])


def migrate(connection: sqlite3.Connection) -> None:
    """Bring the file to `SCHEMA_VERSION`, in one transaction that another process may race.

    Raises:
        SchemaVersionError: A newer release wrote the file.
    """
    if found_version(connection) == SCHEMA_VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        found = found_version(connection)
        if found > SCHEMA_VERSION:
            raise SchemaVersionError(found, SCHEMA_VERSION)
        for statements in MIGRATIONS[found:]:
            for statement in statements:
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION:d}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
