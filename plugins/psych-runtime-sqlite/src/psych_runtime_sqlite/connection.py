"""Opening connections to the file."""

from __future__ import annotations

import sqlite3
import time

from psych_runtime.errors import StoreError, StoreUnavailable

from psych_runtime_sqlite import schema

BUSY_SECONDS = 30.0
"""How long a write waits for another process before `StoreUnavailable`."""

_OLDEST_SQLITE = (3, 35, 0)


def connect(path: str) -> sqlite3.Connection:
    """Open the file durably, creating and migrating it when needed.

    Raises:
        StoreError: The SQLite library is too old.
        StoreUnavailable: The file cannot be opened or is not a database.
        SchemaVersionError: A newer release wrote the file.
    """
    if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
        raise StoreError(
            f"SQLite {sqlite3.sqlite_version} is too old for this store, it needs 3.35 or newer"
        )
    try:
        # A fork closes the connection from another thread than the one that uses it.
        connection = sqlite3.connect(
            path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
    except sqlite3.Error as exc:
        raise StoreUnavailable(f"cannot open the SQLite file {path!r}: {exc}") from exc
    try:
        _use_wal(connection)
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA trusted_schema = OFF")
        schema.migrate(connection)
    except sqlite3.Error as exc:
        connection.close()
        raise StoreUnavailable(f"cannot open the SQLite file {path!r}: {exc}") from exc
    except BaseException:
        connection.close()
        raise
    return connection


def _use_wal(connection: sqlite3.Connection) -> None:
    # Two processes that create the file together can be told "locked" at once, whatever the
    # busy timeout says: the change of journal mode cannot wait for a lock without a deadlock.
    give_up = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as exc:
            if not is_busy(exc) or time.monotonic() > give_up:
                raise
            time.sleep(0.01)


def is_busy(exc: sqlite3.Error) -> bool:
    """Whether another connection was in the way."""
    code = getattr(exc, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
