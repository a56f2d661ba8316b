"""What a write does to a Run's header, for stores that decide while they hold the row locked.

A store that can read a header, lock it, and write it back uses these functions on a `Row`; a store
that decides inside one database statement writes the same rules in its own language.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from psych_runtime.errors import (
    GuardFailed,
    InvalidInput,
    LeaseLost,
    SeqConflict,
    StoreRegressed,
)
from psych_runtime.ids import RunId, VersionHash, WorkerId
from psych_runtime.ports.store import (
    External,
    Guard,
    Lease,
    NewRun,
    OpenWait,
    OutboxEntry,
    RunHeader,
    RunState,
    Transition,
)
from psych_runtime.scope import Scope


class Row:
    """A header that may be changed, with the few things a store keeps beside it.

    Attributes:
        runnable_after: Not claimable before this time (UTC).
        last_base: Base of the last applied batch of the current epoch.
        last_session: Session of the last claim; stays after a release, so that a resend of the
            releasing batch is recognised.
    """

    __slots__ = (
        "aborted",
        "batch_no",
        "concurrency_key",
        "continues_run_id",
        "crashes",
        "created_at",
        "deadline_at",
        "delegation_depth",
        "epoch",
        "head_seq",
        "idempotency_key",
        "last_base",
        "last_session",
        "lease_holder",
        "name",
        "outbox",
        "parent_run_id",
        "priority",
        "purged",
        "run_id",
        "runnable_after",
        "scope",
        "session_id",
        "settled_at",
        "state",
        "suspended_at",
        "terminal_state",
        "version_hash",
        "waits",
    )

    def __init__(self, run: NewRun, created_at: datetime, head_seq: int) -> None:
        self.run_id: RunId = run.run_id
        self.scope: Scope = run.scope
        self.version_hash: VersionHash = run.version_hash
        self.name: str = run.name
        self.deadline_at: datetime = run.deadline_at
        self.idempotency_key: str | None = run.idempotency_key
        self.priority: int = run.priority
        self.concurrency_key: str | None = run.concurrency_key
        self.parent_run_id: RunId | None = run.parent_run_id
        self.delegation_depth: int = run.delegation_depth
        self.continues_run_id: RunId | None = run.continues_run_id
        self.state: RunState = RunState.RUNNABLE
        self.created_at: datetime = created_at
        self.head_seq: int = head_seq
        self.epoch: int = 0
        self.batch_no: int = 0
        self.crashes: int = 0
        self.session_id: str | None = None
        self.lease_holder: WorkerId | None = None
        self.aborted: bool = False
        self.waits: tuple[OpenWait, ...] = ()
        self.suspended_at: datetime | None = None
        self.outbox: tuple[OutboxEntry, ...] = ()
        self.terminal_state: str | None = None
        self.settled_at: datetime | None = None
        self.purged: bool = False
        self.runnable_after: datetime | None = None
        self.last_base: int = 0
        self.last_session: str | None = None

    def header(self, lease_expires_at: datetime | None) -> RunHeader:
        """Return the frozen header; ``lease_expires_at`` is the holder's, if there is one."""
        # Built by hand: `model_construct` does the same in ten times the time, on every claim.
        header = RunHeader.__new__(RunHeader)
        fields = {
            "run_id": self.run_id,
            "scope": self.scope,
            "version_hash": self.version_hash,
            "name": self.name,
            "state": self.state,
            "created_at": self.created_at,
            "deadline_at": self.deadline_at,
            "idempotency_key": self.idempotency_key,
            "priority": self.priority,
            "concurrency_key": self.concurrency_key,
            "parent_run_id": self.parent_run_id,
            "delegation_depth": self.delegation_depth,
            "continues_run_id": self.continues_run_id,
            "head_seq": self.head_seq,
            "epoch": self.epoch,
            "batch_no": self.batch_no,
            "crashes": self.crashes,
            "session_id": self.session_id,
            "lease_holder": self.lease_holder,
            "lease_expires_at": lease_expires_at,
            "aborted": self.aborted,
            "waits": self.waits,
            "suspended_at": self.suspended_at,
            "outbox": self.outbox,
            "terminal_state": self.terminal_state,
            "settled_at": self.settled_at,
            "purged": self.purged,
        }
        object.__setattr__(header, "__dict__", fields)
        object.__setattr__(header, "__pydantic_fields_set__", _ALL_FIELDS)
        object.__setattr__(header, "__pydantic_extra__", None)
        object.__setattr__(header, "__pydantic_private__", None)
        return header


_ALL_FIELDS = set(RunHeader.model_fields)


def check_bodies(bodies: Sequence[bytes]) -> None:
    """Refuse what is not a sequence of immutable bytes.

    Raises:
        TypeError: A body is something else.
    """
    for body in bodies:
        if not isinstance(body, bytes):
            raise TypeError(f"a record body must be bytes, got {type(body).__name__}")


def parse_cursor(cursor: str | None) -> int | None:
    """Read a cursor of ``list_runs`` that is an admission order.

    Raises:
        InvalidInput: It is no such cursor.
    """
    if cursor is None:
        return None
    if not cursor.isascii() or not cursor.isdigit():
        raise InvalidInput(f"{cursor!r} is not a cursor: pass on the one a page came with")
    return int(cursor)


def check_append(
    row: Row, lease: Lease, batch_no: int, strict_head: int | None, transition: Transition | None
) -> int | None:
    """Judge a holder's append.

    Returns:
        None when it may be applied; the first one's base when this batch was applied before.

    Raises:
        ValueError: ``batch_no`` is below 1, or a transition comes without a strict head.
        LeaseLost: The Run is not held by ``lease``, or a later batch was applied already.
        StoreRegressed: The batch before this one is not there.
        SeqConflict: ``strict_head`` is not the head.
    """
    if batch_no < 1:
        raise ValueError(f"batch_no counts from 1 after a claim, got {batch_no}")
    if transition is not None and strict_head is None:
        raise ValueError("a transition needs strict_head: the head that the decision was made on")
    if row.epoch != lease.epoch or row.last_session != lease.session_id:
        raise LeaseLost(row.run_id, lease.worker_id)
    if row.batch_no == batch_no:
        return row.last_base
    if row.state is not RunState.RUNNING or row.batch_no > batch_no:
        raise LeaseLost(row.run_id, lease.worker_id)
    if row.batch_no < batch_no - 1:
        raise StoreRegressed(row.run_id, batch_no - 1, row.batch_no)
    if strict_head is not None and row.head_seq != strict_head:
        raise SeqConflict(row.run_id, row.head_seq)
    return None


def check_external_shape(external: External) -> None:
    """Refuse a contradictory `External`, before anything is locked.

    Raises:
        ValueError: It needs a ``wait_id`` or a ``strict_head`` that is missing, or has no key.
    """
    if not external.key:
        raise ValueError("an external append needs a key: it is what makes a resend harmless")
    if external.wait_id is None and (external.closes_wait or Guard.WAIT_OPEN in external.guards):
        raise ValueError("closes_wait and the guard wait_open need wait_id")
    if external.transition is not None and external.strict_head is None:
        raise ValueError("a transition needs strict_head: the head that the decision was made on")
    check_bodies(external.bodies)


def check_external(row: Row, external: External, *, held: bool) -> None:
    """Judge an external append whose key is new; ``held`` says whether somebody holds the Run.

    Raises:
        GuardFailed: A guard does not hold.
        SeqConflict: ``strict_head`` is not the head.
    """
    if row.state is RunState.SETTLED:
        raise GuardFailed(row.run_id, Guard.NOT_SETTLED.value)
    guards = external.guards
    if Guard.NOT_ABORTED in guards and row.aborted:
        raise GuardFailed(row.run_id, Guard.NOT_ABORTED.value)
    if Guard.WAIT_OPEN in guards and all(wait.wait_id != external.wait_id for wait in row.waits):
        raise GuardFailed(row.run_id, Guard.WAIT_OPEN.value)
    if Guard.UNHELD in guards and held:
        raise GuardFailed(row.run_id, Guard.UNHELD.value)
    if external.strict_head is not None and row.head_seq != external.strict_head:
        raise SeqConflict(row.run_id, row.head_seq)


def wake(row: Row, now: datetime) -> None:
    """Make a SUSPENDED Run RUNNABLE; its deadline moves by the time it waited."""
    if row.state is not RunState.SUSPENDED:
        return
    if row.suspended_at is not None and now > row.suspended_at:
        row.deadline_at += now - row.suspended_at
    row.suspended_at = None
    row.state = RunState.RUNNABLE


def apply_transition(row: Row, transition: Transition, now: datetime) -> None:
    """Change the header as ``transition`` says; RUNNING leaves state and lease as they are."""
    row.waits = transition.waits
    if transition.outbox:
        known = {entry.key for entry in row.outbox}
        row.outbox += tuple(entry for entry in transition.outbox if entry.key not in known)
    target = transition.state
    if target is RunState.RUNNING:
        return
    row.session_id = None
    row.lease_holder = None
    row.runnable_after = transition.runnable_after
    if target is RunState.SUSPENDED:
        if row.suspended_at is None:
            row.suspended_at = now
        row.state = RunState.SUSPENDED
        if row.aborted:
            wake(row, now)
    elif target is RunState.RUNNABLE:
        wake(row, now)
        row.state = RunState.RUNNABLE
    else:
        row.suspended_at = None
        row.runnable_after = None
        row.state = RunState.SETTLED
        row.terminal_state = transition.terminal_state
        row.settled_at = now


def apply_external(row: Row, external: External, now: datetime) -> None:
    """Apply the header effects of an external append that was judged acceptable."""
    if external.transition is not None:
        apply_transition(row, external.transition, now)
    if external.closes_wait:
        row.waits = tuple(wait for wait in row.waits if wait.wait_id != external.wait_id)
    if external.clears_outbox is not None:
        row.outbox = tuple(entry for entry in row.outbox if entry.key != external.clears_outbox)
    if external.aborts and row.state is not RunState.SETTLED:
        row.aborted = True
        row.runnable_after = None
        wake(row, now)
    if external.wake:
        wake(row, now)


def take(row: Row, session_id: str, worker_id: WorkerId) -> bool:
    """Hand a claimable Run to a session; True when it was taken from one that had expired."""
    reclaimed = row.state is RunState.RUNNING
    if reclaimed:
        row.crashes += 1
    row.state = RunState.RUNNING
    row.epoch += 1
    row.batch_no = 0
    row.last_base = row.head_seq
    row.session_id = row.last_session = session_id
    row.lease_holder = worker_id
    row.runnable_after = None
    return reclaimed


def release(row: Row) -> None:
    """Hand a RUNNING Run back without counting a crash."""
    row.state = RunState.RUNNABLE
    row.session_id = None
    row.lease_holder = None
