"""The Store port: what a database adapter implements.

A Run is a *header* (one mutable row) and a *log* (immutable record bodies, numbered from 1 without
a gap). A store never looks inside a body: it keeps bytes and returns the same bytes. Every method
is one atomic call. ``docs/design-notes/store-port.md`` says why each rule exists.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol, runtime_checkable

from pydantic import BaseModel, ConfigDict, Field

from psych_runtime.ids import RunId, VersionHash, WorkerId
from psych_runtime.scope import Scope
from psych_runtime.spec.version import Version


class RunState(StrEnum):
    """What a Run's header says about who may work on it."""

    RUNNABLE = "runnable"
    """Claimable."""
    RUNNING = "running"
    """Held by a Worker's session; claimable again once that session has expired."""
    SUSPENDED = "suspended"
    """Waiting; claimable only after a write wakes it (or once it is aborted)."""
    SETTLED = "settled"
    """Ended; nothing is ever appended again."""


class OpenWait(BaseModel):
    """A wait as the header knows it, so that guards and expiry need no log read."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    wait_id: str
    """Identifies the wait inside its Run: a tool call id or a step id."""
    expires_at: datetime
    """When it expires (UTC)."""
    wake_at: datetime | None = None
    """When it ends by itself (timers), UTC."""


class OutboxEntry(BaseModel):
    """A duty towards another Run, recorded with the write that caused it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    key: str
    """Deduplicates the delivery; also the ``key`` of the `append_external` that delivers it."""
    target_run_id: RunId
    """The Run to deliver to."""
    body: bytes
    """The encoded record to append there."""


class RunHeader(BaseModel):
    """The mutable row of a Run, as read at one instant. All times are UTC."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    run_id: RunId
    scope: Scope
    version_hash: VersionHash
    name: str = ""
    """The Spec's name, for listing."""
    state: RunState
    created_at: datetime
    deadline_at: datetime
    """Absolute; moved by the write that wakes a waiting Run, by the time it waited."""
    idempotency_key: str | None = Field(default=None, max_length=256)
    priority: int = 0
    """Within a tenant, higher is claimed first; then older first."""
    concurrency_key: str | None = Field(default=None, max_length=256)
    """Runs of one tenant with the same key execute one at a time, in admission order."""
    parent_run_id: RunId | None = None
    delegation_depth: int = Field(default=0, ge=0)
    continues_run_id: RunId | None = None
    head_seq: int = Field(default=0, ge=0)
    epoch: int = Field(default=0, ge=0)
    """Number of claims so far; the fence of the current holder."""
    batch_no: int = Field(default=0, ge=0)
    """Last applied batch of the current epoch; 0 right after a claim."""
    crashes: int = Field(default=0, ge=0)
    """Claims that took the Run from an expired session. A clean release adds nothing."""
    session_id: str | None = None
    """The holder's session while RUNNING."""
    lease_holder: WorkerId | None = None
    """The holder's worker id while RUNNING."""
    lease_expires_at: datetime | None = None
    """When the holder's session lapses unless renewed, while RUNNING."""
    aborted: bool = False
    """Somebody asked for the Run to stop."""
    waits: tuple[OpenWait, ...] = ()
    """Open waits, oldest first."""
    suspended_at: datetime | None = None
    outbox: tuple[OutboxEntry, ...] = ()
    terminal_state: str | None = None
    settled_at: datetime | None = None
    purged: bool = False
    """A tombstone: the log is gone."""

    @property
    def attempt_count(self) -> int:
        """Number of claims so far (not of crashes: see ``crashes``)."""
        return self.epoch


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """One log entry as a store keeps it."""

    seq: int
    body: bytes


@dataclass(frozen=True, slots=True)
class NewRun:
    """What admission writes."""

    run_id: RunId
    scope: Scope
    version_hash: VersionHash
    name: str
    deadline_at: datetime
    idempotency_key: str | None = None
    priority: int = 0
    concurrency_key: str | None = None
    parent_run_id: RunId | None = None
    delegation_depth: int = 0
    continues_run_id: RunId | None = None


@dataclass(frozen=True, slots=True)
class Created:
    """Result of `Store.create_run`: the header, and whether this call made it."""

    header: RunHeader
    created: bool


@dataclass(frozen=True, slots=True)
class WorkerSession:
    """One Worker process: the thing whose liveness its Runs share.

    Attributes:
        session_id: Worker id + boot nonce; never reused.
        worker_id: The Worker's id.
        lease_seconds: How long a heartbeat keeps the session alive.
    """

    session_id: str
    worker_id: WorkerId
    lease_seconds: float


@dataclass(frozen=True, slots=True)
class Lease:
    """Proof of holding a Run: every fenced append carries it."""

    session_id: str
    worker_id: WorkerId
    epoch: int


@dataclass(frozen=True, slots=True)
class Claim:
    """A Run handed to a Worker.

    Attributes:
        header: The header after the claim (``state`` RUNNING, ``epoch`` raised, ``batch_no`` 0).
        reclaimed: True when it was taken from an expired session.
        log: The whole log when the store returned it along; use it only if its last seq is
            ``header.head_seq``. None: read it.
    """

    header: RunHeader
    reclaimed: bool = False
    log: tuple[StoredRecord, ...] | None = None


@dataclass(frozen=True, slots=True)
class Transition:
    """A change of the header that lands with a batch. Requires a strict head.

    Attributes:
        state: RUNNABLE (hand back), SUSPENDED (wait), SETTLED (end); RUNNING keeps the lease and
            only replaces ``waits`` and adds ``outbox``.
        waits: The open waits after the batch.
        runnable_after: With RUNNABLE or SUSPENDED: not claimable before this time (UTC).
        terminal_state: With SETTLED: the `TerminalState` value.
        outbox: Duties to record.
    """

    state: RunState
    waits: tuple[OpenWait, ...] = ()
    runnable_after: datetime | None = None
    terminal_state: str | None = None
    outbox: tuple[OutboxEntry, ...] = ()


class Guard(StrEnum):
    """A condition of an external append, judged on the locked header in the same write."""

    NOT_SETTLED = "not_settled"
    NOT_ABORTED = "not_aborted"
    WAIT_OPEN = "wait_open"
    """The wait named by ``External.wait_id`` is open."""
    UNHELD = "unheld"
    """Nobody holds the Run: not RUNNING, or RUNNING under an expired session."""


@dataclass(frozen=True, slots=True)
class External:
    """An append by somebody who does not hold the Run.

    Attributes:
        bodies: Encoded records, in order. May be empty (only header effects).
        key: Deduplicates: a second append with the same key returns the first one's result and
            writes nothing. Keys live as long as the Run. A refused append does not burn its key.
        guards: All must hold, else `GuardFailed` and nothing is written. NOT_SETTLED is always
            checked: nothing is ever appended to a settled Run.
        wait_id: The wait that WAIT_OPEN looks for, and that ``closes_wait`` closes.
        closes_wait: Remove ``wait_id`` from the header's open waits.
        wake: A SUSPENDED Run becomes RUNNABLE, and its deadline moves by the time it waited.
        aborts: Set ``aborted``; a SUSPENDED Run becomes RUNNABLE.
        strict_head: Required head; `SeqConflict` otherwise.
        transition: As in `Store.append`; with ``strict_head`` only.
        clears_outbox: Key of the outbox entry to remove.
    """

    bodies: tuple[bytes, ...]
    key: str
    guards: frozenset[Guard] = frozenset()
    wait_id: str | None = None
    closes_wait: bool = False
    wake: bool = False
    aborts: bool = False
    strict_head: int | None = None
    transition: Transition | None = None
    clears_outbox: str | None = None


@dataclass(frozen=True, slots=True)
class ExternalResult:
    """Result of `Store.append_external`.

    Attributes:
        base: The records took ``base + 1`` and up.
        applied: False when the key had been used before (this is the first one's result).
        state: The header's state after the write.
    """

    base: int
    applied: bool
    state: RunState


class DueKind(StrEnum):
    """Why `Store.due` names a Run."""

    DEADLINE = "deadline"
    """Its deadline has passed, it does not wait, and nobody holds it."""
    WAIT_EXPIRED = "wait_expired"
    TIMER = "timer"
    """An open wait's ``wake_at`` has passed."""
    OUTBOX = "outbox"
    ABORTED = "aborted"
    """Aborted, and nobody holds it."""


@dataclass(frozen=True, slots=True)
class Due:
    """One Run that a supervisor should look at."""

    header: RunHeader
    kind: DueKind


class WakeKind(StrEnum):
    """What a wake-up hints at."""

    RUNNABLE = "runnable"
    """The Run became claimable."""
    RECORDS = "records"
    """The holder appended to the Run's log, or released it."""
    EXTERNAL = "external"
    """Somebody who does not hold the Run wrote to it (or the store cannot tell who did)."""


Listener = Callable[[RunId, WakeKind], None]
"""Called on the listener's own loop, soon after the write; a hint, never needed for correctness."""


@dataclass(frozen=True, slots=True)
class RunFilter:
    """What `Store.list_runs` selects; every given condition must hold."""

    states: frozenset[RunState] = frozenset()
    terminal_states: frozenset[str] = frozenset()
    name: str | None = None
    version_hash: VersionHash | None = None
    created_after: datetime | None = None
    created_before: datetime | None = None
    parent_run_id: RunId | None = None
    continues_run_id: RunId | None = None
    labels: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class RunPage:
    """One page, newest first; pass ``cursor`` on for the next, None at the end."""

    headers: tuple[RunHeader, ...]
    cursor: str | None


@runtime_checkable
class Store(Protocol):
    """A durable log per Run, a claimable header per Run, and the Versions.

    Errors every method may raise: `StoreUnavailable` when the database did not answer (whether the
    write landed is unknown; the identical call may be made again).
    """

    async def migrate(self) -> None:
        """Create or upgrade the schema. Explicit, forward-only, safe when two call it."""
        ...

    async def close(self) -> None:
        """Release connections and threads. Safe to call twice."""
        ...

    async def now(self) -> datetime:
        """The store's clock (UTC), which decides leases and due times."""
        ...

    async def put_version(self, version: Version) -> None:
        """Store a Version; storing the same hash again changes nothing."""
        ...

    async def get_version(self, version_hash: VersionHash) -> Version | None:
        """Return a Version, or None when the hash is unknown."""
        ...

    async def create_run(self, run: NewRun, bodies: Sequence[bytes]) -> Created:
        """Admit a Run: header (RUNNABLE, ``created_at`` = the store's now) and first records, in
        one atomic write.

        Idempotent per ``(tenant, idempotency_key)`` and per ``run_id``: a second call returns the
        first Run with ``created=False`` and changes nothing. A ``run_id`` that exists under
        another tenant raises `SeqConflict`.
        """
        ...

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
        """Append all bodies or none, as the holder; return ``base`` (they took ``base + 1`` …).

        Accepted only if the header is RUNNING under ``lease`` (same session and epoch) and its
        ``batch_no`` is one less than the given. Sending an identical batch again after an unknown
        outcome returns the first one's ``base``: the header then shows this epoch and this
        ``batch_no`` (also after a transition released the Run).

        Raises:
            LeaseLost: The Run is held by another epoch or session, or by nobody.
            SeqConflict: ``strict_head`` is not the head; nothing was written.
            StoreRegressed: The header's ``batch_no`` is lower than ``batch_no - 1``.
            RunNotFound: No such Run.
        """
        ...

    async def append_external(self, run_id: RunId, external: External) -> ExternalResult:
        """Append without holding the Run; see `External`.

        Raises:
            GuardFailed: A guard does not hold.
            SeqConflict: ``strict_head`` is not the head.
            RunNotFound: No such Run.
        """
        ...

    async def read(
        self, run_id: RunId, *, after: int = 0, limit: int | None = None
    ) -> list[StoredRecord]:
        """Records with ``seq > after``, ascending, at most ``limit``. Unknown Run: empty."""
        ...

    async def get_run(self, run_id: RunId) -> RunHeader | None:
        """The header, or None."""
        ...

    async def heartbeat(self, session: WorkerSession) -> bool:
        """Create or renew the session for ``lease_seconds`` from the store's now.

        Returns False when the session was closed (a reclaimer found it expired): it is closed for
        good, and all its Runs are lost.
        """
        ...

    async def end_session(self, session_id: str) -> None:
        """Close the session. Runs it still holds become RUNNABLE at once and count no crash."""
        ...

    async def claim(
        self, session: WorkerSession, limit: int, *, log_limit: int = 256
    ) -> list[Claim]:
        """Take up to ``limit`` Runs for ``session``, creating or renewing the session.

        Candidates: RUNNABLE whose ``runnable_after`` has passed; RUNNING whose session has
        expired or is closed (that session is closed for good, ``crashes`` is raised). A
        concurrency key in use blocks younger Runs of that key. Order: aborted first, then
        rotating between tenants, then priority, then age. Each claim raises ``epoch`` and sets
        ``batch_no`` to 0. Logs of at most ``log_limit`` records come along. N claimers never get
        the same Run; an empty result means that a full pass found nothing.

        Raises:
            LeaseLost: The session is closed.
        """
        ...

    async def held(self, session_id: str) -> list[Claim]:
        """The Runs this session holds: what to ask after a claim with an unknown outcome."""
        ...

    async def due(self, limit: int = 100) -> list[Due]:
        """Runs that need a supervisor; see `DueKind`. Handling one twice must be harmless."""
        ...

    async def next_due_at(self) -> datetime | None:
        """When the earliest parked timer, expiry, ``runnable_after`` or lease lapse falls due;
        None when nothing is pending. A hint for idle Workers.
        """
        ...

    async def list_runs(
        self,
        tenant: str,
        where: RunFilter,
        *,
        limit: int = 50,
        cursor: str | None = None,
    ) -> RunPage:
        """A tenant's Runs, newest first, keyset-paged (a page never repeats or skips a Run that
        existed when paging began).
        """
        ...

    async def purge(self, before: datetime, *, tenant: str, limit: int = 100) -> int:
        """Remove the logs of at most ``limit`` Runs settled before ``before``; return how many.

        The header becomes a tombstone (``purged``), which keeps the idempotency key. Runs with an
        undelivered outbox, or with an unsettled child or continuation, are left alone.
        """
        ...

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Ask for wake-up hints on the running loop; returns the function that stops them.

        A store without wake-ups returns a function that does nothing, and callers poll.
        """
        ...
