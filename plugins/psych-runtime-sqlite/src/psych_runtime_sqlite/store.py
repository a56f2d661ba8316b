"""`SQLiteStore`."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from types import TracebackType
from weakref import finalize

from psych_runtime.errors import StoreError
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
    StoredRecord,
    Transition,
    WorkerSession,
)
from psych_runtime.spec.version import Version
from psych_runtime.store import rules

from psych_runtime_sqlite import catalog, claims, records, rows, runs, supervision, values
from psych_runtime_sqlite.engine import Engine


def _utc_now() -> datetime:
    return datetime.now(UTC)


class SQLiteStore:
    """A durable Store in one file, shared by the processes of one machine.

    The file is created, and an older one migrated, when it is first used. Writes that wait at the
    same moment share one commit; cancelling a caller never cancels its write. May be used from
    several threads and event loops, and in a forked child.

    Args:
        path: The file. On a local disk: SQLite's locks do not work over a network file system.
        clock: The store's clock, returning aware UTC times. Default: the system clock.

    Raises:
        ValueError: ``path`` names no file, such as ``:memory:``.

    Example:
        ```python
        async with SQLiteStore("runs.db") as store:
            ...
        ```
    """

    def __init__(
        self, path: str | os.PathLike[str], *, clock: Callable[[], datetime] | None = None
    ) -> None:
        name = os.fspath(path)
        if not name or name == ":memory:":
            raise ValueError(
                f"SQLiteStore needs the path of a file, got {name!r}; for a store in memory use "
                "psych_runtime.store.memory.InMemoryStore"
            )
        # Absolute, so that a later change of the working directory does not move the store.
        self._path = os.path.abspath(name)
        self._clock = clock or _utc_now
        self._rounds = supervision.Rounds()
        self._current: Engine | None = None
        self._closed = False

    async def __aenter__(self) -> SQLiteStore:
        await self.migrate()
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
        """Create or upgrade the file. Optional: the first use of an embedded file does it too."""
        await self._engine.open()

    async def close(self) -> None:
        """Finish what is queued and release the threads. Safe to call twice."""
        self._closed = True
        engine, self._current = self._current, None
        if engine is not None and engine.pid == os.getpid():
            engine.stop()
            await asyncio.to_thread(engine.join)

    async def now(self) -> datetime:
        """The store's clock (UTC)."""
        return self._clock()

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Ask for wake-up hints on the running loop; returns the function that stops them.

        Writes of other processes are noticed within about a tenth of a second.
        """
        return self._engine.listen(listener)

    # -- versions ----------------------------------------------------------------------------

    async def put_version(self, version: Version) -> None:
        """Store a Version; storing the same hash again changes nothing."""
        document = version.export_json()
        values.check_text("the Version", document)
        await self._engine.write(
            partial(catalog.put_version, version_hash=version.hash, document=document)
        )

    async def get_version(self, version_hash: VersionHash) -> Version | None:
        """Return a Version, or None when the hash is unknown."""
        return await self._engine.read(partial(catalog.get_version, version_hash=version_hash))

    # -- writing -----------------------------------------------------------------------------

    async def create_run(self, run: NewRun, bodies: Sequence[bytes]) -> Created:
        """Admit a Run; see `Store.create_run`."""
        bodies = tuple(bodies)
        rules.check_bodies(bodies)
        values.check_new_run(run)
        return await self._engine.write(partial(runs.create, run=run, bodies=bodies))

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
        return await self._engine.write(
            partial(
                runs.append,
                run_id=run_id,
                bodies=bodies,
                lease=lease,
                batch_no=batch_no,
                strict_head=strict_head,
                transition=transition,
            )
        )

    async def append_external(self, run_id: RunId, external: External) -> ExternalResult:
        """Append without holding the Run; see `Store.append_external`."""
        rules.check_external_shape(external)
        values.check_text("key", external.key)
        return await self._engine.write(
            partial(runs.append_external, run_id=run_id, external=external)
        )

    # -- reading -----------------------------------------------------------------------------

    async def read(
        self, run_id: RunId, *, after: int = 0, limit: int | None = None
    ) -> list[StoredRecord]:
        """Records with ``seq > after``; see `Store.read`."""
        return await self._engine.read(
            partial(records.read, run_id=run_id, after=after, limit=limit)
        )

    async def get_run(self, run_id: RunId) -> RunHeader | None:
        """The header, or None."""
        row = await self._engine.read(partial(rows.find, run_id=run_id))
        return None if row is None else row.as_header()

    async def list_runs(
        self, tenant: str, where: RunFilter, *, limit: int = 50, cursor: str | None = None
    ) -> RunPage:
        """A tenant's Runs, newest first; see `Store.list_runs`."""
        before = rules.parse_cursor(cursor)
        return await self._engine.read(
            partial(
                catalog.list_runs,
                tenant=tenant,
                where=where,
                limit=max(limit, 0),
                before=before,
            )
        )

    async def purge(self, before: datetime, *, tenant: str, limit: int = 100) -> int:
        """Remove old logs; see `Store.purge`."""
        return await self._engine.write(
            partial(catalog.purge, before=before, tenant=tenant, limit=max(limit, 0))
        )

    # -- sessions and claims -----------------------------------------------------------------

    async def heartbeat(self, session: WorkerSession) -> bool:
        """Create or renew the session; False when it was closed."""
        return await self._engine.write(partial(claims.renew, session=session))

    async def end_session(self, session_id: str) -> None:
        """Close the session and hand its Runs back."""
        await self._engine.write(partial(claims.end, session_id=session_id))

    async def claim(
        self, session: WorkerSession, limit: int, *, log_limit: int = 256
    ) -> list[Claim]:
        """Take up to ``limit`` Runs; see `Store.claim`."""
        return await self._engine.write(
            partial(claims.claim, session=session, limit=limit, log_limit=log_limit)
        )

    async def held(self, session_id: str) -> list[Claim]:
        """The Runs this session holds."""
        return await self._engine.read(partial(claims.held, session_id=session_id))

    async def due(self, limit: int = 100) -> list[Due]:
        """Runs that need a supervisor; see `DueKind`."""
        return await self._engine.read(
            partial(self._rounds.due, limit=max(limit, 0), now=self._clock())
        )

    async def next_due_at(self) -> datetime | None:
        """When the next timer, expiry, parked Run or lease lapse falls due."""
        return await self._engine.read(supervision.next_due_at)

    @property
    def _engine(self) -> Engine:
        engine = self._current
        if engine is None or engine.pid != os.getpid():
            if self._closed:
                raise StoreError("this SQLiteStore is closed; open a new one")
            engine = self._current = Engine(self._path, self._clock)
            finalize(self, engine.abandon)
        return engine
