"""`InMemoryStore`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from itertools import islice
from types import TracebackType

from psych_runtime.errors import LeaseLost, RunNotFound, SeqConflict
from psych_runtime.ids import RunId, VersionHash
from psych_runtime.ports.store import (
    Claim,
    Created,
    Due,
    External,
    ExternalResult,
    Lease,
    Listener,
    NewRun,
    RunFilter,
    RunHeader,
    RunPage,
    RunState,
    StoredRecord,
    Transition,
    WakeKind,
    WorkerSession,
)
from psych_runtime.spec.version import Version
from psych_runtime.store import rules
from psych_runtime.store.memory.catalog import Catalog
from psych_runtime.store.memory.queue import ClaimQueue
from psych_runtime.store.memory.run import Run
from psych_runtime.store.memory.schedule import Schedule
from psych_runtime.store.memory.sessions import Sessions
from psych_runtime.store.wakeups import Wakeups


def _utc_now() -> datetime:
    return datetime.now(UTC)


class InMemoryStore:
    """A Store that lives in this process and ends with it.

    Every method does its work at once under one lock, so it may be used from several threads and
    event loops. Use it for tests, examples and short-lived scripts; nothing is durable.

    Args:
        clock: The store's clock, returning aware UTC times. Default: the system clock.

    Example:
        >>> store = InMemoryStore()
    """

    def __init__(self, *, clock: Callable[[], datetime] | None = None) -> None:
        self._clock = clock or _utc_now
        self._lock = threading.Lock()
        self._versions: dict[VersionHash, Version] = {}
        self._runs: dict[RunId, Run] = {}
        self._by_key: dict[tuple[str, str], Run] = {}
        self._queue = ClaimQueue()
        self._schedule = Schedule()
        self._catalog = Catalog()
        self._sessions = Sessions()
        self._wakeups = Wakeups()

    async def __aenter__(self) -> InMemoryStore:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    # -- life --------------------------------------------------------------------------------

    async def migrate(self) -> None:
        """There is no schema; does nothing."""

    async def close(self) -> None:
        """Stop the wake-ups. What is stored stays readable for as long as the object lives."""
        self._wakeups.close()

    async def now(self) -> datetime:
        """The store's clock (UTC)."""
        return self._clock()

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Ask for wake-up hints on the running loop; returns the function that stops them."""
        return self._wakeups.listen(listener)

    # -- versions ----------------------------------------------------------------------------

    async def put_version(self, version: Version) -> None:
        """Store a Version; storing the same hash again changes nothing."""
        with self._lock:
            self._versions.setdefault(version.hash, version)

    async def get_version(self, version_hash: VersionHash) -> Version | None:
        """Return a Version, or None when the hash is unknown."""
        return self._versions.get(version_hash)

    # -- writing -----------------------------------------------------------------------------

    async def create_run(self, run: NewRun, bodies: Sequence[bytes]) -> Created:
        """Admit a Run; see `Store.create_run`."""
        bodies = tuple(bodies)
        rules.check_bodies(bodies)
        tenant = run.scope.tenant
        with self._lock:
            now = self._clock()
            existing = self._runs.get(run.run_id)
            if run.idempotency_key is not None:
                existing = self._by_key.get((tenant, run.idempotency_key), existing)
            if existing is not None:
                if existing.scope.tenant != tenant:
                    raise SeqConflict(run.run_id, existing.head_seq)
                return Created(self._header(existing), created=False)
            new = Run(run, now, len(self._runs) + 1)
            new.extend(bodies)
            self._runs[run.run_id] = new
            if run.idempotency_key is not None:
                self._by_key[(tenant, run.idempotency_key)] = new
            self._catalog.admit(new)
            self._queue.admit(new)
            self._schedule.watch_deadline(new)
            claimable = self._queue.offer(new, now)
            header = self._header(new)
        if claimable:
            self._wakeups.send([(run.run_id, WakeKind.RUNNABLE)])
        return Created(header, created=True)

    async def append(
        self,
        run_id: RunId,
        bodies: Sequence[bytes],
        *,
        lease: Lease,
        batch_no: int,
        strict_head: int | None = None,
        transition: Transition | None = None,
    ) -> int:
        """Append as the holder; see `Store.append`."""
        bodies = tuple(bodies)
        rules.check_bodies(bodies)
        hints = [(run_id, WakeKind.RECORDS)]
        with self._lock:
            run = self._run(run_id)
            base = rules.check_append(run, lease, batch_no, strict_head, transition)
            if base is not None:
                return base
            base = run.extend(bodies)
            run.batch_no = batch_no
            run.last_base = base
            if transition is not None:
                now = self._clock()
                rules.apply_transition(run, transition, now)
                hints += self._moved(run, now)
        self._wakeups.send(hints)
        return base

    async def append_external(self, run_id: RunId, external: External) -> ExternalResult:
        """Append without holding the Run; see `Store.append_external`."""
        rules.check_external_shape(external)
        with self._lock:
            run = self._run(run_id)
            known = run.keys.get(external.key)
            if known is not None:
                return ExternalResult(known[0], applied=False, state=known[1])
            now = self._clock()
            rules.check_external(run, external, held=run.held(now))
            before = (run.state, run.aborted, run.runnable_after)
            base = run.extend(external.bodies)
            rules.apply_external(run, external, now)
            run.keys[external.key] = (base, run.state)
            result = ExternalResult(base, applied=True, state=run.state)
            hints = [(run_id, WakeKind.EXTERNAL)]
            after = (run.state, run.aborted, run.runnable_after)
            if external.transition is not None or after != before:
                hints += self._moved(run, now)
        self._wakeups.send(hints)
        return result

    # -- reading -----------------------------------------------------------------------------

    async def read(
        self, run_id: RunId, *, after: int = 0, limit: int | None = None
    ) -> list[StoredRecord]:
        """Records with ``seq > after``; see `Store.read`."""
        with self._lock:
            run = self._runs.get(run_id)
            if run is None:
                return []
            start = max(after, 0)
            return run.log[start : None if limit is None else start + max(limit, 0)]

    async def get_run(self, run_id: RunId) -> RunHeader | None:
        """The header, or None."""
        with self._lock:
            run = self._runs.get(run_id)
            return None if run is None else self._header(run)

    async def list_runs(
        self, tenant: str, where: RunFilter, *, limit: int = 50, cursor: str | None = None
    ) -> RunPage:
        """A tenant's Runs, newest first; see `Store.list_runs`."""
        before = rules.parse_cursor(cursor)
        with self._lock:
            found = self._catalog.newest_first(tenant, before, where)
            page = list(islice(found, max(limit, 0)))
            more = next(found, None) is not None
            headers = tuple(map(self._header, page))
        return RunPage(headers, str(page[-1].order) if more and page else None)

    async def purge(self, before: datetime, *, tenant: str, limit: int = 100) -> int:
        """Remove old logs; see `Store.purge`."""
        with self._lock:
            return self._catalog.purge(before, tenant, limit)

    # -- sessions and claims -----------------------------------------------------------------

    async def heartbeat(self, session: WorkerSession) -> bool:
        """Create or renew the session; False when it was closed."""
        with self._lock:
            return self._sessions.renew(session, self._clock()) is not None

    async def end_session(self, session_id: str) -> None:
        """Close the session and hand its Runs back."""
        with self._lock:
            now = self._clock()
            hints: list[tuple[RunId, WakeKind]] = []
            for run in self._sessions.close(session_id):
                rules.release(run)
                hints.append((run.run_id, WakeKind.RECORDS))
                hints += self._moved(run, now)
        self._wakeups.send(hints)

    async def claim(
        self, session: WorkerSession, limit: int, *, log_limit: int = 256
    ) -> list[Claim]:
        """Take up to ``limit`` Runs; see `Store.claim`."""
        claims: list[Claim] = []
        with self._lock:
            now = self._clock()
            holder = self._sessions.renew(session, now)
            if holder is None:
                raise LeaseLost(f"of session {session.session_id}", session.worker_id)
            for run in self._sessions.expire(now):
                self._queue.offer(run, now)

            def hand_over(run: Run) -> None:
                if run.session is not None:
                    run.session.runs.pop(run.run_id, None)
                reclaimed = rules.take(run, session.session_id, session.worker_id)
                self._queue.withdraw(run)
                run.session = holder
                holder.runs[run.run_id] = run
                claims.append(self._claim(run, reclaimed, log_limit))

            self._queue.take(limit, now, hand_over)
        return claims

    async def held(self, session_id: str) -> list[Claim]:
        """The Runs this session holds."""
        with self._lock:
            session = self._sessions.get(session_id)
            return (
                [] if session is None else [self._claim(r, False, 0) for r in session.runs.values()]
            )

    async def due(self, limit: int = 100) -> list[Due]:
        """Runs that need a supervisor; see `DueKind`."""
        with self._lock:
            found = self._schedule.due(limit, self._clock())
            return [Due(self._header(run), kind) for run, kind in found]

    async def next_due_at(self) -> datetime | None:
        """When the next timer, expiry, parked Run or lease lapse falls due."""
        with self._lock:
            times = (
                self._schedule.next_wait_at(self._clock()),
                self._queue.next_parked_at(),
                self._sessions.next_lapse_at(),
            )
        return min((at for at in times if at is not None), default=None)

    # -- inside the lock ---------------------------------------------------------------------

    def _run(self, run_id: RunId) -> Run:
        run = self._runs.get(run_id)
        if run is None:
            raise RunNotFound(run_id)
        return run

    def _moved(self, run: Run, now: datetime) -> list[tuple[RunId, WakeKind]]:
        """Bring the indexes up to date with a changed header; return what became claimable."""
        if run.state is not RunState.RUNNING and run.session is not None:
            run.session.runs.pop(run.run_id, None)
            run.session = None
        self._schedule.watch(run)
        if run.state is RunState.SETTLED:
            self._catalog.settled(run)
            promoted = self._queue.settled(run, now)
            return [] if promoted is None else [(promoted.run_id, WakeKind.RUNNABLE)]
        if run.state is RunState.RUNNABLE:
            self._schedule.watch_deadline(run)
            claimable = self._queue.offer(run, now)
            return [(run.run_id, WakeKind.RUNNABLE)] if claimable else []
        if run.state is RunState.SUSPENDED:
            self._queue.withdraw(run)
        elif run.session is not None and run.session.closed:
            self._queue.offer(run, now)
        return []

    def _header(self, run: Run) -> RunHeader:
        return run.header(None if run.session is None else run.session.expires_at)

    def _claim(self, run: Run, reclaimed: bool, log_limit: int) -> Claim:
        log = tuple(run.log) if run.head_seq <= log_limit else None
        return Claim(self._header(run), reclaimed, log)
