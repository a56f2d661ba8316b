"""Stores that write wrongly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from psych_runtime.errors import GuardFailed
from psych_runtime.ids import RunId, WorkerId
from psych_runtime.ports.store import (
    Created,
    External,
    ExternalResult,
    Lease,
    NewRun,
    RunHeader,
    RunState,
)
from psych_runtime.store.memory import InMemoryStore

from psych_runtime_testkit.clock import ManualClock


class Mutated(InMemoryStore):
    """The reference store on a manual clock, to be made wrong in one way."""

    def __init__(self, clock: ManualClock) -> None:
        super().__init__(clock=clock)

    async def _known(self, run_id: RunId) -> RunHeader:
        header = await super().get_run(run_id)
        assert header is not None
        return header


class NoEpochFence(Mutated):
    """Lets whoever appends pass for the holder."""

    async def append(self, run_id: RunId, bodies: Sequence[bytes], **more: Any) -> int:
        header = await self._known(run_id)
        if header.state is RunState.RUNNING:
            session = header.session_id or ""
            more["lease"] = Lease(session, header.lease_holder or WorkerId(""), header.epoch)
        return await super().append(run_id, bodies, **more)


class NoSessionFence(Mutated):
    """Looks at the epoch of a lease and not at its session."""

    async def append(self, run_id: RunId, bodies: Sequence[bytes], **more: Any) -> int:
        header = await self._known(run_id)
        if header.session_id is not None:
            more["lease"] = replace(more["lease"], session_id=header.session_id)
        return await super().append(run_id, bodies, **more)


class NoBatchCheck(Mutated):
    """Does not notice that the batch before this one is missing."""

    async def append(self, run_id: RunId, bodies: Sequence[bytes], **more: Any) -> int:
        last = (await self._known(run_id)).batch_no
        more["batch_no"] = min(more["batch_no"], last + 1)
        return await super().append(run_id, bodies, **more)


class ResendAppends(Mutated):
    """Takes a resent batch for the next one."""

    async def append(self, run_id: RunId, bodies: Sequence[bytes], **more: Any) -> int:
        last = (await self._known(run_id)).batch_no
        more["batch_no"] += more["batch_no"] == last
        return await super().append(run_id, bodies, **more)


class IgnoresStrictHead(Mutated):
    """Writes a decision although the log has moved on."""

    async def append(self, run_id: RunId, bodies: Sequence[bytes], **more: Any) -> int:
        if more.get("strict_head") is not None:
            more["strict_head"] = (await self._known(run_id)).head_seq
        return await super().append(run_id, bodies, **more)


class ForgetsParking(Mutated):
    """Drops ``runnable_after``."""

    async def append(self, run_id: RunId, bodies: Sequence[bytes], **more: Any) -> int:
        if more.get("transition") is not None:
            more["transition"] = replace(more["transition"], runnable_after=None)
        return await super().append(run_id, bodies, **more)


class ForgetsOutbox(Mutated):
    """Drops the duties of a transition."""

    async def append(self, run_id: RunId, bodies: Sequence[bytes], **more: Any) -> int:
        if more.get("transition") is not None:
            more["transition"] = replace(more["transition"], outbox=())
        return await super().append(run_id, bodies, **more)


class IgnoresExternalKey(Mutated):
    """Writes every resend of an external append."""

    _sent = 0

    async def append_external(self, run_id: RunId, external: External) -> ExternalResult:
        self._sent += 1
        return await super().append_external(run_id, replace(external, key=f"{self._sent}"))


class IgnoresGuards(Mutated):
    """Judges no guard."""

    async def append_external(self, run_id: RunId, external: External) -> ExternalResult:
        return await super().append_external(run_id, replace(external, guards=frozenset()))


class RefusalBurnsKey(Mutated):
    """Takes a key for used although the append under it was refused."""

    def __init__(self, clock: ManualClock) -> None:
        super().__init__(clock)
        self._burnt: set[tuple[RunId, str]] = set()

    async def append_external(self, run_id: RunId, external: External) -> ExternalResult:
        if (run_id, external.key) in self._burnt:
            header = await self._known(run_id)
            return ExternalResult(header.head_seq, applied=False, state=header.state)
        try:
            return await super().append_external(run_id, external)
        except GuardFailed:
            self._burnt.add((run_id, external.key))
            raise


class NeverWakes(Mutated):
    """Leaves a suspended Run suspended when a write should wake it."""

    async def append_external(self, run_id: RunId, external: External) -> ExternalResult:
        return await super().append_external(run_id, replace(external, wake=False))


class GlobalIdempotency(Mutated):
    """Answers an idempotency key with another tenant's Run."""

    def __init__(self, clock: ManualClock) -> None:
        super().__init__(clock)
        self._keys: dict[str, RunId] = {}

    async def create_run(self, run: NewRun, bodies: Sequence[bytes]) -> Created:
        if run.idempotency_key is not None:
            first = self._keys.setdefault(run.idempotency_key, run.run_id)
            if first != run.run_id:
                return Created(await self._known(first), created=False)
        return await super().create_run(run, bodies)


class NoIdempotency(Mutated):
    """Forgets the idempotency key."""

    async def create_run(self, run: NewRun, bodies: Sequence[bytes]) -> Created:
        return await super().create_run(replace(run, idempotency_key=None), bodies)


class IgnoresConcurrencyKey(Mutated):
    """Lets all Runs of a concurrency key go at once."""

    async def create_run(self, run: NewRun, bodies: Sequence[bytes]) -> Created:
        return await super().create_run(replace(run, concurrency_key=None), bodies)


class IgnoresPriority(Mutated):
    """Claims by age alone."""

    async def create_run(self, run: NewRun, bodies: Sequence[bytes]) -> Created:
        return await super().create_run(replace(run, priority=0), bodies)
