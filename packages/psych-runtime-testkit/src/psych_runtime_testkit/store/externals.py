"""Appends by somebody who does not hold the Run."""

from __future__ import annotations

from datetime import timedelta

import pytest
from psych_runtime.errors import GuardFailed, RunNotFound, SeqConflict
from psych_runtime.ids import RunId
from psych_runtime.ports.store import (
    ExternalResult,
    Guard,
    OpenWait,
    OutboxEntry,
    RunState,
    Transition,
)

from psych_runtime_testkit.store.base import StoreSuite
from psych_runtime_testkit.store.lab import StoreLab


class ExternalContract(StoreSuite):
    """`Store.append_external`."""

    async def test_external_append_lands_beside_the_holder(self, lab: StoreLab) -> None:
        claim = await lab.held_run()
        result = await lab.external(claim.header.run_id, b"steer", b"more")
        assert result == ExternalResult(1, applied=True, state=RunState.RUNNING)
        assert await lab.bodies(claim.header.run_id) == [b"admitted", b"steer", b"more"]
        header = await lab.header(claim.header.run_id)
        assert (header.epoch, header.batch_no) == (1, 0)

    async def test_external_append_to_an_unknown_run(self, lab: StoreLab) -> None:
        with pytest.raises(RunNotFound):
            await lab.external(RunId("run_nobody"), b"x")

    async def test_same_key_writes_once(self, lab: StoreLab) -> None:
        run_id = await lab.admit()
        first = await lab.external(run_id, b"x", key="k")
        await lab.external(run_id, b"y", key="other")
        second = await lab.external(run_id, b"x", key="k")
        assert (first.applied, second.applied) == (True, False)
        assert second.base == first.base
        assert await lab.bodies(run_id) == [b"admitted", b"x", b"y"]

    async def test_keys_are_per_run(self, lab: StoreLab) -> None:
        one, two = await lab.admit(), await lab.admit()
        assert (await lab.external(one, b"x", key="k")).applied
        assert (await lab.external(two, b"x", key="k")).applied

    async def test_key_is_known_after_settlement(self, lab: StoreLab) -> None:
        claim = await lab.held_run()
        first = await lab.external(claim.header.run_id, b"x", key="k")
        await lab.move(claim, RunState.SETTLED)
        again = await lab.external(claim.header.run_id, b"x", key="k")
        assert (again.base, again.applied) == (first.base, False)

    async def test_racing_resends_write_once(self, lab: StoreLab) -> None:
        run_id = await lab.admit()
        results = await lab.gathered([lab.external(run_id, b"x", key="k") for _ in range(12)])
        made = [r for r in results if isinstance(r, ExternalResult)]
        assert len(made) == 12, f"an append failed: {results}"
        assert sum(r.applied for r in made) == 1
        assert {r.base for r in made} == {1}
        assert await lab.bodies(run_id) == [b"admitted", b"x"]

    async def test_settled_run_refuses_everything(self, lab: StoreLab) -> None:
        run_id = await lab.settled_run()
        for more in ({}, {"wake": True}, {"aborts": True}, {"guards": {Guard.NOT_ABORTED}}):
            with pytest.raises(GuardFailed) as caught:
                await lab.external(run_id, b"late", **more)
            assert caught.value.guard == "not_settled"
        assert await lab.bodies(run_id) == [b"admitted", b"settled"]

    async def test_guard_not_aborted(self, lab: StoreLab) -> None:
        run_id = await lab.admit()
        await lab.external(run_id, aborts=True)
        with pytest.raises(GuardFailed) as caught:
            await lab.external(run_id, b"x", guards=frozenset({Guard.NOT_ABORTED}))
        assert caught.value.guard == "not_aborted"
        assert await lab.bodies(run_id) == [b"admitted"]

    async def test_guard_wait_open(self, lab: StoreLab) -> None:
        run_id = await lab.suspended_run("a", "b")
        more = {"guards": frozenset({Guard.WAIT_OPEN}), "closes_wait": True}
        await lab.external(run_id, b"yes a", wait_id="a", **more)
        with pytest.raises(GuardFailed) as caught:
            await lab.external(run_id, b"no a", wait_id="a", **more)
        assert caught.value.guard == "wait_open"
        assert [wait.wait_id for wait in (await lab.header(run_id)).waits] == ["b"]
        assert await lab.bodies(run_id) == [b"admitted", b"suspended", b"yes a"]

    async def test_racing_decisions_of_one_wait_have_one_winner(self, lab: StoreLab) -> None:
        run_id = await lab.suspended_run("a")
        results = await lab.gathered(
            [
                lab.external(
                    run_id,
                    b"decision",
                    guards=frozenset({Guard.WAIT_OPEN}),
                    wait_id="a",
                    closes_wait=True,
                    wake=True,
                )
                for _ in range(8)
            ]
        )
        assert sum(isinstance(r, ExternalResult) for r in results) == 1
        assert sum(isinstance(r, GuardFailed) for r in results) == 7
        assert await lab.bodies(run_id) == [b"admitted", b"suspended", b"decision"]

    async def test_guard_unheld(self, lab: StoreLab) -> None:
        unheld = frozenset({Guard.UNHELD})
        claim = await lab.held_run()
        with pytest.raises(GuardFailed) as caught:
            await lab.external(claim.header.run_id, b"x", guards=unheld)
        assert caught.value.guard == "unheld"
        await lab.move(claim, RunState.RUNNABLE)
        assert (await lab.external(claim.header.run_id, b"x", guards=unheld)).applied

    async def test_guard_unheld_holds_once_the_session_expired(self, lab: StoreLab) -> None:
        run_id = await lab.admit()
        await lab.claim(lab.session(lease_seconds=lab.brief))
        await lab.pass_time(lab.brief)
        assert (await lab.external(run_id, b"x", guards=frozenset({Guard.UNHELD}))).applied

    async def test_refused_append_does_not_burn_its_key(self, lab: StoreLab) -> None:
        claim = await lab.held_run()
        more = {"key": "k", "guards": frozenset({Guard.UNHELD})}
        with pytest.raises(GuardFailed):
            await lab.external(claim.header.run_id, b"x", **more)
        await lab.move(claim, RunState.RUNNABLE)
        result = await lab.external(claim.header.run_id, b"x", **more)
        assert result.applied, "the refused append used up its key"
        assert await lab.bodies(claim.header.run_id) == [b"admitted", b"x"]

    async def test_external_strict_head(self, lab: StoreLab) -> None:
        run_id = await lab.admit()
        with pytest.raises(SeqConflict) as caught:
            await lab.external(run_id, b"x", key="k", strict_head=0)
        assert caught.value.seq == 1
        assert (await lab.external(run_id, b"x", key="k", strict_head=1)).applied
        assert await lab.bodies(run_id) == [b"admitted", b"x"]

    async def test_wake_makes_a_suspended_run_runnable(self, lab: StoreLab) -> None:
        run_id = await lab.suspended_run("a")
        assert (await lab.header(run_id)).suspended_at is not None
        assert await lab.claim_ids() == []
        result = await lab.external(run_id, b"go", wake=True)
        assert result.state is RunState.RUNNABLE
        assert (await lab.header(run_id)).suspended_at is None
        assert await lab.claim_ids() == [run_id]

    async def test_without_wake_a_suspended_run_stays(self, lab: StoreLab) -> None:
        run_id = await lab.suspended_run("a")
        assert (await lab.external(run_id, b"x")).state is RunState.SUSPENDED
        assert await lab.claim_ids() == []

    async def test_wake_moves_the_deadline_by_the_time_waited(self, lab: StoreLab) -> None:
        run_id = await lab.suspended_run("a")
        suspended = await lab.header(run_id)
        assert suspended.suspended_at is not None
        await lab.pass_time(lab.brief)
        before = await lab.store.now()
        await lab.external(run_id, b"go", wake=True)
        waited = await lab.store.now() - suspended.suspended_at
        moved = (await lab.header(run_id)).deadline_at - suspended.deadline_at
        assert before - suspended.suspended_at <= moved <= waited
        assert moved >= timedelta(seconds=lab.brief)

    async def test_wake_of_a_run_that_does_not_wait_changes_nothing(self, lab: StoreLab) -> None:
        claim = await lab.held_run()
        result = await lab.external(claim.header.run_id, b"x", wake=True)
        header = await lab.header(claim.header.run_id)
        assert result.state is header.state is RunState.RUNNING
        assert header.deadline_at == claim.header.deadline_at

    async def test_abort_wakes_a_suspended_run(self, lab: StoreLab) -> None:
        run_id = await lab.suspended_run("a")
        result = await lab.external(run_id, b"abort", aborts=True)
        header = await lab.header(run_id)
        assert header.aborted
        assert result.state is header.state is RunState.RUNNABLE
        assert await lab.claim_ids() == [run_id]

    async def test_abort_of_a_held_run_leaves_it_to_its_holder(self, lab: StoreLab) -> None:
        claim = await lab.held_run()
        result = await lab.external(claim.header.run_id, b"abort", aborts=True)
        header = await lab.header(claim.header.run_id)
        assert (result.state, header.aborted) == (RunState.RUNNING, True)
        assert await lab.append(claim, b"stopping") == 2

    async def test_abort_unparks_a_run(self, lab: StoreLab) -> None:
        claim = await lab.held_run()
        await lab.move(claim, RunState.RUNNABLE, runnable_after=await lab.ahead(3600))
        await lab.external(claim.header.run_id, aborts=True)
        assert await lab.claim_ids() == [claim.header.run_id]

    async def test_second_abort_unparks_a_run_that_parked_itself_again(self, lab: StoreLab) -> None:
        claim = await lab.held_run()
        await lab.external(claim.header.run_id, aborts=True)
        await lab.move(claim, RunState.RUNNABLE, runnable_after=await lab.ahead(3600))
        assert await lab.claim_ids() == []
        await lab.external(claim.header.run_id, aborts=True)
        assert await lab.claim_ids() == [claim.header.run_id]

    async def test_aborted_run_never_waits(self, lab: StoreLab) -> None:
        claim = await lab.held_run()
        await lab.external(claim.header.run_id, aborts=True)
        await lab.move(claim, RunState.SUSPENDED, b"suspended")
        assert await lab.claim_ids() == [claim.header.run_id]

    async def test_append_of_no_records_only_changes_the_header(self, lab: StoreLab) -> None:
        run_id = await lab.admit()
        assert (await lab.external(run_id, aborts=True)).base == 1
        header = await lab.header(run_id)
        assert (header.aborted, header.head_seq) == (True, 1)

    async def test_external_settlement(self, lab: StoreLab) -> None:
        run_id = await lab.suspended_run("a")
        await lab.external(
            run_id,
            b"settled",
            strict_head=2,
            transition=Transition(RunState.SETTLED, terminal_state="expired"),
        )
        header = await lab.header(run_id)
        assert (header.state, header.terminal_state) == (RunState.SETTLED, "expired")
        assert header.settled_at is not None

    async def test_external_transition_records_and_clears_a_duty(self, lab: StoreLab) -> None:
        run_id = await lab.admit()
        kept = OutboxEntry(key="o1", target_run_id=RunId("run_t"), body=b"1")
        done = OutboxEntry(key="o2", target_run_id=RunId("run_t"), body=b"2")
        await lab.external(
            run_id,
            strict_head=1,
            transition=Transition(
                RunState.SETTLED, terminal_state="completed", outbox=(kept, done)
            ),
        )
        assert (await lab.header(run_id)).outbox == (kept, done)

    async def test_duty_is_cleared_by_its_key(self, lab: StoreLab) -> None:
        claim = await lab.held_run()
        entries = tuple(
            OutboxEntry(key=key, target_run_id=RunId("run_t"), body=b"x") for key in ("o1", "o2")
        )
        await lab.move(claim, RunState.RUNNING, outbox=entries)
        await lab.external(claim.header.run_id, clears_outbox="o1")
        assert (await lab.header(claim.header.run_id)).outbox == entries[1:]

    async def test_several_waits_are_listed_together(self, lab: StoreLab) -> None:
        claim = await lab.held_run()
        wake_at, expires_at = await lab.ahead(30), await lab.ahead(60)
        waits = (
            OpenWait(wait_id="a", expires_at=expires_at),
            OpenWait(wait_id="b", expires_at=expires_at, wake_at=wake_at),
            OpenWait(wait_id="A", expires_at=expires_at),
        )
        await lab.move(claim, RunState.SUSPENDED, waits=waits)
        assert (await lab.header(claim.header.run_id)).waits == waits
