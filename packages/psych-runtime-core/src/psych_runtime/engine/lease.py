"""The instant up to which this process may act for the Runs it holds."""

from __future__ import annotations

import time
from collections.abc import Callable

from psych_runtime.errors import LeaseLost
from psych_runtime.ports.store import Store, WorkerSession


def boot_time() -> float:
    """Seconds on a clock that also counts while the machine sleeps, where there is one."""
    if _BOOTTIME is None:
        return time.monotonic()
    return time.clock_gettime(_BOOTTIME)


_BOOTTIME: int | None = getattr(time, "CLOCK_BOOTTIME", None)


class LeaseGuard:
    """Shared by the heartbeat thread, the claim loop and every Attempt of one Worker.

    The window is counted from *before* the renewing request was sent, less a margin, so that it
    always ends before the store's. A single float is written and read: safe across threads.
    """

    def __init__(
        self,
        store: Store,
        session: WorkerSession,
        *,
        margin: float | None = None,
        clock: Callable[[], float] = boot_time,
    ) -> None:
        self.session = session
        self._store = store
        self._clock = clock
        self._margin = session.lease_seconds * 0.1 if margin is None else margin
        self._valid_until = 0.0
        self.lost = False

    def now(self) -> float:
        """This guard's clock."""
        return self._clock()

    def renewed(self, sent_at: float) -> None:
        """Note a renewal that was sent at ``sent_at`` (on this guard's clock) and accepted."""
        until = sent_at + self.session.lease_seconds - self._margin
        self._valid_until = max(self._valid_until, until)

    @property
    def remaining(self) -> float:
        """Seconds left in the window; negative once it has passed, or the lease is lost."""
        return -1.0 if self.lost else self._valid_until - self._clock()

    async def ensure(self, run_id: str) -> None:
        """Return if a side effect may start now; renew first when the window has passed.

        Raises:
            LeaseLost: The session was closed, or could not be renewed.
        """
        if self.remaining > 0:
            return
        if not self.lost:
            sent_at = self._clock()
            try:
                if await self._store.heartbeat(self.session):
                    self.renewed(sent_at)
                    return
                self.lost = True
            except OSError:
                pass  # unreachable store: nobody can vouch for the lease, so do not act on it
        raise LeaseLost(run_id, self.session.worker_id)
