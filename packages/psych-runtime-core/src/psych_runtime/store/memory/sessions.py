"""Worker sessions: who is alive by the store's clock."""

from __future__ import annotations

from datetime import datetime, timedelta
from heapq import heappop, heappush

from psych_runtime.ports.store import WorkerSession
from psych_runtime.store.memory.run import Run, Session


class Sessions:
    """Open sessions by the time they lapse, and the ids of those closed for good."""

    def __init__(self) -> None:
        self._open: dict[str, Session] = {}
        self._closed: set[str] = set()
        self._lapses: list[tuple[datetime, str, Session]] = []

    def get(self, session_id: str) -> Session | None:
        """The open session of this id."""
        return self._open.get(session_id)

    def renew(self, worker: WorkerSession, now: datetime) -> Session | None:
        """Create or renew a session; None when it was closed."""
        if worker.session_id in self._closed:
            return None
        expires_at = now + timedelta(seconds=worker.lease_seconds)
        session = self._open.get(worker.session_id)
        if session is None:
            session = Session(worker.session_id, worker.worker_id, expires_at)
            self._open[worker.session_id] = session
        if not session.watched or expires_at < session.expires_at:
            session.watched = True
            heappush(self._lapses, (expires_at, session.session_id, session))
        session.expires_at = expires_at
        return session

    def close(self, session_id: str) -> list[Run]:
        """Close a session for good; return the Runs it held."""
        self._closed.add(session_id)
        session = self._open.pop(session_id, None)
        if session is None:
            return []
        session.closed = True
        return list(session.runs.values())

    def expire(self, now: datetime) -> list[Run]:
        """Close every lapsed session that holds Runs; return those Runs."""
        lost: list[Run] = []
        while self._lapses and self._lapses[0][0] <= now:
            session = heappop(self._lapses)[2]
            if session.closed:
                continue
            if session.expires_at > now:
                heappush(self._lapses, (session.expires_at, session.session_id, session))
            elif session.runs:
                lost.extend(self.close(session.session_id))
            else:
                session.watched = False
        return lost

    def next_lapse_at(self) -> datetime | None:
        """When the earliest session that holds Runs lapses (or lapsed)."""
        return min((s.expires_at for s in self._open.values() if s.runs), default=None)
