"""Why an Attempt stops early, and how what it is doing hears of it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Iterator
from enum import StrEnum
from typing import Any


class AbortReason(StrEnum):
    """What stopped an Attempt."""

    INTERRUPT = "interrupt"
    """Somebody called `interrupt`; the Run settles aborted."""
    DEADLINE = "deadline"
    """The Run's deadline passed; the Run settles aborted."""
    SHUTDOWN = "shutdown"
    """The Worker stops; the Run is handed back, unsettled."""
    LEASE_LOST = "lease_lost"
    """Somebody else may hold the Run; nothing more may be written or run."""


class AbortSignal:
    """A one-way flag with a reason. The first reason stays, except that a lost lease overrides.

    Not thread-safe: fire it on the Attempt's loop (`loop.call_soon_threadsafe`).
    """

    __slots__ = ("_callbacks", "_event", "reason")

    def __init__(self) -> None:
        self.reason: AbortReason | None = None
        self._event: asyncio.Event | None = None
        self._callbacks: dict[int, Callable[[AbortReason], None]] = {}

    @property
    def fired(self) -> bool:
        """Whether any reason has fired."""
        return self.reason is not None

    @property
    def writes_allowed(self) -> bool:
        """False once the lease is lost."""
        return self.reason is not AbortReason.LEASE_LOST

    def fire(self, reason: AbortReason) -> None:
        """Set the flag and tell everybody who watches."""
        if self.reason is reason or self.reason is AbortReason.LEASE_LOST:
            return
        if self.reason is not None and not _overrides(reason, self.reason):
            return
        self.reason = reason
        if self._event is not None:
            self._event.set()
        for callback in list(self._callbacks.values()):
            callback(reason)

    async def wait(self) -> AbortReason:
        """Wait until the flag is set; return the reason."""
        if self._event is None:
            self._event = asyncio.Event()
            if self.fired:
                self._event.set()
        await self._event.wait()
        assert self.reason is not None
        return self.reason

    @contextlib.contextmanager
    def watching(self, callback: Callable[[AbortReason], None]) -> Iterator[None]:
        """Call ``callback`` when the flag is (or already was) set, while inside the block."""
        key = id(callback)
        self._callbacks[key] = callback
        try:
            if self.reason is not None:
                callback(self.reason)
            yield
        finally:
            self._callbacks.pop(key, None)


def _overrides(new: AbortReason, old: AbortReason) -> bool:
    """A stop that ends the Run beats a mere hand-back; a lost lease beats everything."""
    if new is AbortReason.LEASE_LOST:
        return True
    return old is AbortReason.SHUTDOWN


class Stopped(Exception):
    """Raised inside the engine when the abort signal cut an operation short."""

    def __init__(self, reason: AbortReason | None) -> None:
        assert reason is not None
        self.reason: AbortReason = reason
        super().__init__(reason.value)


ANY_REASON = frozenset(AbortReason)
_CLEAN_UP_SECONDS = 1.0
"""How long cancelled work may take to clean up before its caller goes on without it."""


async def until_aborted[T](
    work: Coroutine[Any, Any, T],
    signal: AbortSignal,
    reasons: frozenset[AbortReason] = ANY_REASON,
) -> T:
    """Run ``work`` in a task of its own; cancel it when the signal fires for one of ``reasons``.

    Raises:
        Stopped: The signal fired before ``work`` had a result.
        RuntimeError: ``work`` was cancelled, and not by this task or the signal.
    """
    if signal.reason in reasons:
        work.close()
        raise Stopped(signal.reason)
    task = asyncio.ensure_future(work)

    def cancel(reason: AbortReason) -> None:
        if reason in reasons:
            task.cancel()

    with signal.watching(cancel):
        try:
            # Not `await task`: that would hang on work that swallows its cancellation.
            await asyncio.wait({task})
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.wait({task}, timeout=_CLEAN_UP_SECONDS)
            raise
    if not task.cancelled():
        return task.result()
    if signal.reason in reasons:
        raise Stopped(signal.reason)
    raise RuntimeError("the work was cancelled from within, though nobody asked for that")
