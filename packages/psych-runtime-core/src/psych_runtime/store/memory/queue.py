"""Which Run is claimed next.

Every structure holds only Runs that were offered; entries made void since are dropped when they
come up. Settled Runs are never looked at.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from datetime import datetime
from heapq import heappop, heappush

from psych_runtime.ports.store import RunState
from psych_runtime.store.memory.run import Run

_Urgent = tuple[int, int, Run]
_Ready = tuple[int, int, int, Run]
_Parked = tuple[datetime, int, int, Run]


class ClaimQueue:
    """Claimable Runs: aborted first, then a ring of tenants, each ordered by priority and age."""

    def __init__(self) -> None:
        self._urgent: list[_Urgent] = []
        self._ring: deque[str] = deque()
        self._tenants: dict[str, list[_Ready]] = {}
        self._parked: list[_Parked] = []
        self._lines: dict[tuple[str, str], deque[Run]] = {}

    def admit(self, run: Run) -> None:
        """Give a new Run its place in the line of its concurrency key."""
        if run.concurrency_key is not None:
            self._line(run).append(run)

    def offer(self, run: Run, now: datetime) -> bool:
        """Put a claimable Run where a claim finds it; False when it has to wait first."""
        run.ticket += 1
        if run.runnable_after is not None and run.runnable_after > now:
            heappush(self._parked, (run.runnable_after, run.order, run.ticket, run))
            return False
        if run.aborted:
            heappush(self._urgent, (run.order, run.ticket, run))
            return True
        if run.concurrency_key is not None and self._line(run)[0] is not run:
            return False
        tenant = run.scope.tenant
        ready = self._tenants.get(tenant)
        if ready is None:
            ready = self._tenants[tenant] = []
            self._ring.append(tenant)
        heappush(ready, (-run.priority, run.order, run.ticket, run))
        return True

    def withdraw(self, run: Run) -> None:
        """Void every queue entry of a Run that is no longer claimable."""
        run.ticket += 1

    def settled(self, run: Run, now: datetime) -> Run | None:
        """Let the next Run of its concurrency key go; return it when it became claimable."""
        self.withdraw(run)
        if run.concurrency_key is None:
            return None
        line = self._line(run)
        promote = line[0] is run
        while line and line[0].state is RunState.SETTLED:
            line.popleft()
        if not line:
            del self._lines[(run.scope.tenant, run.concurrency_key)]
            return None
        head = line[0]
        if promote and head.state is RunState.RUNNABLE and self.offer(head, now):
            return head
        return None

    def take(self, limit: int, now: datetime, into: Callable[[Run], None]) -> None:
        """Pass up to ``limit`` Runs, in order, to ``into``, which makes each one RUNNING."""
        self._unpark(now)
        while limit > 0 and self._urgent:
            _, ticket, run = heappop(self._urgent)
            if ticket == run.ticket:
                into(run)
                limit -= 1
        while limit > 0 and self._ring:
            tenant = self._ring.popleft()
            ready = self._tenants[tenant]
            while ready:
                _, _, ticket, run = heappop(ready)
                if ticket == run.ticket:
                    into(run)
                    limit -= 1
                    break
            if ready:
                self._ring.append(tenant)
            else:
                del self._tenants[tenant]

    def next_parked_at(self) -> datetime | None:
        """When the earliest parked Run becomes claimable."""
        parked = self._parked
        while parked and parked[0][2] != parked[0][3].ticket:
            heappop(parked)
        return parked[0][0] if parked else None

    def _unpark(self, now: datetime) -> None:
        parked = self._parked
        while parked and parked[0][0] <= now:
            _, _, ticket, run = heappop(parked)
            if ticket == run.ticket:
                self.offer(run, now)

    def _line(self, run: Run) -> deque[Run]:
        assert run.concurrency_key is not None
        return self._lines.setdefault((run.scope.tenant, run.concurrency_key), deque())
