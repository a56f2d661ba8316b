"""Which Runs a supervisor should look at."""

from __future__ import annotations

from datetime import datetime
from heapq import heappop, heappush

from psych_runtime.ids import RunId
from psych_runtime.ports.store import DueKind, RunState
from psych_runtime.store.memory.run import Run

_Timed = tuple[datetime, int, Run]


class Schedule:
    """Runs by the time something of theirs falls due. A Run stays due until it was handled."""

    def __init__(self) -> None:
        self._deadlines: list[_Timed] = []
        self._waits: list[_Timed] = []
        self._ripe: dict[RunId, Run] = {}

    def watch_deadline(self, run: Run) -> None:
        """Note the Run's present deadline."""
        heappush(self._deadlines, (run.deadline_at, run.order, run))

    def watch(self, run: Run) -> None:
        """Note the Run's waits, its outbox and whether it was aborted."""
        for wait in run.waits:
            heappush(self._waits, (wait.expires_at, run.order, run))
            if wait.wake_at is not None:
                heappush(self._waits, (wait.wake_at, run.order, run))
        if run.outbox or run.aborted:
            self._ripe[run.run_id] = run

    def due(self, limit: int, now: datetime) -> list[tuple[Run, DueKind]]:
        """Up to ``limit`` duties. A Run that was named goes to the back, so none is starved."""
        for heap in (self._deadlines, self._waits):
            while heap and heap[0][0] <= now:
                run = heappop(heap)[2]
                self._ripe.setdefault(run.run_id, run)
        found: list[tuple[Run, DueKind]] = []
        for run_id, run in list(self._ripe.items()):
            if len(found) >= limit:
                break
            kinds = _kinds(run, now)
            if kinds or _ripens_by_itself(run, now):
                self._ripe[run_id] = self._ripe.pop(run_id)
                found.extend((run, kind) for kind in kinds)
            else:
                del self._ripe[run_id]
        return found[: max(limit, 0)]

    def next_wait_at(self, now: datetime) -> datetime | None:
        """When the earliest timer or expiry of an open wait falls (or fell) due."""
        times = [at for run in self._ripe.values() for at in _wait_times(run)]
        waits = self._waits
        while waits and waits[0][0] not in _wait_times(waits[0][2]):
            heappop(waits)
        if waits:
            times.append(waits[0][0])
        return min(times, default=None)


def _wait_times(run: Run) -> list[datetime]:
    if run.state is RunState.SETTLED:
        return []
    expiries = [wait.expires_at for wait in run.waits]
    return expiries + [wait.wake_at for wait in run.waits if wait.wake_at is not None]


def _kinds(run: Run, now: datetime) -> list[DueKind]:
    kinds: list[DueKind] = []
    if run.state is not RunState.SETTLED:
        held = run.held(now)
        if run.aborted and not held:
            kinds.append(DueKind.ABORTED)
        if run.deadline_at <= now and run.state is not RunState.SUSPENDED and not held:
            kinds.append(DueKind.DEADLINE)
        if any(wait.wake_at is not None and wait.wake_at <= now for wait in run.waits):
            kinds.append(DueKind.TIMER)
        if any(wait.expires_at <= now for wait in run.waits):
            kinds.append(DueKind.WAIT_EXPIRED)
    if run.outbox:
        kinds.append(DueKind.OUTBOX)
    return kinds


def _ripens_by_itself(run: Run, now: datetime) -> bool:
    """Whether a held Run falls due with no further write, by its holder's lapse."""
    return run.state is RunState.RUNNING and (run.aborted or run.deadline_at <= now)
