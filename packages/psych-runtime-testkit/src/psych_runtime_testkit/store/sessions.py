"""Sessions: liveness by the store's clock."""

from __future__ import annotations

import asyncio

import pytest
from psych_runtime.errors import LeaseLost
from psych_runtime.ports.store import RunState

from psych_runtime_testkit.store.base import StoreSuite
from psych_runtime_testkit.store.lab import LONG, StoreLab


class SessionContract(StoreSuite):
    """`Store.heartbeat` and `Store.end_session`."""

    async def test_expired_session_loses_its_runs_and_counts_a_crash(self, lab: StoreLab) -> None:
        run_id = await lab.admit()
        await lab.claim(lab.session(lease_seconds=lab.brief))
        await lab.pass_time(lab.brief)
        claim = await lab.claim()
        assert (claim.header.run_id, claim.reclaimed) == (run_id, True)
        assert (claim.header.epoch, claim.header.crashes) == (2, 1)

    async def test_clean_release_counts_no_crash(self, lab: StoreLab) -> None:
        claim = await lab.held_run()
        await lab.move(claim, RunState.RUNNABLE)
        again = await lab.claim()
        assert (again.reclaimed, again.header.epoch, again.header.crashes) == (False, 2, 0)
        assert again.header.attempt_count == 2

    async def test_heartbeat_keeps_the_runs_c24(self, lab: StoreLab) -> None:
        session = lab.session(lease_seconds=lab.brief)
        await lab.admit()
        claim = await lab.claim(session)
        await lab.pass_time(lab.brief)
        # Late, but before anybody looked: the Worker is alive.
        assert await lab.store.heartbeat(session)
        renewed = await lab.header(claim.header.run_id)
        assert renewed.lease_expires_at is not None
        assert claim.header.lease_expires_at is not None
        assert renewed.lease_expires_at > claim.header.lease_expires_at
        assert await lab.append(claim, b"alive") == 1

    async def test_renewed_session_is_not_reclaimed(self, lab: StoreLab) -> None:
        session = lab.session(lease_seconds=lab.brief)
        await lab.admit()
        await lab.claim(session)
        longer = type(session)(session.session_id, session.worker_id, LONG)
        assert await lab.store.heartbeat(longer)
        await lab.pass_time(lab.brief)
        assert await lab.claim_ids() == []

    async def test_claim_renews_the_session(self, lab: StoreLab) -> None:
        session = lab.session()
        await lab.admit()
        claim = await lab.claim(session)
        await lab.pass_time(lab.brief)
        assert await lab.claim_ids(session=session) == []
        renewed = (await lab.header(claim.header.run_id)).lease_expires_at
        assert renewed is not None
        assert claim.header.lease_expires_at is not None
        assert renewed > claim.header.lease_expires_at

    async def test_one_heartbeat_renews_all_runs(self, lab: StoreLab) -> None:
        session = lab.session()
        run_ids = [await lab.admit() for _ in range(3)]
        assert len(await lab.claim_ids(session=session)) == 3
        await lab.store.heartbeat(session)
        leases = {(await lab.header(run_id)).lease_expires_at for run_id in run_ids}
        assert len(leases) == 1

    async def test_reclaimed_session_is_closed_for_good(self, lab: StoreLab) -> None:
        session = lab.session(lease_seconds=lab.brief)
        await lab.admit()
        await lab.claim(session)
        await lab.pass_time(lab.brief)
        await lab.claim()
        assert not await lab.store.heartbeat(session), "a reclaimed session came back to life"
        with pytest.raises(LeaseLost):
            await lab.store.claim(session, 1)

    async def test_closed_session_loses_all_its_runs(self, lab: StoreLab) -> None:
        session = lab.session(lease_seconds=lab.brief)
        run_ids = {await lab.admit() for _ in range(3)}
        await lab.claim_ids(session=session)
        await lab.pass_time(lab.brief)
        other = lab.session()
        first = await lab.claim(other)
        assert not await lab.store.heartbeat(session)
        rest = await lab.store.claim(other, 10)
        assert {c.header.run_id for c in (first, *rest)} == run_ids
        assert all(c.reclaimed and c.header.crashes == 1 for c in (first, *rest))

    async def test_fresh_session_of_the_same_worker_reclaims(self, lab: StoreLab) -> None:
        session = lab.session(lease_seconds=lab.brief)
        run_id = await lab.admit()
        old = await lab.claim(session)
        await lab.pass_time(lab.brief)
        reborn = type(session)(f"{session.worker_id}.2", session.worker_id, LONG)
        new = await lab.claim(reborn)
        assert (new.header.run_id, new.reclaimed) == (run_id, True)
        with pytest.raises(LeaseLost):
            await lab.append(old, b"straggler")

    async def test_end_session_hands_its_runs_back_at_once(self, lab: StoreLab) -> None:
        session = lab.session()
        run_ids = {await lab.admit() for _ in range(2)}
        await lab.claim_ids(session=session)
        await lab.store.end_session(session.session_id)
        headers = [await lab.header(run_id) for run_id in run_ids]
        assert {h.state for h in headers} == {RunState.RUNNABLE}
        assert {h.session_id for h in headers} == {None}
        claims = await lab.store.claim(lab.session(), 10)
        assert {c.header.run_id for c in claims} == run_ids
        assert not any(c.reclaimed or c.header.crashes for c in claims)

    async def test_ended_session_stays_closed(self, lab: StoreLab) -> None:
        session = lab.session()
        assert await lab.store.heartbeat(session)
        await lab.store.end_session(session.session_id)
        await lab.store.end_session(session.session_id)
        assert not await lab.store.heartbeat(session)

    async def test_holder_of_an_ended_session_is_refused(self, lab: StoreLab) -> None:
        claim = await lab.held_run()
        assert claim.header.session_id is not None
        await lab.store.end_session(claim.header.session_id)
        with pytest.raises(LeaseLost):
            await lab.append(claim, b"straggler")

    async def test_lease_is_judged_by_the_stores_clock_c23(self, lab: StoreLab) -> None:
        before = await lab.store.now()
        claim = await lab.held_run()
        lapses = claim.header.lease_expires_at
        assert lapses is not None
        seconds = (lapses - before).total_seconds()
        assert LONG <= seconds <= LONG + 60
        assert await lab.claim_ids() == []

    async def test_heartbeat_from_another_thread_and_loop(self, lab: StoreLab) -> None:
        session = lab.session()
        await lab.admit()
        claim = await lab.claim(session)

        def beat() -> bool:
            return asyncio.run(lab.store.heartbeat(session))

        assert await asyncio.to_thread(beat)
        assert await lab.append(claim, b"still mine") == 1
