"""The threads that synchronous tools run on."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import queue
import threading
import weakref
from collections.abc import Callable
from typing import Any, cast

_log = logging.getLogger("psych_runtime.tools.threads")


class _Job:
    """One function on its way through a thread. Its result is delivered exactly once."""

    def __init__(
        self,
        fn: Callable[[], Any],
        loop: asyncio.AbstractEventLoop,
        on_start: Callable[[], None] | None,
        on_late: Callable[[Any], None] | None,
    ) -> None:
        self.done: asyncio.Future[None] = loop.create_future()
        self.value: Any = None
        self.error: BaseException | None = None
        self._fn = fn
        self._loop = loop
        self._context = contextvars.copy_context()
        self._on_start = on_start
        self._on_late = on_late
        self._lock = threading.Lock()
        self._started = self._finished = self._abandoned = False

    def run(self) -> None:
        """Run the function, on the current thread, unless nobody wants it any more."""
        with self._lock:
            if self._abandoned:
                return
            self._started = True
        if self._on_start is not None:
            self._post(self._announce)
        try:
            self.value = self._context.run(self._fn)
        except BaseException as error:
            self.error = error
        with self._lock:
            self._finished = True
            late = self._abandoned
        if late or not self._post(self._resolve):
            self._deliver_late()

    def abandon(self) -> None:
        """Nobody waits any more: never start, or hand the result to ``on_late``."""
        with self._lock:
            self._abandoned = True
            finished = self._finished
        if finished:
            self._deliver_late()

    def _post(self, callback: Callable[[], None]) -> bool:
        try:
            self._loop.call_soon_threadsafe(callback)
        except RuntimeError:  # the loop has closed
            return False
        return True

    def _announce(self) -> None:
        if self._on_start is not None and not self.done.done():
            self._on_start()

    def _resolve(self) -> None:
        if not self.done.done():
            self.done.set_result(None)

    def _deliver_late(self) -> None:
        if self.error is not None:
            _log.warning("a tool that nobody waited for any more failed", exc_info=self.error)
        elif self._on_late is not None:
            try:
                self._on_late(self.value)
            except Exception:
                _log.exception("a late result could not be delivered")


class _Pool:
    """What the threads share. They hold no reference to `ToolThreads`, so that it can be freed."""

    def __init__(self) -> None:
        self.jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self.idle = threading.Semaphore(0)

    def serve(self) -> None:
        while True:
            job = self.jobs.get()
            if job is None:
                self.jobs.put(None)  # for the next thread
                return
            job.run()
            del job  # a waiting thread must not keep the last result alive
            self.idle.release()

    def stop(self) -> None:
        self.jobs.put(None)


class ToolThreads:
    """A bounded set of threads for synchronous tools, apart from the loop's default executor.

    Threads are daemons and start when needed: a tool that hangs keeps neither the event loop nor
    the end of the process waiting. May be used from several event loops.

    Args:
        max_workers: How many functions run at once; more wait for a free thread.

    Raises:
        ValueError: ``max_workers`` is lower than 1.
    """

    def __init__(self, max_workers: int = 32) -> None:
        if max_workers < 1:
            raise ValueError(f"max_workers is the number of threads, 1 or more: got {max_workers}")
        self._max_workers = max_workers
        self._pool = _Pool()
        self._count = 0
        self._lock = threading.Lock()
        self._stop = weakref.finalize(self, self._pool.stop)
        self._stop.atexit = False

    async def run[T](
        self,
        fn: Callable[[], T],
        *,
        on_start: Callable[[], None] | None = None,
        on_late: Callable[[T], None] | None = None,
    ) -> T:
        """Run ``fn`` in a thread, with the caller's context variables, and return its result.

        A thread cannot be stopped. When the awaiting task is cancelled, ``fn`` is never started if
        it still waits for a thread; otherwise it goes on, and its result goes to ``on_late``.

        Args:
            fn: The function.
            on_start: Called on the event loop when ``fn`` has got its thread.
            on_late: Called with a result that nobody waits for any more, from any thread. An
                exception instead of a result is only logged.

        Raises:
            RuntimeError: `close` was called.
            BaseException: Whatever ``fn`` raises.
        """
        job = _Job(fn, asyncio.get_running_loop(), on_start, on_late)
        self._submit(job)
        try:
            await job.done
        except asyncio.CancelledError:
            job.abandon()
            raise
        try:
            if job.error is not None:
                raise job.error
            return cast(T, job.value)
        finally:
            del job  # the error's traceback would refer to itself through this frame

    def close(self) -> None:
        """Take no more functions. What runs or waits is finished; nothing is waited for."""
        with self._lock:
            self._stop()

    def _submit(self, job: _Job) -> None:
        with self._lock:
            if not self._stop.alive:
                raise RuntimeError("these tool threads are closed: make a new ToolThreads")
            self._pool.jobs.put(job)
            if self._pool.idle.acquire(blocking=False) or self._count >= self._max_workers:
                return
            self._count += 1
            name = f"psych-tool-{self._count}"
        threading.Thread(target=self._pool.serve, name=name, daemon=True).start()
