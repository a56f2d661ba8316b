"""Wake-up hints across threads and event loops, for stores of one process."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable

from psych_runtime.ids import RunId
from psych_runtime.ports.store import Listener, WakeKind


class Wakeups:
    """Listeners, each with the loop it was registered on."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._listeners: tuple[tuple[asyncio.AbstractEventLoop, Listener], ...] = ()

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Register on the running loop; returns the function that stops the hints."""
        entry = (asyncio.get_running_loop(), listener)
        with self._lock:
            self._listeners = (*self._listeners, entry)
        return lambda: self._drop(entry)

    def send(self, hints: Iterable[tuple[RunId, WakeKind]]) -> None:
        """Tell every listener; one whose loop has been closed is dropped."""
        if not self._listeners:
            return
        hints = tuple(hints)
        for entry in self._listeners:
            loop, listener = entry
            try:
                if asyncio._get_running_loop() is loop:
                    loop.call_soon(_tell, listener, hints)
                else:
                    loop.call_soon_threadsafe(_tell, listener, hints)
            except RuntimeError:
                self._drop(entry)

    @property
    def wanted(self) -> bool:
        """Whether anybody listens."""
        return bool(self._listeners)

    def close(self) -> None:
        """Forget every listener."""
        with self._lock:
            self._listeners = ()

    def _drop(self, entry: tuple[asyncio.AbstractEventLoop, Listener]) -> None:
        with self._lock:
            self._listeners = tuple(e for e in self._listeners if e is not entry)


def _tell(listener: Listener, hints: tuple[tuple[RunId, WakeKind], ...]) -> None:
    for run_id, kind in hints:
        listener(run_id, kind)
