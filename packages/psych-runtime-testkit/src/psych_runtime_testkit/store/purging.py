"""Retention."""

from __future__ import annotations

import pytest
from psych_runtime.errors import GuardFailed
from psych_runtime.ids import RunId
from psych_runtime.ports.store import OutboxEntry, RunState

from psych_runtime_testkit.store.base import StoreSuite
from psych_runtime_testkit.store.lab import StoreLab


class PurgeContract(StoreSuite):
    """`Store.purge`."""

    async def test_purge_leaves_a_tombstone(self, lab: StoreLab) -> None:
        run_id = await lab.settled_run(idempotency_key="k")
        assert await lab.store.purge(await lab.ahead(1), tenant="acme") == 1
        header = await lab.header(run_id)
        assert (header.purged, header.state) == (True, RunState.SETTLED)
        assert header.terminal_state == "completed"
        assert await lab.store.read(run_id) == []

    async def test_tombstone_keeps_the_idempotency_key(self, lab: StoreLab) -> None:
        run_id = await lab.settled_run(idempotency_key="k")
        await lab.store.purge(await lab.ahead(1), tenant="acme")
        again = await lab.create(b"x", idempotency_key="k")
        assert (again.created, again.header.run_id) == (False, run_id)

    async def test_tombstone_refuses_appends(self, lab: StoreLab) -> None:
        run_id = await lab.settled_run()
        await lab.store.purge(await lab.ahead(1), tenant="acme")
        with pytest.raises(GuardFailed):
            await lab.external(run_id, b"late")

    async def test_purged_run_is_purged_once(self, lab: StoreLab) -> None:
        await lab.settled_run()
        assert await lab.store.purge(await lab.ahead(1), tenant="acme") == 1
        assert await lab.store.purge(await lab.ahead(1), tenant="acme") == 0

    async def test_purge_spares_what_is_not_settled(self, lab: StoreLab) -> None:
        suspended = await lab.suspended_run("a")
        held = (await lab.held_run()).header.run_id
        runnable = await lab.admit()
        assert await lab.store.purge(await lab.ahead(10_000), tenant="acme") == 0
        for run_id in (suspended, held, runnable):
            assert not (await lab.header(run_id)).purged
            assert (await lab.bodies(run_id))[0] == b"admitted"

    async def test_purge_spares_what_settled_later(self, lab: StoreLab) -> None:
        run_id = await lab.settled_run()
        settled_at = (await lab.header(run_id)).settled_at
        assert settled_at is not None
        assert await lab.store.purge(settled_at, tenant="acme") == 0
        assert await lab.bodies(run_id) == [b"admitted", b"settled"]

    async def test_purge_spares_other_tenants(self, lab: StoreLab) -> None:
        run_id = await lab.settled_run(tenant="umbrella")
        assert await lab.store.purge(await lab.ahead(1), tenant="acme") == 0
        assert await lab.bodies(run_id) == [b"admitted", b"settled"]

    async def test_purge_keeps_its_limit(self, lab: StoreLab) -> None:
        for _ in range(3):
            await lab.settled_run()
        before = await lab.ahead(1)
        counts = [await lab.store.purge(before, tenant="acme", limit=2) for _ in range(3)]
        assert counts == [2, 1, 0]

    async def test_purge_spares_an_undelivered_duty(self, lab: StoreLab) -> None:
        claim = await lab.held_run()
        entry = OutboxEntry(key="o", target_run_id=RunId("run_t"), body=b"x")
        await lab.move(claim, RunState.SETTLED, outbox=(entry,))
        assert await lab.store.purge(await lab.ahead(1), tenant="acme") == 0
        assert (await lab.header(claim.header.run_id)).outbox == (entry,)

    @pytest.mark.parametrize("relation", ["parent_run_id", "continues_run_id"])
    async def test_purge_spares_what_others_depend_on(self, lab: StoreLab, relation: str) -> None:
        first = await lab.settled_run()
        second = await lab.held_run(**{relation: first})
        assert await lab.store.purge(await lab.ahead(1), tenant="acme") == 0
        await lab.move(second, RunState.SETTLED)
        assert await lab.store.purge(await lab.ahead(1), tenant="acme") == 2
