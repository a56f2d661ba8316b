"""What falls due."""

from __future__ import annotations

from psych_runtime.ids import RunId
from psych_runtime.ports.store import DueKind, OpenWait, OutboxEntry, RunState

from psych_runtime_testkit.store.base import StoreSuite
from psych_runtime_testkit.store.lab import StoreLab


class DueContract(StoreSuite):
    """`Store.due` and `Store.next_due_at`."""

    async def test_nothing_is_due_in_an_empty_store(self, lab: StoreLab) -> None:
        assert await lab.store.due() == []
        assert await lab.store.next_due_at() is None

    async def test_deadline_of_a_run_nobody_holds(self, lab: StoreLab) -> None:
        run_id = await lab.admit(seconds=lab.brief)
        await lab.admit()
        await lab.pass_time(lab.brief)
        assert await lab.due() == {(run_id, DueKind.DEADLINE)}

    async def test_deadline_of_a_held_run_is_its_holders(self, lab: StoreLab) -> None:
        await lab.held_run(seconds=lab.brief)
        await lab.pass_time(lab.brief)
        assert await lab.due() == set()

    async def test_deadline_of_a_run_whose_session_expired(self, lab: StoreLab) -> None:
        run_id = await lab.admit(seconds=lab.brief)
        await lab.claim(lab.session(lease_seconds=lab.brief))
        await lab.pass_time(lab.brief * 1.5)
        assert await lab.due() == {(run_id, DueKind.DEADLINE)}

    async def test_deadline_stands_still_while_the_run_waits(self, lab: StoreLab) -> None:
        claim = await lab.held_run(seconds=lab.brief)
        expires_at = await lab.ahead(3600)
        wait = OpenWait(wait_id="a", expires_at=expires_at)
        await lab.move(claim, RunState.SUSPENDED, waits=(wait,))
        await lab.pass_time(lab.brief)
        assert await lab.due() == set()
        await lab.external(claim.header.run_id, wake=True)
        header = await lab.header(claim.header.run_id)
        assert header.deadline_at > claim.header.deadline_at

    async def test_settled_run_is_never_overdue(self, lab: StoreLab) -> None:
        await lab.settled_run(seconds=lab.brief)
        await lab.pass_time(lab.brief)
        assert await lab.due() == set()

    async def test_expired_wait(self, lab: StoreLab) -> None:
        run_id = await lab.suspended_run("a", seconds=lab.brief)
        await lab.suspended_run("b")
        await lab.pass_time(lab.brief)
        assert await lab.due() == {(run_id, DueKind.WAIT_EXPIRED)}
        await lab.external(run_id, wait_id="a", closes_wait=True)
        assert await lab.due() == set()

    async def test_timer(self, lab: StoreLab) -> None:
        claim = await lab.held_run()
        wake_at, expires_at = await lab.ahead(lab.brief), await lab.ahead(3600)
        wait = OpenWait(wait_id="t", expires_at=expires_at, wake_at=wake_at)
        await lab.move(claim, RunState.SUSPENDED, waits=(wait,))
        later = OpenWait(wait_id="t", expires_at=expires_at, wake_at=await lab.ahead(3000))
        await lab.move(await lab.held_run(), RunState.SUSPENDED, waits=(later,))
        assert await lab.store.next_due_at() == wake_at
        await lab.pass_time(lab.brief)
        assert await lab.due() == {(claim.header.run_id, DueKind.TIMER)}

    async def test_undelivered_duty_of_a_settled_run(self, lab: StoreLab) -> None:
        claim = await lab.held_run()
        entry = OutboxEntry(key="o", target_run_id=RunId("run_t"), body=b"x")
        await lab.move(claim, RunState.RUNNING, outbox=(entry,))
        await lab.move(claim, RunState.RUNNABLE, batch_no=2)
        assert await lab.due() == {(claim.header.run_id, DueKind.OUTBOX)}
        await lab.external(claim.header.run_id, clears_outbox="o")
        assert await lab.due() == set()

    async def test_duty_recorded_with_the_settlement(self, lab: StoreLab) -> None:
        claim = await lab.held_run()
        entry = OutboxEntry(key="o", target_run_id=RunId("run_t"), body=b"x")
        await lab.move(claim, RunState.SETTLED, outbox=(entry,))
        due = await lab.store.due()
        assert [(d.kind, d.header.outbox) for d in due] == [(DueKind.OUTBOX, (entry,))]

    async def test_aborted_run_that_nobody_holds(self, lab: StoreLab) -> None:
        run_id = await lab.suspended_run("a")
        await lab.external(run_id, aborts=True)
        assert await lab.due() == {(run_id, DueKind.ABORTED)}
        await lab.claim()
        assert await lab.due() == set()

    async def test_what_is_due_stays_due_until_handled(self, lab: StoreLab) -> None:
        run_id = await lab.admit(seconds=lab.brief)
        await lab.pass_time(lab.brief)
        assert await lab.due() == await lab.due() == {(run_id, DueKind.DEADLINE)}

    async def test_due_keeps_its_limit_and_starves_nobody(self, lab: StoreLab) -> None:
        run_ids = {await lab.admit(seconds=lab.brief) for _ in range(6)}
        await lab.pass_time(lab.brief)
        seen: set[RunId] = set()
        for _ in range(4):
            found = await lab.due(limit=2)
            assert len(found) == 2
            seen |= {run_id for run_id, _ in found}
        assert seen == run_ids

    async def test_next_due_is_the_earliest_of_all(self, lab: StoreLab) -> None:
        run_id = await lab.suspended_run("a", seconds=3000)
        wait = (await lab.header(run_id)).waits[0]
        assert await lab.store.next_due_at() == wait.expires_at
        parked = await lab.held_run()
        at = await lab.ahead(2000)
        await lab.move(parked, RunState.RUNNABLE, runnable_after=at)
        assert await lab.store.next_due_at() == at
        held = await lab.held_run()
        assert await lab.store.next_due_at() == held.header.lease_expires_at
