"""Reads: their own connection, a consistent snapshot for all that are queued together."""

from __future__ import annotations

import sqlite3

from psych_runtime_sqlite.lane import Job, Lane, translated


class Reader(Lane):
    """Runs reads; each one gets the connection."""

    def _perform(self, connection: sqlite3.Connection, jobs: list[Job]) -> None:
        connection.execute("BEGIN")
        try:
            for job in jobs:
                try:
                    job.result = job.work(connection)
                except Exception as exc:
                    job.error = translated(exc)
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")

    def _after(self, jobs: list[Job]) -> None:
        """Nothing follows a read."""
