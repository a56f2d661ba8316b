"""A Run and a Worker session as the in-memory store keeps them."""

from __future__ import annotations

from datetime import datetime

from psych_runtime.ids import RunId, WorkerId
from psych_runtime.ports.store import NewRun, RunState, StoredRecord
from psych_runtime.store.rules import Row


class Run(Row):
    """A header with its log and its places in the indexes.

    Attributes:
        order: Admission order, unique in the store.
        log: The records, ascending.
        keys: Result of each external append, by its key.
        ticket: Raised whenever the Run is offered to claimers; older queue entries are void.
        session: The session that holds it.
    """

    __slots__ = ("keys", "log", "order", "session", "ticket")

    def __init__(self, run: NewRun, created_at: datetime, order: int) -> None:
        super().__init__(run, created_at, 0)
        self.order = order
        self.log: list[StoredRecord] = []
        self.keys: dict[str, tuple[int, RunState]] = {}
        self.ticket = 0
        self.session: Session | None = None

    def extend(self, bodies: tuple[bytes, ...]) -> int:
        """Append ``bodies`` and return the base."""
        base = self.head_seq
        seq = base
        for body in bodies:
            seq += 1
            self.log.append(StoredRecord(seq, body))
        self.head_seq = seq
        return base

    def held(self, now: datetime) -> bool:
        """Whether a live session holds it."""
        session = self.session
        return session is not None and not session.closed and session.expires_at > now


class Session:
    """One Worker's session and the Runs it holds."""

    __slots__ = ("closed", "expires_at", "runs", "session_id", "watched", "worker_id")

    def __init__(self, session_id: str, worker_id: WorkerId, expires_at: datetime) -> None:
        self.session_id = session_id
        self.worker_id = worker_id
        self.expires_at = expires_at
        self.closed = False
        self.watched = False
        self.runs: dict[RunId, Run] = {}
