"""Listing Runs and removing old logs."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from psych_runtime.ids import RunId
from psych_runtime.ports.store import RunFilter, RunState
from psych_runtime.store.memory.run import Run


class Catalog:
    """Runs per tenant in admission order, settled ones in settlement order, and who follows whom."""

    def __init__(self) -> None:
        self._by_tenant: dict[str, list[Run]] = {}
        self._settled: dict[str, dict[RunId, Run]] = {}
        self._followers: dict[RunId, list[Run]] = {}

    def admit(self, run: Run) -> None:
        """Index a new Run."""
        self._by_tenant.setdefault(run.scope.tenant, []).append(run)
        for ancestor in {run.parent_run_id, run.continues_run_id} - {None}:
            assert ancestor is not None
            self._followers.setdefault(ancestor, []).append(run)

    def settled(self, run: Run) -> None:
        """Make a settled Run a candidate for `purge`."""
        self._settled.setdefault(run.scope.tenant, {})[run.run_id] = run

    def newest_first(self, tenant: str, before: int | None, where: RunFilter) -> Iterator[Run]:
        """The tenant's Runs that match, from admission order ``before`` (exclusive) down."""
        runs = self._by_tenant.get(tenant, [])
        for index in range(_position(runs, before) - 1, -1, -1):
            if _matches(runs[index], where):
                yield runs[index]

    def purge(self, before: datetime, tenant: str, limit: int) -> int:
        """Remove the logs of up to ``limit`` Runs settled before ``before``."""
        chosen: list[Run] = []
        for run in self._settled.get(tenant, {}).values():
            if len(chosen) >= limit or run.settled_at is None or run.settled_at >= before:
                break
            followers = self._followers.get(run.run_id, ())
            if not run.outbox and all(f.state is RunState.SETTLED for f in followers):
                chosen.append(run)
        for run in chosen:
            del self._settled[tenant][run.run_id]
            run.purged = True
            run.log.clear()
            run.keys.clear()
        return len(chosen)


def _position(runs: list[Run], before: int | None) -> int:
    if before is None:
        return len(runs)
    low, high = 0, len(runs)
    while low < high:
        middle = (low + high) // 2
        if runs[middle].order < before:
            low = middle + 1
        else:
            high = middle
    return low


def _matches(run: Run, where: RunFilter) -> bool:
    return (
        (not where.states or run.state in where.states)
        and (not where.terminal_states or run.terminal_state in where.terminal_states)
        and (where.name is None or run.name == where.name)
        and (where.version_hash is None or run.version_hash == where.version_hash)
        and (where.created_after is None or run.created_at > where.created_after)
        and (where.created_before is None or run.created_at < where.created_before)
        and (where.parent_run_id is None or run.parent_run_id == where.parent_run_id)
        and (where.continues_run_id is None or run.continues_run_id == where.continues_run_id)
        and all(run.scope.labels.get(key) == value for key, value in where.labels)
    )
