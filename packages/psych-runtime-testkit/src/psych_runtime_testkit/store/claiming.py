"""Claims."""

from __future__ import annotations

import asyncio

import pytest
from psych_runtime.errors import LeaseLost
from psych_runtime.ids import RunId
from psych_runtime.ports.store import Claim, RunState, Transition

from psych_runtime_testkit.store.base import StoreSuite
from psych_runtime_testkit.store.lab import LONG, StoreLab


class ClaimContract(StoreSuite):
    """`Store.claim` and `Store.held`."""

    async def test_claim_hands_over_header_and_log(self, lab: StoreLab) -> None:
        run_id = await lab.admit(b"one", b"two")
        session = lab.session()
        claim = await lab.claim(session)
        header = claim.header
        assert (header.run_id, header.state) == (run_id, RunState.RUNNING)
        assert (header.epoch, header.batch_no, header.crashes) == (1, 0, 0)
        assert (header.session_id, header.lease_holder) == (session.session_id, session.worker_id)
        assert header.lease_expires_at is not None
        assert header.lease_expires_at <= await lab.ahead(LONG)
        assert not claim.reclaimed
        assert header == await lab.header(run_id)
        assert claim.log is None or [r.body for r in claim.log] == [b"one", b"two"]

    async def test_log_longer_than_the_limit_stays_behind(self, lab: StoreLab) -> None:
        await lab.admit(b"one", b"two")
        (claim,) = await lab.store.claim(lab.session(), 1, log_limit=1)
        assert claim.log is None

    async def test_nothing_claimable_is_an_empty_list(self, lab: StoreLab) -> None:
        assert await lab.claim_ids() == []

    async def test_claimed_run_is_not_claimed_again(self, lab: StoreLab) -> None:
        await lab.held_run()
        assert await lab.claim_ids() == []

    async def test_own_session_does_not_reclaim_its_runs_c8(self, lab: StoreLab) -> None:
        session = lab.session(lease_seconds=lab.brief)
        await lab.admit()
        await lab.claim(session)
        await lab.pass_time(lab.brief)
        assert await lab.claim_ids(session=session) == []

    async def test_limit_is_kept(self, lab: StoreLab) -> None:
        for _ in range(5):
            await lab.admit()
        session = lab.session()
        assert await lab.claim_ids(0, session) == []
        assert len(await lab.claim_ids(3, session)) == 3
        assert len(await lab.claim_ids(3, session)) == 2

    async def test_racing_claimers_never_share_a_run(self, lab: StoreLab) -> None:
        admitted = {await lab.admit(tenant=f"t{n % 5}") for n in range(40)}

        async def work() -> list[RunId]:
            session = lab.session()
            got: list[RunId] = []
            while claims := await lab.store.claim(session, 3):
                got += [claim.header.run_id for claim in claims]
                await asyncio.sleep(0)
            return got

        got = [
            run_id for mine in await asyncio.gather(*(work() for _ in range(8))) for run_id in mine
        ]
        assert len(got) == 40, f"{len(got)} claims of 40 Runs"
        assert set(got) == admitted

    async def test_older_run_first_c126(self, lab: StoreLab) -> None:
        admitted = [await lab.admit() for _ in range(4)]
        assert await lab.claim_ids() == admitted

    async def test_higher_priority_first(self, lab: StoreLab) -> None:
        low = await lab.admit(priority=-1)
        middle = await lab.admit()
        high = await lab.admit(priority=9)
        assert await lab.claim_ids() == [high, middle, low]

    async def test_tenants_take_turns(self, lab: StoreLab) -> None:
        for _ in range(4):
            await lab.admit(tenant="busy", priority=100)
        quiet = [await lab.admit(tenant="quiet") for _ in range(2)]
        session = lab.session()
        claimed = [(await lab.claim_ids(1, session))[0] for _ in range(4)]
        assert {run_id for run_id in claimed if run_id in quiet} == set(quiet)

    async def test_tenants_take_turns_within_one_claim(self, lab: StoreLab) -> None:
        for tenant in ("a", "a", "a", "b", "c"):
            await lab.admit(tenant=tenant)
        claims = await lab.store.claim(lab.session(), 3)
        assert {claim.header.scope.tenant for claim in claims} == {"a", "b", "c"}

    async def test_aborted_run_before_all_others(self, lab: StoreLab) -> None:
        await lab.admit(priority=100)
        aborted = await lab.admit(priority=-100)
        await lab.external(aborted, aborts=True)
        assert (await lab.claim_ids())[0] == aborted

    async def test_concurrency_key_lets_one_run_go_at_a_time(self, lab: StoreLab) -> None:
        first = await lab.admit(concurrency_key="line")
        second = await lab.admit(concurrency_key="line", priority=9)
        other = await lab.admit(concurrency_key="another")
        elsewhere = await lab.admit(concurrency_key="line", tenant="umbrella")
        session = lab.session()
        claims = {c.header.run_id: c for c in await lab.store.claim(session, 100)}
        assert set(claims) == {first, other, elsewhere}
        await lab.move(claims[first], RunState.RUNNABLE)
        again = await lab.claim(session)
        assert again.header.run_id == first, "a younger Run overtook its concurrency key"
        await lab.move(again, RunState.SETTLED)
        assert await lab.claim_ids(session=session) == [second]

    async def test_suspended_run_keeps_its_concurrency_key(self, lab: StoreLab) -> None:
        run_id = await lab.suspended_run("a", concurrency_key="line")
        second = await lab.admit(concurrency_key="line")
        assert await lab.claim_ids() == []
        expired = Transition(RunState.SETTLED, terminal_state="expired")
        await lab.external(run_id, strict_head=2, transition=expired)
        assert await lab.claim_ids() == [second]

    async def test_aborted_run_ignores_its_concurrency_key(self, lab: StoreLab) -> None:
        await lab.held_run(concurrency_key="line")
        second = await lab.admit(concurrency_key="line")
        await lab.external(second, aborts=True)
        assert await lab.claim_ids() == [second]

    async def test_crash_frees_the_concurrency_key_c6(self, lab: StoreLab) -> None:
        run_id = await lab.admit(concurrency_key="line")
        await lab.claim(lab.session(lease_seconds=lab.brief))
        await lab.admit(concurrency_key="line")
        await lab.pass_time(lab.brief)
        assert await lab.claim_ids() == [run_id]

    async def test_held_names_what_a_lost_answer_claimed(self, lab: StoreLab) -> None:
        session = lab.session()
        admitted = {await lab.admit() for _ in range(3)}
        released = await lab.claim(session)
        await lab.claim_ids(session=session)
        await lab.move(released, RunState.RUNNABLE)
        held: list[Claim] = await lab.store.held(session.session_id)
        assert {c.header.run_id for c in held} == admitted - {released.header.run_id}
        assert all(c.header.session_id == session.session_id for c in held)
        assert await lab.store.held("nobody") == []

    async def test_claim_with_a_closed_session_is_refused(self, lab: StoreLab) -> None:
        await lab.admit()
        session = lab.session()
        await lab.store.heartbeat(session)
        await lab.store.end_session(session.session_id)
        with pytest.raises(LeaseLost):
            await lab.store.claim(session, 1)
        assert len(await lab.claim_ids()) == 1
