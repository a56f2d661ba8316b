"""The cancel signal that a tool sees, from a coroutine or from a thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from psych_runtime.errors import ToolCallCancelled


class CancelSignal:
    """A one-way flag: the call was cancelled, ran out of time, or is over. Thread-safe."""

    __slots__ = ("_callbacks", "_event", "_lock")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._event = threading.Event()
        self._callbacks: list[Callable[[], object]] = []

    @property
    def is_cancelled(self) -> bool:
        """Whether the work is no longer wanted."""
        return self._event.is_set()

    def set(self) -> None:
        """Set the flag and wake everybody who waits. Setting it twice changes nothing."""
        with self._lock:
            self._event.set()
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()

    def raise_if_cancelled(self) -> None:
        """Leave the tool if it is no longer wanted; call this between steps of long work.

        Raises:
            ToolCallCancelled: The flag is set.
        """
        if self._event.is_set():
            raise ToolCallCancelled("this tool call was cancelled: stop working on it")

    async def wait(self) -> None:
        """Wait until the flag is set, on any event loop."""
        loop = asyncio.get_running_loop()
        woken = loop.create_future()

        def wake() -> None:
            if not woken.done():
                woken.set_result(None)

        def wake_from_anywhere() -> None:
            with suppress(RuntimeError):  # that loop has closed: nobody waits there any more
                loop.call_soon_threadsafe(wake)

        with self.watching(wake_from_anywhere):
            await woken

    def wait_blocking(self, timeout_seconds: float | None = None) -> bool:
        """Block this thread until the flag is set or the time is over: a sleep that can be cut.

        Args:
            timeout_seconds: Longest wait; None waits for ever.

        Returns:
            Whether the flag is set.
        """
        return self._event.wait(timeout_seconds)

    @contextmanager
    def watching(self, callback: Callable[[], object]) -> Iterator[None]:
        """Call ``callback`` once, from whichever thread, when the flag is (or was already) set."""
        with self._lock:
            already = self._event.is_set()
            if not already:
                self._callbacks.append(callback)
        try:
            if already:
                callback()
            yield
        finally:
            with self._lock, suppress(ValueError):
                self._callbacks.remove(callback)
