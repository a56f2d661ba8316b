"""What outlives the process."""

from __future__ import annotations

from psych_runtime.ports.store import RunState

from psych_runtime_testkit.store.base import StoreSuite
from psych_runtime_testkit.store.lab import StoreLab


class DurabilityContract(StoreSuite):
    """For stores with the capability ``durable``: opened again, nothing is missing."""

    async def test_reopened_store_has_everything(self, lab: StoreLab) -> None:
        if "durable" not in lab.capabilities:
            return
        assert lab.reopen is not None
        claim = await lab.held_run(idempotency_key="k")
        run_id = claim.header.run_id
        await lab.append(claim, b"x")
        await lab.external(run_id, b"y", key="once")
        again = StoreLab(await lab.reopen(lab.store), None)
        assert await again.header(run_id) == await lab.header(run_id)
        assert await again.bodies(run_id) == [b"admitted", b"x", b"y"]
        assert not (await again.external(run_id, b"y", key="once")).applied
        assert not (await again.create(idempotency_key="k")).created
        assert await again.append(claim, b"x") == 1
        assert await again.append(claim, b"z", batch_no=2) == 3

    async def test_two_openings_see_each_other(self, lab: StoreLab) -> None:
        if "durable" not in lab.capabilities:
            return
        assert lab.reopen is not None
        other = StoreLab(await lab.reopen(lab.store), None)
        run_id = await lab.admit()
        claim = await other.claim()
        assert claim.header.run_id == run_id
        assert await lab.claim_ids() == []
        await other.move(claim, RunState.SETTLED)
        assert (await lab.header(run_id)).state is RunState.SETTLED

    async def test_migrate_may_be_repeated(self, lab: StoreLab) -> None:
        run_id = await lab.admit()
        await lab.store.migrate()
        assert await lab.bodies(run_id) == [b"admitted"]
