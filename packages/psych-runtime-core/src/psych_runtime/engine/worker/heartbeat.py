"""Keeps a Worker's session alive from a thread of its own, so that a busy loop does not lose it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import Callable
from typing import Protocol

from psych_runtime.engine.lease import LeaseGuard
from psych_runtime.ports.store import Store

_log = logging.getLogger("psych_runtime.engine.heartbeat")

_JOIN_SECONDS = 5.0


class HeartbeatLike(Protocol):
    """What a Worker needs of a heartbeat; a simulation has one without a thread."""

    def start(self) -> None:
        """Begin renewing."""
        ...

    async def stop(self) -> None:
        """Stop renewing, and return once it has stopped."""
        ...


class Heartbeat:
    """Renews the session every ``interval`` seconds on a thread with its own event loop.

    It stops renewing when the Worker's loop has not answered for ``grace`` seconds: a process
    that cannot run its Runs should not keep others from doing so.

    Args:
        on_lost: Called on the Worker's loop when the session is closed, or when renewals have
            failed for so long that the lease can no longer be vouched for.
    """

    def __init__(
        self,
        store: Store,
        guard: LeaseGuard,
        *,
        interval: float,
        grace: float,
        on_lost: Callable[[], None],
    ) -> None:
        self._store = store
        self._guard = guard
        self._interval = interval
        self._grace = grace
        self._on_lost = on_lost
        self._home = asyncio.get_running_loop()
        self._answered_at = guard.now()
        self._blocked_logged = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._stopping = False
        self._thread = threading.Thread(
            target=self._main, name=f"psych-heartbeat-{guard.session.worker_id}", daemon=True
        )

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    async def stop(self) -> None:
        """End the thread; wait for it, but not for ever for a store that does not answer."""
        self._stopping = True
        if self._loop is not None and self._stop is not None:
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._stop.set)
        if self._thread.is_alive():
            await asyncio.to_thread(self._thread.join, _JOIN_SECONDS)

    def _main(self) -> None:
        try:
            asyncio.run(self._beat())
        except Exception:
            _log.exception("the heartbeat of %s broke", self._guard.session.worker_id)
            self._guard.lost = True
            self._tell_lost()

    async def _beat(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        pause = self._interval
        while not self._stopping:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stop.wait(), pause)
            if self._stopping:
                return
            if not self._home_answers():
                pause = self._interval
                continue
            pause = await self._renew()

    def _home_answers(self) -> bool:
        """Whether the Worker's loop has run within the grace; asks it to say so again."""
        with contextlib.suppress(RuntimeError):
            self._home.call_soon_threadsafe(self._answer)
        silent = self._guard.now() - self._answered_at
        if silent <= self._grace + self._interval:
            self._blocked_logged = False
            return True
        if not self._blocked_logged:
            self._blocked_logged = True
            _log.error(
                "the event loop of worker %s has been blocked for %.0f s: its lease is not renewed "
                "and other workers will take its Runs; look for blocking calls in async tools",
                self._guard.session.worker_id,
                silent,
            )
        return False

    def _answer(self) -> None:
        self._answered_at = self._guard.now()

    async def _renew(self) -> float:
        """Renew once; return the seconds until the next try."""
        sent_at = self._guard.now()
        try:
            alive = await self._store.heartbeat(self._guard.session)
        except Exception as error:
            _log.warning("heartbeat of %s failed: %s", self._guard.session.worker_id, error)
            if self._guard.remaining <= 0:
                # Over, even if the store comes back: what was sent last may still arrive there.
                self._guard.lost = self._stopping = True
                self._tell_lost()
            return min(self._interval / 4, max(self._guard.remaining, 0.05))
        if alive:
            self._guard.renewed(sent_at)
            return self._interval
        self._guard.lost = True
        self._tell_lost()
        self._stopping = True
        return self._interval

    def _tell_lost(self) -> None:
        with contextlib.suppress(RuntimeError):
            self._home.call_soon_threadsafe(self._on_lost)
