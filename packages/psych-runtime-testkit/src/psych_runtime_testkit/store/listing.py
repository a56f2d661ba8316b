"""Listing."""

from __future__ import annotations

from datetime import timedelta

import pytest
from psych_runtime.ids import RunId
from psych_runtime.ports.store import RunFilter, RunState
from psych_runtime.scope import Scope

from psych_runtime_testkit.store.base import StoreSuite
from psych_runtime_testkit.store.lab import StoreLab


class ListingContract(StoreSuite):
    """`Store.list_runs`."""

    async def _ids(self, lab: StoreLab, where: RunFilter, tenant: str = "acme") -> list[RunId]:
        page = await lab.store.list_runs(tenant, where)
        return [header.run_id for header in page.headers]

    async def test_newest_first(self, lab: StoreLab) -> None:
        admitted = [await lab.admit() for _ in range(3)]
        assert await self._ids(lab, RunFilter()) == admitted[::-1]

    async def test_only_the_tenants_own(self, lab: StoreLab) -> None:
        mine = await lab.admit(tenant="acme")
        await lab.admit(tenant="umbrella")
        assert await self._ids(lab, RunFilter()) == [mine]
        assert await self._ids(lab, RunFilter(), tenant="nobody") == []

    async def test_listed_header_is_the_header(self, lab: StoreLab) -> None:
        claim = await lab.held_run()
        page = await lab.store.list_runs("acme", RunFilter())
        assert page.headers == (await lab.header(claim.header.run_id),)
        assert page.cursor is None

    async def test_paging_neither_repeats_nor_skips(self, lab: StoreLab) -> None:
        admitted = [await lab.admit() for _ in range(7)]
        seen: list[RunId] = []
        cursor: str | None = None
        for _ in range(4):
            page = await lab.store.list_runs("acme", RunFilter(), limit=2, cursor=cursor)
            seen += [header.run_id for header in page.headers]
            cursor = page.cursor
            # A Run admitted meanwhile is newer than everything still to come.
            await lab.admit()
            if cursor is None:
                break
        assert seen == admitted[::-1]
        assert cursor is None

    async def test_filters(self, lab: StoreLab) -> None:
        settled = await lab.settled_run(name="a")
        labelled = await lab.admit(
            name="b",
            version_hash="w" * 64,
            scope=Scope(tenant="acme", labels={"team": "x", "env": "prod"}),
            parent_run_id=RunId("run_p"),
            continues_run_id=RunId("run_c"),
        )
        expected = {
            RunFilter(states=frozenset({RunState.SETTLED})): [settled],
            RunFilter(states=frozenset({RunState.RUNNABLE})): [labelled],
            RunFilter(states=frozenset({RunState.RUNNABLE, RunState.SETTLED})): [labelled, settled],
            RunFilter(terminal_states=frozenset({"completed", "failed"})): [settled],
            RunFilter(terminal_states=frozenset({"failed"})): [],
            RunFilter(name="b"): [labelled],
            RunFilter(name="B"): [],
            RunFilter(version_hash="w" * 64): [labelled],  # type: ignore[arg-type]
            RunFilter(parent_run_id=RunId("run_p")): [labelled],
            RunFilter(continues_run_id=RunId("run_c")): [labelled],
            RunFilter(labels=(("team", "x"),)): [labelled],
            RunFilter(labels=(("team", "x"), ("env", "prod"))): [labelled],
            RunFilter(labels=(("team", "x"), ("env", "test"))): [],
            RunFilter(labels=(("team", "X"),)): [],
            RunFilter(name="a", states=frozenset({RunState.RUNNABLE})): [],
        }
        for where, run_ids in expected.items():
            assert await self._ids(lab, where) == run_ids, f"wrong answer to {where}"

    async def test_filter_by_creation_time(self, lab: StoreLab) -> None:
        created = (await lab.create()).header
        before = created.created_at - timedelta(seconds=1)
        after = created.created_at + timedelta(seconds=1)
        run_id = created.run_id
        assert await self._ids(lab, RunFilter(created_after=before, created_before=after)) == [
            run_id
        ]
        assert await self._ids(lab, RunFilter(created_after=after)) == []
        assert await self._ids(lab, RunFilter(created_before=before)) == []

    async def test_foreign_cursor_is_refused(self, lab: StoreLab) -> None:
        await lab.admit()
        with pytest.raises(ValueError):
            await lab.store.list_runs("acme", RunFilter(), cursor="not a cursor")

    async def test_page_of_nothing(self, lab: StoreLab) -> None:
        await lab.admit()
        assert (await lab.store.list_runs("acme", RunFilter(), limit=0)).headers == ()

    async def test_filtered_paging(self, lab: StoreLab) -> None:
        wanted = []
        for n in range(6):
            run_id = await lab.admit(name="wanted" if n % 2 else "other")
            if n % 2:
                wanted.append(run_id)
        first = await lab.store.list_runs("acme", RunFilter(name="wanted"), limit=2)
        assert first.cursor is not None
        second = await lab.store.list_runs(
            "acme", RunFilter(name="wanted"), limit=2, cursor=first.cursor
        )
        listed = [header.run_id for header in (*first.headers, *second.headers)]
        assert listed == wanted[::-1]
        assert second.cursor is None
