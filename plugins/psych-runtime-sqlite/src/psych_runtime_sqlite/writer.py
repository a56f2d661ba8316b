"""Writes: one thread, all that are queued in one transaction, each in a savepoint of its own."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable
from datetime import datetime

from psych_runtime.ids import RunId
from psych_runtime.ports.store import WakeKind
from psych_runtime.store.wakeups import Wakeups

from psych_runtime_sqlite.lane import Job, Lane, translated

WATCH_SECONDS = 0.1
"""How often, while somebody listens, the file is checked for writes of other processes."""

_CHANGES_KEPT = 10_000
_CHANGES_READ = 1_000


class Write:
    """What one write works with.

    Attributes:
        connection: Inside the transaction.
        now: The store's clock, read once the file was locked.
        hints: Wake-ups to send when the transaction has been committed.
    """

    __slots__ = ("connection", "hints", "now")

    def __init__(self, connection: sqlite3.Connection, now: datetime) -> None:
        self.connection = connection
        self.now = now
        self.hints: list[tuple[RunId, WakeKind]] = []


class Writer(Lane):
    """The only thread of this process that writes to the file.

    Attributes:
        commits: Transactions committed so far.
    """

    def __init__(
        self, path: str, name: str, clock: Callable[[], datetime], wakeups: Wakeups
    ) -> None:
        self.commits = 0
        self._clock = clock
        self._wakeups = wakeups
        self._origin = os.urandom(8).hex()
        self._watched: int | None = None
        self._data_version = 0
        self._next_look = 0.0
        super().__init__(path, name)

    def _perform(self, connection: sqlite3.Connection, jobs: list[Job]) -> None:
        try:
            # Waits for other processes as long as the connection's timeout allows.
            connection.execute("BEGIN IMMEDIATE")
            now = self._clock()
            for job in jobs:
                self._attempt(connection, job, now)
            self._record_changes(connection, jobs)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        self.commits += 1

    def _attempt(self, connection: sqlite3.Connection, job: Job, now: datetime) -> None:
        write = Write(connection, now)
        connection.execute("SAVEPOINT job")
        try:
            job.result = job.work(write)
        except Exception as exc:
            if not connection.in_transaction:
                # A full disk or an I/O error has rolled back everybody's work, not just this one's.
                raise
            connection.execute("ROLLBACK TO job")
            job.error = translated(exc)
        else:
            job.hints = write.hints
        connection.execute("RELEASE job")

    def _record_changes(self, connection: sqlite3.Connection, jobs: list[Job]) -> None:
        rows = [(self._origin, run_id, kind.value) for job in jobs for run_id, kind in job.hints]
        if not rows:
            return
        connection.executemany("INSERT INTO changes (origin, run_id, kind) VALUES (?, ?, ?)", rows)
        newest = _newest_change(connection)
        if newest % 1000 < len(rows):
            connection.execute("DELETE FROM changes WHERE id <= ?", (newest - _CHANGES_KEPT,))

    def _after(self, jobs: list[Job]) -> None:
        self._wakeups.send([hint for job in jobs if job.error is None for hint in job.hints])
        if self._wakeups.wanted and time.monotonic() >= self._next_look:
            self._next_look = time.monotonic() + WATCH_SECONDS
            self._look_around()

    # -- other processes ---------------------------------------------------------------------

    def _connected(self) -> sqlite3.Connection:
        fresh = self._connection is None
        connection = super()._connected()
        if fresh:
            self._data_version = 0
            if self._watched is None:
                self._watched = _newest_change(connection)
        return connection

    def _idle_seconds(self) -> float | None:
        if not self._wakeups.wanted:
            return None
        return max(0.0, self._next_look - time.monotonic())

    def _look_around(self) -> None:
        with self._gate:
            try:
                hints = self._foreign_changes()
            except Exception:
                # Hints are never needed for correctness; the next call reports the failure.
                return
        self._wakeups.send(hints)

    def _foreign_changes(self) -> list[tuple[RunId, WakeKind]]:
        connection = self._connected()
        version = connection.execute("PRAGMA data_version").fetchone()[0]
        if version == self._data_version:
            return []
        self._data_version = version
        rows = connection.execute(
            "SELECT id, origin, run_id, kind FROM changes WHERE id > ? ORDER BY id DESC LIMIT ?",
            (self._watched, _CHANGES_READ),
        ).fetchall()
        if rows:
            self._watched = rows[0][0]
        return [
            (run_id, WakeKind(kind))
            for _, origin, run_id, kind in reversed(rows)
            if origin != self._origin
        ]


def _newest_change(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT COALESCE(MAX(id), 0) FROM changes").fetchone()[0])
