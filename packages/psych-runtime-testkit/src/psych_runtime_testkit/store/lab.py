"""What the contract tests do with a store, in words of the Store port."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from itertools import count
from typing import Any

from psych_runtime.ids import RunId, VersionHash, WorkerId, new_run_id, new_worker_id
from psych_runtime.ports.store import (
    Claim,
    Created,
    DueKind,
    External,
    ExternalResult,
    Lease,
    NewRun,
    OpenWait,
    RunHeader,
    RunState,
    Store,
    Transition,
    WorkerSession,
)
from psych_runtime.scope import Scope

from psych_runtime_testkit.clock import ManualClock

LONG = 600.0
"""A lease that no test outlives, in seconds."""

_PATIENCE = 20.0


class StoreLab:
    """A store under test.

    Attributes:
        store: The store.
        brief: A lease short enough to wait for, in seconds.
        capabilities: What the adapter declares.
        reopen: Opens the same database once more.
    """

    def __init__(
        self,
        store: Store,
        clock: ManualClock | None,
        *,
        capabilities: frozenset[str] = frozenset(),
        reopen: Callable[[Store], Awaitable[Store]] | None = None,
    ) -> None:
        self.store = store
        self.brief = 30.0 if clock else 0.4
        self.capabilities = capabilities
        self.reopen = reopen
        self._clock = clock
        self._keys = count(1)

    async def pass_time(self, seconds: float) -> None:
        """Return when the store's clock has moved by at least ``seconds``."""
        target = await self.store.now() + timedelta(seconds=seconds)
        if self._clock is not None:
            self._clock.advance(seconds)
        async with asyncio.timeout(seconds + _PATIENCE):
            while await self.store.now() < target:  # noqa: ASYNC110
                await asyncio.sleep(0.01)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Return when ``condition`` holds.

        Raises:
            TimeoutError: It did not within twenty seconds.
        """
        async with asyncio.timeout(_PATIENCE):
            while not condition():  # noqa: ASYNC110
                await asyncio.sleep(0.005)

    async def ahead(self, seconds: float) -> datetime:
        """The store's now and ``seconds`` more."""
        return await self.store.now() + timedelta(seconds=seconds)

    # -- admission ---------------------------------------------------------------------------

    async def new_run(self, *, tenant: str = "acme", seconds: float = 3600, **more: Any) -> NewRun:
        """A Run to admit, with a deadline ``seconds`` from now."""
        more.setdefault("run_id", new_run_id())
        more.setdefault("scope", Scope(tenant=tenant))
        more.setdefault("version_hash", VersionHash("v" * 64))
        more.setdefault("name", "agent")
        more.setdefault("deadline_at", await self.ahead(seconds))
        return NewRun(**more)

    async def create(self, *bodies: bytes, **more: Any) -> Created:
        """Admit a Run with these first records (default: one)."""
        return await self.store.create_run(await self.new_run(**more), bodies or (b"admitted",))

    async def admit(self, *bodies: bytes, **more: Any) -> RunId:
        """`create`, returning the id."""
        return (await self.create(*bodies, **more)).header.run_id

    # -- holding -----------------------------------------------------------------------------

    def session(self, *, lease_seconds: float = LONG) -> WorkerSession:
        """A new Worker's session."""
        worker_id = new_worker_id()
        return WorkerSession(f"{worker_id}.1", WorkerId(worker_id), lease_seconds)

    async def claim(self, session: WorkerSession | None = None) -> Claim:
        """Claim one Run (by default for a new Worker); it is an error when there is none."""
        claims = await self.store.claim(session or self.session(), 1)
        assert len(claims) == 1, f"claim(limit=1) returned {len(claims)} Runs, expected one"
        return claims[0]

    async def claim_ids(
        self, limit: int = 100, session: WorkerSession | None = None
    ) -> list[RunId]:
        """The ids of the Runs that a claim hands over, in order."""
        claims = await self.store.claim(session or self.session(), limit)
        return [claim.header.run_id for claim in claims]

    async def held_run(self, *bodies: bytes, **more: Any) -> Claim:
        """Admit a Run and claim it; nothing else may be claimable."""
        run_id = await self.admit(*bodies, **more)
        claim = await self.claim()
        assert claim.header.run_id == run_id, "the claim handed over another Run"
        return claim

    def lease(self, claim: Claim) -> Lease:
        """The proof of holding that belongs to a claim."""
        header = claim.header
        assert header.session_id is not None, "a claimed header names no session"
        assert header.lease_holder is not None, "a claimed header names no holder"
        return Lease(header.session_id, header.lease_holder, header.epoch)

    async def append(self, claim: Claim, *bodies: bytes, batch_no: int = 1, **more: Any) -> int:
        """Append as the holder."""
        return await self.store.append(
            claim.header.run_id, bodies, lease=self.lease(claim), batch_no=batch_no, **more
        )

    async def move(
        self, claim: Claim, state: RunState, *bodies: bytes, batch_no: int = 1, **more: Any
    ) -> int:
        """Append as the holder with a transition to ``state``, at the present head."""
        if state is RunState.SETTLED:
            more.setdefault("terminal_state", "completed")
        head = (await self.header(claim.header.run_id)).head_seq
        transition = Transition(state, **more)
        return await self.append(
            claim, *bodies, batch_no=batch_no, strict_head=head, transition=transition
        )

    async def suspended_run(self, *wait_ids: str, seconds: float = 3600, **more: Any) -> RunId:
        """Admit, claim and suspend a Run with these open waits, which expire in ``seconds``."""
        claim = await self.held_run(**more)
        expires_at = await self.ahead(seconds)
        waits = tuple(OpenWait(wait_id=wait_id, expires_at=expires_at) for wait_id in wait_ids)
        await self.move(claim, RunState.SUSPENDED, b"suspended", waits=waits)
        return claim.header.run_id

    async def settled_run(self, **more: Any) -> RunId:
        """Admit, claim and settle a Run."""
        claim = await self.held_run(**more)
        await self.move(claim, RunState.SETTLED, b"settled")
        return claim.header.run_id

    # -- from outside ------------------------------------------------------------------------

    async def external(self, run_id: RunId, *bodies: bytes, **more: Any) -> ExternalResult:
        """Append without holding the Run, under a fresh key unless one is given."""
        more.setdefault("key", f"key-{next(self._keys)}")
        return await self.store.append_external(run_id, External(bodies, **more))

    # -- looking -----------------------------------------------------------------------------

    async def header(self, run_id: RunId) -> RunHeader:
        """The header, which must exist."""
        header = await self.store.get_run(run_id)
        assert header is not None, f"get_run({run_id!r}) returned None for an admitted Run"
        return header

    async def bodies(self, run_id: RunId) -> list[bytes]:
        """The log's bodies, having checked that their numbers have no gap."""
        records = await self.store.read(run_id)
        seqs = [record.seq for record in records]
        assert seqs == list(range(1, len(seqs) + 1)), f"the log's numbers are not gapless: {seqs}"
        return [record.body for record in records]

    async def due(self, *, limit: int = 100) -> set[tuple[RunId, DueKind]]:
        """What `Store.due` names."""
        return {(due.header.run_id, due.kind) for due in await self.store.due(limit)}

    async def gathered[T](self, calls: Sequence[Awaitable[T]]) -> list[T | BaseException]:
        """Results or errors of calls made at the same time."""
        return await asyncio.gather(*calls, return_exceptions=True)
