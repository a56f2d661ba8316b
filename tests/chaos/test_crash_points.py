"""Every durable write of every scenario, killed before, after, and with its answer lost."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from chaos_scenarios import SCENARIOS, Clock, Scenario
from psych_runtime.ports.store import Store
from psych_runtime.testing.explorer import explore
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
