"""Worker: claims Runs, executes them side by side, and gives them back when it stops."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import AsyncIterator, Callable
from datetime import datetime

from psych_runtime.engine.lease import LeaseGuard, boot_time
from psych_runtime.engine.signals import AbortReason
from psych_runtime.engine.worker.attempt import Attempt, AttemptRunner, AttemptSettings
from psych_runtime.engine.worker.heartbeat import Heartbeat, HeartbeatLike
from psych_runtime.engine.worker.supervisor import supervise
from psych_runtime.errors import InvalidInput, LeaseLost
from psych_runtime.ids import RunId, WorkerId, new_worker_id
from psych_runtime.ports.store import Claim, Store, WakeKind, WorkerSession

_log = logging.getLogger("psych_runtime.engine.worker")

_MAX_CLAIM_BACKOFF_SECONDS = 30.0
_SECOND_LOOK_SECONDS = 0.1
"""Pause before asking which Runs the session holds, so that a failing store is not hammered."""
_CANCEL_SECONDS = 5.0
"""How long cancelled Attempts may take to end."""


class Worker:
    """Executes Runs of one store, in this process.

    Example:
        >>> worker = Worker(store, runtime)
        >>> loop.add_signal_handler(signal.SIGTERM, worker.stop)
        >>> await worker.run()

    Args:
        store: Where the Runs are.
        runner: Usually a `Runtime`; any ``async (journal, header, abort) -> None``.
        worker_id: Default: a new id. The same id twice is safe: sessions are told apart.
        lease_seconds: How long Runs stay ours after this process dies. Default 30.
        heartbeat_seconds: How often the one session row is renewed. Default 10.
        grace_seconds: How long work may go on after its deadline, or after `stop`. Default 60.
        supervisor_interval: Longest pause between two looks at deadlines and expiries. Default 5.
        poll_interval: Longest pause between two claims while nothing is heard; a store with
            wake-ups does not wait for it. Default 0.5.
        concurrency: Attempts at a time. Default 4.
        max_attempts: Crashes (not claims) after which a Run is failed. Default 10.

    Raises:
        InvalidInput: A number makes no sense.
    """

    def __init__(
        self,
        store: Store,
        runner: AttemptRunner,
        *,
        worker_id: WorkerId | None = None,
        lease_seconds: float = 30.0,
        heartbeat_seconds: float = 10.0,
        grace_seconds: float = 60.0,
        supervisor_interval: float = 5.0,
        poll_interval: float = 0.5,
        concurrency: int = 4,
        max_attempts: int = 10,
    ) -> None:
        if heartbeat_seconds >= lease_seconds:
            raise InvalidInput(
                f"heartbeat_seconds ({heartbeat_seconds:g}) must be below lease_seconds "
                f"({lease_seconds:g}), or every lease lapses between two heartbeats"
            )
        if concurrency < 1:
            raise InvalidInput(f"concurrency must be at least 1, not {concurrency}")
        self.worker_id = worker_id or new_worker_id()
        self.concurrency = concurrency
        self._store = store
        self._runner = runner
        self._lease_seconds = lease_seconds
        self._heartbeat_seconds = heartbeat_seconds
        self._grace_seconds = grace_seconds
        self._supervisor_interval = supervisor_interval
        self._poll_interval = poll_interval
        self._max_attempts = max_attempts
        self._active: dict[RunId, Attempt] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        """Of active Attempts, and of those that have lost their Run and are still winding down."""
        self._lapsed: list[str] = []
        """Sessions given up for lost that the store may still take for alive."""
        self._serving = False
        self._stopping = False
        self._uncertain = False
        """True when the session may hold Runs that no Attempt executes."""
        self._wake: asyncio.Event | None = None
        self._guard: LeaseGuard | None = None
        self._heartbeat: HeartbeatLike | None = None
        self._clock: Callable[[], float] = boot_time
        self._now: Callable[[], datetime] | None = None

    @property
    def active(self) -> frozenset[RunId]:
        """The Runs this Worker is executing now."""
        return frozenset(self._active)

    async def run(self) -> None:
        """Serve until `stop` is called; returns after running Attempts have been handed back."""
        async with self._started():
            await self._serve(until_idle=False)

    async def drain(self) -> None:
        """Work until nothing is runnable, then return. For cron jobs, functions and tests."""
        async with self._started():
            await self._serve(until_idle=True)

    def stop(self) -> None:
        """Ask to stop: no more claims; Attempts end at their next safe point and are handed back.

        Call it on the Worker's loop (a signal handler added with ``loop.add_signal_handler`` is).
        """
        self._stopping = True
        for attempt in self._active.values():
            attempt.abort.fire(AbortReason.SHUTDOWN)
        if self._wake is not None:
            self._wake.set()

    # -- life cycle ---------------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def _started(self) -> AsyncIterator[None]:
        if self._serving:
            raise RuntimeError(f"worker {self.worker_id} is already running")
        self._serving = True
        self._wake = asyncio.Event()
        unlisten = self._store.listen(self._heard)
        watcher = asyncio.create_task(self._watch())
        supervisor = asyncio.create_task(self._supervise())
        try:
            yield
            await self._finish_attempts()
        finally:
            for task in (watcher, supervisor):
                task.cancel()
            await asyncio.wait({watcher, supervisor})
            unlisten()
            try:
                await self._cancel_attempts()
            finally:
                await self._end_session()
                self._serving = False
                self._stopping = False
                self._wake = None

    async def _begin_session(self) -> LeaseGuard:
        """Open a new session; the old one, if any, is over."""
        if self._heartbeat is not None:
            await self._heartbeat.stop()
            self._heartbeat = None
        while self._lapsed:
            await self._store.end_session(self._lapsed[0])
            del self._lapsed[0]
        session = WorkerSession(
            session_id=f"{self.worker_id}:{os.urandom(8).hex()}",
            worker_id=self.worker_id,
            lease_seconds=self._lease_seconds,
        )
        guard = self._guard = LeaseGuard(self._store, session, clock=self._clock)
        self._heartbeat = self._make_heartbeat(guard)
        self._heartbeat.start()
        return guard

    def _make_heartbeat(self, guard: LeaseGuard) -> HeartbeatLike:
        return Heartbeat(
            self._store,
            guard,
            interval=self._heartbeat_seconds,
            grace=self._grace_seconds,
            on_lost=lambda: self._lease_lost(guard),
        )

    async def _end_session(self) -> None:
        guard, heartbeat = self._guard, self._heartbeat
        self._guard = self._heartbeat = None
        if heartbeat is not None:
            await heartbeat.stop()
        if guard is not None:
            self._lapsed.append(guard.session.session_id)
        for session_id in self._lapsed:
            try:
                await self._store.end_session(session_id)
            except Exception as error:
                _log.warning("session %s was left to expire: %s", session_id, error)
        self._lapsed.clear()

    def _lease_lost(self, guard: LeaseGuard) -> None:
        """Give the session up for good: the next claim opens a new one, so with new epochs."""
        if guard is not self._guard:
            return
        guard.lost = True
        self._guard = None
        self._lapsed.append(guard.session.session_id)
        _log.error("worker %s lost its lease; its Attempts stop", self.worker_id)
        for attempt in list(self._active.values()):
            attempt.abort.fire(AbortReason.LEASE_LOST)
            if attempt.journal is not None:
                attempt.journal.abandon()
        if self._wake is not None:
            self._wake.set()

    async def _finish_attempts(self) -> None:
        """Wait for Attempts to reach a safe point, for at most the grace."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=self._grace_seconds)

    async def _cancel_attempts(self) -> None:
        """Leave nothing running behind."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=_CANCEL_SECONDS)

    # -- claiming -----------------------------------------------------------------------------

    async def _serve(self, *, until_idle: bool) -> None:
        assert self._wake is not None
        backoff = self._poll_interval
        while not self._stopping:
            self._wake.clear()
            free = self.concurrency - len(self._active)
            if free <= 0:
                await self._wake.wait()
                continue
            try:
                guard, claims = await self._claim(free)
                backoff = self._poll_interval
            except Exception as error:
                self._uncertain = True
                _log.warning("claiming failed, next try in %.1f s: %s", backoff, error)
                await self._sleep(backoff)
                backoff = min(backoff * 2, _MAX_CLAIM_BACKOFF_SECONDS)
                continue
            for claim in claims:
                self._start(claim, guard)
            if len(claims) == free:
                await asyncio.sleep(0)
                continue
            if claims:
                continue
            if until_idle and not self._active and not self._uncertain and not guard.lost:
                return
            await self._sleep(self._poll_interval)

    async def _claim(self, free: int) -> tuple[LeaseGuard, list[Claim]]:
        if self._guard is not None and self._guard.lost:  # an Attempt found out first
            self._lease_lost(self._guard)
        guard = self._guard or await self._begin_session()
        sent_at = guard.now()
        try:
            if self._uncertain:
                await asyncio.sleep(_SECOND_LOOK_SECONDS)
                # Judged by what is active before the question: an Attempt that releases its Run
                # while the answer is under way must not be started again under the old fence.
                known = {(run_id, active.header.epoch) for run_id, active in self._active.items()}
                self._uncertain = False
                unknown = [
                    claim
                    for claim in await self._store.held(guard.session.session_id)
                    if (claim.header.run_id, claim.header.epoch) not in known
                ]
                if unknown:
                    return guard, unknown
            claims = await self._store.claim(guard.session, free)
        except LeaseLost:
            self._lease_lost(guard)
            raise
        guard.renewed(sent_at)
        return guard, claims

    def _start(self, claim: Claim, guard: LeaseGuard) -> None:
        run_id = claim.header.run_id
        before = self._active.get(run_id)
        if guard.lost or (before is not None and before.header.epoch == claim.header.epoch):
            return
        if before is not None:  # it has released or lost the Run, and is still winding down
            before.abort.fire(AbortReason.LEASE_LOST)
        settings = AttemptSettings(
            store=self._store,
            runner=self._runner,
            guard=guard,
            grace_seconds=self._grace_seconds,
            max_attempts=self._max_attempts,
            now=self._now,
        )
        attempt = Attempt(settings, claim)
        self._active[run_id] = attempt
        if self._stopping:
            attempt.abort.fire(AbortReason.SHUTDOWN)
        attempt.task = asyncio.create_task(attempt.run())
        self._tasks.add(attempt.task)
        attempt.task.add_done_callback(self._ended(attempt))

    def _ended(self, attempt: Attempt) -> Callable[[asyncio.Task[None]], None]:
        def ended(task: asyncio.Task[None]) -> None:
            self._tasks.discard(task)
            if self._active.get(attempt.run_id) is attempt:
                del self._active[attempt.run_id]
            if attempt.journal is None or not attempt.journal.closed:
                self._uncertain = True
            if not task.cancelled() and task.exception() is not None:
                _log.error("attempt on %s broke", attempt.run_id, exc_info=task.exception())
            if self._wake is not None:
                self._wake.set()

        return ended

    # -- listening ----------------------------------------------------------------------------

    def _heard(self, run_id: RunId, kind: WakeKind) -> None:
        if kind is WakeKind.RUNNABLE:
            if self._wake is not None:
                self._wake.set()
        elif kind is WakeKind.EXTERNAL:
            attempt = self._active.get(run_id)
            if attempt is not None:
                attempt.absorb_soon()

    async def _watch(self) -> None:
        """Notice what others wrote to our Runs even when no wake-up came."""
        seen: set[RunId] = set()
        while True:
            await asyncio.sleep(self._poll_interval)
            for run_id, attempt in list(self._active.items()):
                if run_id not in seen:
                    continue
                try:
                    header = await self._store.get_run(run_id)
                except Exception as error:
                    _log.debug("could not look at %s: %s", run_id, error)
                    continue
                journal = attempt.journal
                if header is not None and journal is not None and header.head_seq > journal.head:
                    attempt.absorb_soon()
            seen = set(self._active)

    async def _supervise(self) -> None:
        while True:
            try:
                await supervise(self._store)
            except Exception as error:
                _log.warning("supervising failed, it is tried again: %s", error)
            await asyncio.sleep(await self._until_next_due())

    async def _until_next_due(self) -> float:
        try:
            due_at = await self._store.next_due_at()
            if due_at is None:
                return self._supervisor_interval
            seconds = (due_at - await self._store.now()).total_seconds()
        except Exception:
            return self._supervisor_interval
        if seconds <= 0:
            # Overdue but not handled in this pass (somebody holds it): do not spin.
            return min(self._poll_interval, self._supervisor_interval)
        if self._wake is not None and seconds < self._poll_interval:
            asyncio.get_running_loop().call_later(seconds, self._wake.set)
        return min(seconds, self._supervisor_interval)

    async def _sleep(self, seconds: float) -> None:
        assert self._wake is not None
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._wake.wait(), seconds)
