"""Every durable write of every scenario, killed before, after, and with its answer lost."""

from __future__ import annotations

import asyncio
import itertools
from pathlib import Path

import psych_runtime
import pytest
from chaos_scenarios import SCENARIOS, SCOPE, Clock, Scenario, spec
from psych_runtime import Dispatched
from psych_runtime.ports.store import Store
from psych_runtime.testing.explorer import FAULTS, FaultyStore, Killed, explore
from stores import STORES, open_store


@pytest.mark.parametrize("kind", STORES)
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_every_crash_point(
    scenario: type[Scenario],
    kind: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    numbers = itertools.count()

    def make_store(clock: Clock) -> Store:
        folder = tmp_path / str(next(numbers))
        folder.mkdir()
        return open_store(kind, folder, clock)

    result = explore(f"{scenario.name} on {kind}", scenario(make_store))
    with capsys.disabled():
        print(f"\n  {result}", end="")
    assert result.crash_points >= 3
    assert result.violations == []


@pytest.mark.parametrize("kind", STORES)
@pytest.mark.parametrize("fault", FAULTS)
def test_admission_is_all_or_nothing(fault: str, kind: str, tmp_path: Path) -> None:
    """Killed around its one write, a dispatch that is made again gives exactly one whole Run."""
    store = open_store(kind, tmp_path, Clock())
    version = asyncio.run(_publish(store))

    async def admit(on: Store) -> Dispatched:
        return await psych_runtime.dispatch(on, version, SCOPE, idempotency_key="evt-1")

    faulty = FaultyStore(store, at=1, fault=fault)
    try:
        asyncio.run(admit(faulty))
        killed = False
    except Killed:
        killed = True
    assert killed == (fault != "answer lost")
    again = asyncio.run(admit(store))
    assert again.created == (fault == "before")
    page = asyncio.run(psych_runtime.runs(store, SCOPE))
    assert [run.run_id for run in page.runs] == [again.run_id]
    [admitted] = asyncio.run(psych_runtime.records(store, again.run_id))
    assert admitted.type == "run_admitted"
    asyncio.run(store.close())


async def _publish(store: Store) -> psych_runtime.Version:
    await store.migrate()
    return await psych_runtime.publish(store, spec())
