"""The two threads of one store in one process."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from datetime import datetime
from typing import cast

from psych_runtime.ports.store import Listener
from psych_runtime.store.wakeups import Wakeups

from psych_runtime_sqlite.reader import Reader
from psych_runtime_sqlite.writer import Write, Writer


class Engine:
    """A writer and a reader on one file; belongs to the process that made it.

    Attributes:
        pid: That process.
        writer: The writing thread.
    """

    def __init__(self, path: str, clock: Callable[[], datetime]) -> None:
        self.pid = os.getpid()
        self._wakeups = Wakeups()
        name = f"psych-sqlite {os.path.basename(path)}"
        self.writer = Writer(path, f"{name} writer", clock, self._wakeups)
        self._reader = Reader(path, f"{name} reader")

    async def open(self) -> None:
        """Have both threads open the file, creating and migrating it when needed."""
        await self.writer.call(lambda write: None)
        await self._reader.call(lambda connection: None)

    async def write[T](self, work: Callable[[Write], T]) -> T:
        """Run ``work`` in a write transaction; returns once it has been committed."""
        return cast(T, await self.writer.call(work))

    async def read[T](self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run ``work`` on a snapshot that has every write committed before this call."""
        return cast(T, await self._reader.call(work))

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Register on the running loop and start watching for other processes."""
        stop = self._wakeups.listen(listener)
        self.writer.nudge()
        return stop

    def stop(self) -> None:
        """Refuse new calls; the threads end when the queued ones are done."""
        self._wakeups.close()
        self.writer.stop()
        self._reader.stop()

    def abandon(self) -> None:
        """`stop`, for a store that was never closed; a forked child leaves its parent's alone."""
        if self.pid == os.getpid():
            self.stop()

    def join(self) -> None:
        """Wait for the threads to end."""
        self.writer.join()
        self._reader.join()
