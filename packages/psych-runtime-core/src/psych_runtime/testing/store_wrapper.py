"""A Store that passes every call on: the base for wrappers that count, delay or break things."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

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
    Store,
    StoredRecord,
    Transition,
    WorkerSession,
)
from psych_runtime.spec.version import Version


class StoreWrapper:
    """Delegates everything to ``inner``. Override `around_write` to meddle with durable writes of
    Runs (admissions, appends and external appends); other methods can be overridden one by one.
    """

    def __init__(self, inner: Store) -> None:
        self.inner = inner

    async def around_write[T](self, what: str, write: Callable[[], object]) -> T:
        """Perform ``write`` (returns an awaitable); ``what`` names the method."""
        return await write()  # type: ignore[misc,no-any-return]

    async def migrate(self) -> None:
        await self.inner.migrate()

    async def close(self) -> None:
        await self.inner.close()

    async def now(self) -> datetime:
        return await self.inner.now()

    async def put_version(self, version: Version) -> None:
        await self.inner.put_version(version)

    async def get_version(self, version_hash: VersionHash) -> Version | None:
        return await self.inner.get_version(version_hash)

    async def create_run(self, run: NewRun, bodies: Sequence[bytes]) -> Created:
        created: Created = await self.around_write(
            "create_run", lambda: self.inner.create_run(run, bodies)
        )
        return created

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
        batch = tuple(bodies)
        base: int = await self.around_write(
            "append",
            lambda: self.inner.append(
                run_id,
                batch,
                lease=lease,
                batch_no=batch_no,
                strict_head=strict_head,
                transition=transition,
            ),
        )
        return base

    async def append_external(self, run_id: RunId, external: External) -> ExternalResult:
        result: ExternalResult = await self.around_write(
            "append_external", lambda: self.inner.append_external(run_id, external)
        )
        return result

    async def read(
        self, run_id: RunId, *, after: int = 0, limit: int | None = None
    ) -> list[StoredRecord]:
        return await self.inner.read(run_id, after=after, limit=limit)

    async def get_run(self, run_id: RunId) -> RunHeader | None:
        return await self.inner.get_run(run_id)

    async def heartbeat(self, session: WorkerSession) -> bool:
        return await self.inner.heartbeat(session)

    async def end_session(self, session_id: str) -> None:
        await self.inner.end_session(session_id)

    async def claim(
        self, session: WorkerSession, limit: int, *, log_limit: int = 256
    ) -> list[Claim]:
        return await self.inner.claim(session, limit, log_limit=log_limit)

    async def held(self, session_id: str) -> list[Claim]:
        return await self.inner.held(session_id)

    async def due(self, limit: int = 100) -> list[Due]:
        return await self.inner.due(limit)

    async def next_due_at(self) -> datetime | None:
        return await self.inner.next_due_at()

    async def list_runs(
        self, tenant: str, where: RunFilter, *, limit: int = 50, cursor: str | None = None
    ) -> RunPage:
        return await self.inner.list_runs(tenant, where, limit=limit, cursor=cursor)

    async def purge(self, before: datetime, *, tenant: str, limit: int = 100) -> int:
        return await self.inner.purge(before, tenant=tenant, limit=limit)

    def listen(self, listener: Listener) -> Callable[[], None]:
        return self.inner.listen(listener)


class CountingStore(StoreWrapper):
    """Counts calls by method name and records read, for tests of write budgets.

    Attributes:
        calls: Number of calls of each counted method.
        records_read: Records handed out by `read` and along with claims.
        bytes_written: Bytes of bodies appended.
    """

    def __init__(self, inner: Store) -> None:
        super().__init__(inner)
        self.calls: dict[str, int] = {}
        self.records_read = 0
        self.bytes_written = 0

    def _count(self, what: str) -> None:
        self.calls[what] = self.calls.get(what, 0) + 1

    async def around_write[T](self, what: str, write: Callable[[], object]) -> T:
        self._count(what)
        return await super().around_write(what, write)

    async def create_run(self, run: NewRun, bodies: Sequence[bytes]) -> Created:
        self.bytes_written += sum(map(len, bodies))
        return await super().create_run(run, bodies)

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
        self.bytes_written += sum(map(len, bodies))
        return await super().append(
            run_id,
            bodies,
            lease=lease,
            batch_no=batch_no,
            strict_head=strict_head,
            transition=transition,
        )

    async def read(
        self, run_id: RunId, *, after: int = 0, limit: int | None = None
    ) -> list[StoredRecord]:
        stored = await super().read(run_id, after=after, limit=limit)
        self._count("read")
        self.records_read += len(stored)
        return stored

    async def claim(
        self, session: WorkerSession, limit: int, *, log_limit: int = 256
    ) -> list[Claim]:
        claims = await super().claim(session, limit, log_limit=log_limit)
        if claims:
            self._count("claim")
            self.records_read += sum(len(claim.log or ()) for claim in claims)
        return claims
