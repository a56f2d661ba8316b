"""Appends by the holder, and the fence."""

from __future__ import annotations

import asyncio

import pytest
from psych_runtime.errors import LeaseLost, RunNotFound, SeqConflict, StoreRegressed
from psych_runtime.ids import RunId, WorkerId
from psych_runtime.ports.store import Lease, OpenWait, OutboxEntry, RunState, Transition

from psych_runtime_testkit.store.base import StoreSuite
from psych_runtime_testkit.store.lab import StoreLab


class AppendContract(StoreSuite):
    """`Store.append`."""

    async def test_append_takes_the_numbers_after_the_head(self, lab: StoreLab) -> None:
        claim = await lab.held_run(b"a", b"b")
        assert await lab.append(claim, b"c", b"d") == 2
        assert await lab.append(claim, b"e", batch_no=2) == 4
        assert await lab.bodies(claim.header.run_id) == [b"a", b"b", b"c", b"d", b"e"]
        header = await lab.header(claim.header.run_id)
        assert (header.head_seq, header.batch_no, header.epoch) == (5, 2, 1)

    async def test_append_to_an_unknown_run_is_not_found(self, lab: StoreLab) -> None:
        with pytest.raises(RunNotFound):
            await lab.store.append(
                RunId("run_nobody"), [b"x"], lease=Lease("s", WorkerId("w"), 1), batch_no=1
            )

    async def test_append_without_a_claim_is_refused(self, lab: StoreLab) -> None:
        run_id = await lab.admit()
        with pytest.raises(LeaseLost):
            await lab.store.append(run_id, [b"x"], lease=Lease("s", WorkerId("w"), 1), batch_no=1)
        assert await lab.bodies(run_id) == [b"admitted"]

    async def test_straggler_of_an_older_epoch_gets_nothing_in(self, lab: StoreLab) -> None:
        session = lab.session()
        run_id = await lab.admit()
        old = await lab.claim(session)
        await lab.move(old, RunState.RUNNABLE)
        new = await lab.claim(session)
        assert new.header.epoch == old.header.epoch + 1
        for batch_no in (1, 2):
            with pytest.raises(LeaseLost):
                await lab.append(old, b"straggler", batch_no=batch_no)
        await lab.append(new, b"mine")
        assert await lab.bodies(run_id) == [b"admitted", b"mine"]

    async def test_another_session_with_the_right_epoch_is_refused(self, lab: StoreLab) -> None:
        claim = await lab.held_run()
        lease = Lease("another", WorkerId("another"), claim.header.epoch)
        with pytest.raises(LeaseLost):
            await lab.store.append(claim.header.run_id, [b"x"], lease=lease, batch_no=1)
        assert await lab.bodies(claim.header.run_id) == [b"admitted"]

    async def test_reclaimed_holder_is_refused(self, lab: StoreLab) -> None:
        run_id = await lab.admit()
        old = await lab.claim(lab.session(lease_seconds=lab.brief))
        await lab.pass_time(lab.brief)
        new = await lab.claim()
        with pytest.raises(LeaseLost):
            await lab.append(old, b"straggler")
        await lab.append(new, b"mine")
        assert await lab.bodies(run_id) == [b"admitted", b"mine"]

    async def test_identical_resend_returns_the_first_base(self, lab: StoreLab) -> None:
        claim = await lab.held_run()
        base = await lab.append(claim, b"x", b"y")
        await lab.external(claim.header.run_id, b"between")
        assert await lab.append(claim, b"x", b"y") == base
        assert await lab.bodies(claim.header.run_id) == [b"admitted", b"x", b"y", b"between"]

    async def test_resend_of_the_batch_that_released_the_run(self, lab: StoreLab) -> None:
        claim = await lab.held_run()
        for _ in range(2):
            base = await lab.append(
                claim, b"bye", strict_head=1, transition=Transition(RunState.RUNNABLE)
            )
            assert base == 1
        assert await lab.bodies(claim.header.run_id) == [b"admitted", b"bye"]

    async def test_batch_older_than_the_last_is_refused(self, lab: StoreLab) -> None:
        claim = await lab.held_run()
        await lab.append(claim, b"one")
        await lab.append(claim, b"two", batch_no=2)
        with pytest.raises(LeaseLost):
            await lab.append(claim, b"one")
        assert await lab.bodies(claim.header.run_id) == [b"admitted", b"one", b"two"]

    async def test_missing_batch_means_the_store_regressed(self, lab: StoreLab) -> None:
        claim = await lab.held_run()
        await lab.append(claim, b"one")
        with pytest.raises(StoreRegressed):
            await lab.append(claim, b"three", batch_no=3)
        assert await lab.bodies(claim.header.run_id) == [b"admitted", b"one"]

    async def test_batch_numbers_start_again_with_each_claim(self, lab: StoreLab) -> None:
        claim = await lab.held_run()
        await lab.append(claim, b"one")
        await lab.move(claim, RunState.RUNNABLE, batch_no=2)
        again = await lab.claim()
        assert again.header.batch_no == 0
        assert await lab.append(again, b"two") == 2

    async def test_strict_head_that_moved_is_a_conflict(self, lab: StoreLab) -> None:
        claim = await lab.held_run()
        await lab.external(claim.header.run_id, b"steer")
        with pytest.raises(SeqConflict) as caught:
            await lab.append(
                claim,
                b"settled",
                strict_head=1,
                transition=Transition(RunState.SETTLED, terminal_state="completed"),
            )
        assert caught.value.seq == 2
        header = await lab.header(claim.header.run_id)
        assert (header.state, header.batch_no) == (RunState.RUNNING, 0)
        assert await lab.append(claim, b"again", strict_head=2) == 2
        assert await lab.bodies(claim.header.run_id) == [b"admitted", b"steer", b"again"]

    async def test_fact_goes_after_foreign_records(self, lab: StoreLab) -> None:
        claim = await lab.held_run()
        await lab.external(claim.header.run_id, b"steer")
        assert await lab.append(claim, b"fact") == 2

    async def test_transition_without_records_is_legal(self, lab: StoreLab) -> None:
        claim = await lab.held_run()
        assert await lab.move(claim, RunState.RUNNABLE) == 1
        header = await lab.header(claim.header.run_id)
        assert (header.state, header.head_seq, header.session_id) == (RunState.RUNNABLE, 1, None)

    async def test_settlement_ends_the_run(self, lab: StoreLab) -> None:
        claim = await lab.held_run()
        await lab.move(claim, RunState.SETTLED, b"done", terminal_state="failed")
        header = await lab.header(claim.header.run_id)
        assert (header.state, header.terminal_state) == (RunState.SETTLED, "failed")
        assert header.settled_at is not None
        assert (header.session_id, header.lease_holder, header.lease_expires_at) == (None,) * 3
        with pytest.raises(LeaseLost):
            await lab.append(claim, b"more", batch_no=2)
        assert await lab.claim_ids() == []
        assert await lab.bodies(claim.header.run_id) == [b"admitted", b"done"]

    async def test_running_transition_keeps_the_lease(self, lab: StoreLab) -> None:
        claim = await lab.held_run()
        wait = OpenWait(wait_id="call_1", expires_at=await lab.ahead(60))
        entry = OutboxEntry(key="o1", target_run_id=RunId("run_t"), body=b"\x00owed\xff")
        await lab.move(claim, RunState.RUNNING, b"asked", waits=(wait,), outbox=(entry,))
        header = await lab.header(claim.header.run_id)
        assert (header.state, header.session_id) == (RunState.RUNNING, claim.header.session_id)
        assert (header.waits, header.outbox) == ((wait,), (entry,))
        assert await lab.append(claim, b"more", batch_no=2) == 2

    async def test_parked_run_is_claimable_only_after_its_time(self, lab: StoreLab) -> None:
        await lab.move(
            await lab.held_run(), RunState.RUNNABLE, runnable_after=await lab.ahead(3600)
        )
        claim = await lab.held_run()
        later = await lab.ahead(lab.brief)
        await lab.move(claim, RunState.RUNNABLE, runnable_after=later)
        assert await lab.store.next_due_at() == later
        await lab.pass_time(lab.brief)
        assert await lab.claim_ids() == [claim.header.run_id]

    async def test_all_records_of_a_batch_or_none(self, lab: StoreLab) -> None:
        claim = await lab.held_run()
        broken: tuple[bytes, ...] = (b"fine", "text")  # type: ignore[assignment]
        with pytest.raises((TypeError, ValueError)):
            await lab.append(claim, *broken)
        assert await lab.bodies(claim.header.run_id) == [b"admitted"]
        assert await lab.append(claim, b"fine") == 1

    async def test_one_bad_append_spoils_no_neighbour(self, lab: StoreLab) -> None:
        good = [await lab.held_run() for _ in range(8)]
        bad = Lease("nobody", WorkerId("nobody"), 1)
        calls = [
            lab.store.append(
                claim.header.run_id,
                [b"x"],
                lease=bad if index == 3 else lab.lease(claim),
                batch_no=1,
            )
            for index, claim in enumerate(good)
        ]
        results = await lab.gathered(calls)
        assert isinstance(results.pop(3), LeaseLost)
        assert results == [1] * 7

    async def test_racing_holders_and_outsiders_leave_no_gap(self, lab: StoreLab) -> None:
        claim = await lab.held_run()
        run_id = claim.header.run_id

        async def hold() -> None:
            for batch_no in range(1, 21):
                await lab.append(claim, b"h%d" % batch_no, b"h", batch_no=batch_no)

        async def write(who: int) -> None:
            for n in range(10):
                await lab.external(run_id, b"e%d.%d" % (who, n), key=f"{who}.{n}")

        await asyncio.gather(hold(), *(write(who) for who in range(4)))
        bodies = await lab.bodies(run_id)
        assert len(bodies) == 1 + 40 + 40
        assert [b for b in bodies if b.startswith(b"h") and b != b"h"] == [
            b"h%d" % n for n in range(1, 21)
        ]

    async def test_cancelled_append_happens_whole_or_not_at_all(self, lab: StoreLab) -> None:
        claim = await lab.held_run()
        task = asyncio.ensure_future(lab.append(claim, b"x", b"y"))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        assert await lab.append(claim, b"x", b"y") == 1
        assert await lab.bodies(claim.header.run_id) == [b"admitted", b"x", b"y"]
