"""A thread that owns one connection and works off a queue of calls."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from typing import Any

from psych_runtime.errors import StoreError, StoreUnavailable, UnstorableValueError

from psych_runtime_sqlite import fork
from psych_runtime_sqlite.connection import connect, is_busy


class Job:
    """One call: what to do, and the future of the caller that awaits it."""

    __slots__ = ("error", "future", "hints", "loop", "result", "work")

    def __init__(self, work: Callable[[Any], Any]) -> None:
        self.work = work
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Any] = self.loop.create_future()
        self.result: Any = None
        self.error: BaseException | None = None
        self.hints: list[Any] = []


class Lane(ABC):
    """One thread, one connection, one queue. Cancelling a caller does not cancel its call."""

    def __init__(self, path: str, name: str) -> None:
        self._path = path
        self._queued: deque[Job] = deque()
        self._wake = threading.Condition()
        self._gate = threading.Lock()
        self._stopping = False
        self._connection: sqlite3.Connection | None = None
        self._thread = threading.Thread(target=self._serve, name=name, daemon=True)
        fork.register(self)
        self._thread.start()

    async def call(self, work: Callable[[Any], Any]) -> Any:
        """Have ``work`` done on the thread and return what it returned."""
        job = Job(work)
        with self._wake:
            if self._stopping:
                raise StoreError("this SQLiteStore is closed; open a new one")
            self._queued.append(job)
            self._wake.notify()
        return await job.future

    def stop(self) -> None:
        """Refuse new calls; the thread ends when the queued ones are done."""
        with self._wake:
            self._stopping = True
            self._wake.notify()

    def join(self) -> None:
        """Wait for the thread to end."""
        self._thread.join()

    def nudge(self) -> None:
        """Make the thread look whether it has something to do."""
        with self._wake:
            self._wake.notify()

    def pause(self) -> None:
        """Close the connection and keep it closed until `resume`."""
        self._gate.acquire()
        self._disconnect()

    def resume(self) -> None:
        """Let the thread go on."""
        self._gate.release()

    def _serve(self) -> None:
        while True:
            with self._wake:
                if not self._queued and not self._stopping:
                    self._wake.wait(self._idle_seconds())
                jobs = list(self._queued)
                self._queued.clear()
                stopping = self._stopping
            if jobs:
                with self._gate:
                    self._perform_all(jobs)
                _deliver(jobs)
            if stopping and not jobs:
                break
            self._after(jobs)
        with self._gate:
            self._disconnect()

    def _perform_all(self, jobs: list[Job]) -> None:
        try:
            self._perform(self._connected(), jobs)
        except BaseException as exc:
            if isinstance(exc, sqlite3.Error) and not is_busy(exc):
                self._disconnect()
            for job in jobs:
                job.error = translated(exc)

    def _connected(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = connect(self._path)
        return self._connection

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    @abstractmethod
    def _perform(self, connection: sqlite3.Connection, jobs: list[Job]) -> None:
        """Fill in every job's result or error; raise when all of them failed together."""

    def _idle_seconds(self) -> float | None:
        """How long to sleep without a call; None: until one comes."""
        return None

    @abstractmethod
    def _after(self, jobs: list[Job]) -> None:
        """Called when the callers of ``jobs`` were told, and after every sleep (no jobs)."""


def translated(exc: BaseException) -> BaseException:
    """The Store port's error for an error of SQLite; others as they are."""
    if isinstance(exc, (sqlite3.DataError, OverflowError, UnicodeEncodeError)):
        error: BaseException = UnstorableValueError(f"SQLite cannot store this value: {exc}")
    elif isinstance(exc, sqlite3.Error):
        error = StoreUnavailable(f"SQLite failed: {exc}")
    else:
        return exc
    error.__cause__ = exc
    return error


def _deliver(jobs: list[Job]) -> None:
    by_loop: dict[asyncio.AbstractEventLoop, list[Job]] = {}
    for job in jobs:
        by_loop.setdefault(job.loop, []).append(job)
    for loop, mine in by_loop.items():
        try:
            loop.call_soon_threadsafe(_settle, mine)
        except RuntimeError:
            # The caller's loop has been closed: there is nobody left to tell.
            continue


def _settle(jobs: list[Job]) -> None:
    for job in jobs:
        if job.future.done():
            continue
        if job.error is not None:
            job.future.set_exception(job.error)
        else:
            job.future.set_result(job.result)
