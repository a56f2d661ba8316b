"""Stores that hand over, judge or return wrongly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any

from psych_runtime.ids import RunId
from psych_runtime.ports.store import (
    Claim,
    Due,
    DueKind,
    External,
    ExternalResult,
    Listener,
    RunFilter,
    RunHeader,
    RunPage,
    RunState,
    StoredRecord,
    WorkerSession,
)

from psych_runtime_testkit.clock import ManualClock
from psych_runtime_testkit.mutants.store.writes import Mutated


class GapInSeq(Mutated):
    """Skips a number after the first batch."""

    async def read(self, run_id: RunId, **more: Any) -> list[StoredRecord]:
        records = await super().read(run_id, **more)
        return [StoredRecord(r.seq + (r.seq > 2), r.body) for r in records]


class DropsAtPageEnd(Mutated):
    """Loses the record after a full page."""

    async def read(
        self, run_id: RunId, *, after: int = 0, limit: int | None = None
    ) -> list[StoredRecord]:
        return await super().read(run_id, after=after + (after > 0), limit=limit)


class EndsAtNul(Mutated):
    """Cuts bodies at their first NUL byte."""

    async def read(self, run_id: RunId, **more: Any) -> list[StoredRecord]:
        records = await super().read(run_id, **more)
        return [StoredRecord(r.seq, r.body.split(b"\0")[0]) for r in records]


class ReEncodes(Mutated):
    """Keeps bodies as text."""

    async def read(self, run_id: RunId, **more: Any) -> list[StoredRecord]:
        records = await super().read(run_id, **more)
        return [StoredRecord(r.seq, r.body.decode(errors="replace").encode()) for r in records]


class FoldsCase(Mutated):
    """Takes ids that differ only by case for one."""

    async def create_run(self, run: Any, bodies: Any) -> Any:
        for known in self._runs.values():
            if known.run_id.lower() == run.run_id.lower():
                return await super().create_run(replace(run, run_id=known.run_id), bodies)
        return await super().create_run(run, bodies)


class DeadlineStandsStill(Mutated):
    """Shows the deadline that the Run was admitted with."""

    def __init__(self, clock: ManualClock) -> None:
        super().__init__(clock)
        self._first: dict[RunId, datetime] = {}

    async def get_run(self, run_id: RunId) -> RunHeader | None:
        header = await super().get_run(run_id)
        if header is None:
            return None
        deadline_at = self._first.setdefault(run_id, header.deadline_at)
        return header.model_copy(update={"deadline_at": deadline_at})


class AbortDoesNotWake(Mutated):
    """Notes the abort of a suspended Run and leaves it suspended."""

    async def append_external(self, run_id: RunId, external: External) -> ExternalResult:
        header = await self._known(run_id)
        result = await super().append_external(run_id, external)
        if external.aborts and header.state is RunState.SUSPENDED:
            self._runs[run_id].state = RunState.SUSPENDED
            self._queue.withdraw(self._runs[run_id])
            return ExternalResult(result.base, applied=True, state=RunState.SUSPENDED)
        return result


class ClaimsTwice(Mutated):
    """Hands the Runs of the last claim over again when it has no others."""

    _last: tuple[Claim, ...] = ()

    async def claim(self, session: WorkerSession, limit: int, **more: Any) -> list[Claim]:
        claims = await super().claim(session, limit, **more)
        if claims:
            self._last = tuple(claims)
            return claims
        return list(self._last[:limit])


class ReleaseCountsAsCrash(Mutated):
    """Counts every claim but the first as a crash."""

    async def claim(self, session: WorkerSession, limit: int, **more: Any) -> list[Claim]:
        claims = await super().claim(session, limit, **more)
        return [
            Claim(
                claim.header.model_copy(update={"crashes": claim.header.epoch - 1}),
                claim.reclaimed,
                claim.log,
            )
            for claim in claims
        ]


class NeverReclaims(Mutated):
    """Renews every session for ever."""

    async def claim(self, session: WorkerSession, limit: int, **more: Any) -> list[Claim]:
        for run in self._runs.values():
            if run.session is not None:
                run.session.expires_at = datetime.max.replace(tzinfo=self._clock().tzinfo)
        return await super().claim(session, limit, **more)


class SessionComesBack(Mutated):
    """Tells a Worker whose session was closed that all is well."""

    async def heartbeat(self, session: WorkerSession) -> bool:
        await super().heartbeat(session)
        return True


class EndForgetsRuns(Mutated):
    """Ends a session and leaves its Runs to expire."""

    async def end_session(self, session_id: str) -> None:
        return None


class DueForgets(Mutated):
    """Names what is due only once."""

    def __init__(self, clock: ManualClock) -> None:
        super().__init__(clock)
        self._named: set[tuple[RunId, DueKind]] = set()

    async def due(self, limit: int = 100) -> list[Due]:
        fresh = [
            d for d in await super().due(limit) if (d.header.run_id, d.kind) not in self._named
        ]
        self._named |= {(d.header.run_id, d.kind) for d in fresh}
        return fresh


class DueStarves(Mutated):
    """Always names the same first few."""

    async def due(self, limit: int = 100) -> list[Due]:
        everything = await super().due(10_000)
        return sorted(everything, key=lambda due: due.header.created_at)[:limit]


class PagingRepeats(Mutated):
    """Begins a page with the last Run of the page before."""

    async def list_runs(
        self, tenant: str, where: RunFilter, *, limit: int = 50, cursor: str | None = None
    ) -> RunPage:
        from_ = None if cursor is None else str(int(cursor) + 1)
        return await super().list_runs(tenant, where, limit=limit, cursor=from_)


class ListsEverybody(Mutated):
    """Lists the Runs of all tenants."""

    async def list_runs(self, tenant: str, where: RunFilter, **more: Any) -> RunPage:
        headers = [self._header(run) for run in self._runs.values()]
        return RunPage(tuple(reversed(headers)), None)


class PurgesUnsettled(Mutated):
    """Removes logs whatever the Run is doing."""

    async def purge(self, before: datetime, *, tenant: str, limit: int = 100) -> int:
        doomed = [r for r in self._runs.values() if r.scope.tenant == tenant and not r.purged]
        for run in doomed[:limit]:
            run.purged = True
            run.log.clear()
        return len(doomed[:limit])


class PurgeForgetsKeys(Mutated):
    """Forgets the idempotency key together with the log."""

    async def purge(self, before: datetime, *, tenant: str, limit: int = 100) -> int:
        self._by_key.clear()
        return await super().purge(before, tenant=tenant, limit=limit)


class Silent(Mutated):
    """Accepts listeners and tells them nothing."""

    def listen(self, listener: Listener) -> Callable[[], None]:
        return lambda: None
