"""Admission."""

from __future__ import annotations

import pytest
from psych_runtime.errors import SeqConflict
from psych_runtime.ids import RunId
from psych_runtime.ports.store import RunState
from psych_runtime.scope import Scope

from psych_runtime_testkit.store.base import StoreSuite
from psych_runtime_testkit.store.lab import StoreLab


class AdmissionContract(StoreSuite):
    """`Store.create_run`, `Store.get_run`, `Store.read`."""

    async def test_admitted_run_is_runnable_with_its_records(self, lab: StoreLab) -> None:
        run = await lab.new_run(
            scope=Scope(tenant="acme", principal="u1", labels={"team": "a"}),
            priority=3,
            idempotency_key="k",
            concurrency_key="line",
            parent_run_id=RunId("run_parent"),
            delegation_depth=2,
            continues_run_id=RunId("run_before"),
        )
        created = await lab.store.create_run(run, [b"one", b"two"])
        assert created.created
        header = await lab.header(run.run_id)
        assert header == created.header
        assert header.state is RunState.RUNNABLE
        assert header.scope == run.scope
        assert (header.version_hash, header.name) == (run.version_hash, run.name)
        assert (header.idempotency_key, header.concurrency_key) == ("k", "line")
        assert (header.priority, header.delegation_depth) == (3, 2)
        assert (header.parent_run_id, header.continues_run_id) == ("run_parent", "run_before")
        assert header.deadline_at == run.deadline_at
        assert (header.head_seq, header.epoch, header.batch_no, header.crashes) == (2, 0, 0, 0)
        assert header.session_id is None
        assert header.lease_expires_at is None
        assert await lab.bodies(run.run_id) == [b"one", b"two"]

    async def test_created_at_is_the_stores_now(self, lab: StoreLab) -> None:
        before = await lab.store.now()
        created = await lab.create()
        assert before <= created.header.created_at <= await lab.store.now()
        assert created.header.created_at.utcoffset() is not None

    async def test_same_idempotency_key_returns_the_first_run_c9(self, lab: StoreLab) -> None:
        first = await lab.create(b"first", idempotency_key="k", name="a")
        second = await lab.create(b"second", idempotency_key="k", name="b", version_hash="w" * 64)
        assert not second.created
        assert second.header == first.header
        assert await lab.bodies(first.header.run_id) == [b"first"]

    async def test_idempotency_key_of_a_held_run_changes_nothing(self, lab: StoreLab) -> None:
        claim = await lab.held_run(idempotency_key="k")
        again = await lab.create(b"other", idempotency_key="k")
        assert (again.created, again.header.run_id) == (False, claim.header.run_id)
        assert await lab.append(claim, b"mine") == 1

    async def test_idempotency_keys_are_per_tenant(self, lab: StoreLab) -> None:
        first = await lab.create(idempotency_key="k", tenant="acme")
        second = await lab.create(idempotency_key="k", tenant="umbrella")
        assert second.created, "another tenant's idempotency key was answered with a foreign Run"
        assert second.header.run_id != first.header.run_id

    async def test_runs_without_key_are_all_admitted(self, lab: StoreLab) -> None:
        assert await lab.admit() != await lab.admit()

    async def test_same_run_id_returns_the_first_run(self, lab: StoreLab) -> None:
        first = await lab.create(b"first", run_id="run_same")
        second = await lab.create(b"second", run_id="run_same")
        assert (second.created, second.header) == (False, first.header)
        assert await lab.bodies(first.header.run_id) == [b"first"]

    async def test_run_id_of_another_tenant_is_a_conflict(self, lab: StoreLab) -> None:
        await lab.create(b"first", run_id="run_same", tenant="acme")
        with pytest.raises(SeqConflict):
            await lab.create(b"second", run_id="run_same", tenant="umbrella")
        assert await lab.bodies(RunId("run_same")) == [b"first"]

    async def test_racing_admissions_of_one_key_make_one_run(self, lab: StoreLab) -> None:
        runs = [await lab.new_run(idempotency_key="k") for _ in range(16)]
        results = await lab.gathered([lab.store.create_run(run, [b"x"]) for run in runs])
        made = [r for r in results if not isinstance(r, BaseException)]
        assert len(made) == 16, f"an admission failed: {results}"
        assert sum(r.created for r in made) == 1
        assert len({r.header.run_id for r in made}) == 1

    async def test_admitted_run_is_listed_and_claimable_c1(self, lab: StoreLab) -> None:
        run_id = await lab.admit()
        assert await lab.claim_ids() == [run_id]

    async def test_unknown_run_has_no_header_and_no_records(self, lab: StoreLab) -> None:
        assert await lab.store.get_run(RunId("run_nobody")) is None
        assert await lab.store.read(RunId("run_nobody")) == []

    async def test_read_pages_neither_drop_nor_repeat(self, lab: StoreLab) -> None:
        claim = await lab.held_run(b"0", b"1", b"2")
        await lab.append(claim, *(b"%d" % n for n in range(3, 10)))
        seen: list[bytes] = []
        while page := await lab.store.read(claim.header.run_id, after=len(seen), limit=4):
            assert len(page) <= 4
            seen += [record.body for record in page]
        assert seen == [b"%d" % n for n in range(10)]

    async def test_read_after_the_head_is_empty(self, lab: StoreLab) -> None:
        run_id = await lab.admit(b"one")
        assert await lab.store.read(run_id, after=1) == []
        assert await lab.store.read(run_id, after=99) == []
        assert await lab.store.read(run_id, limit=0) == []
