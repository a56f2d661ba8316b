"""Wake-up hints."""

from __future__ import annotations

from psych_runtime.ids import RunId
from psych_runtime.ports.store import RunState, WakeKind

from psych_runtime_testkit.store.base import StoreSuite
from psych_runtime_testkit.store.lab import StoreLab


class WakeupContract(StoreSuite):
    """`Store.listen`; without the capability ``listen`` only that it is harmless."""

    async def test_listen_can_be_called_and_stopped(self, lab: StoreLab) -> None:
        stop = lab.store.listen(lambda run_id, kind: None)
        await lab.admit()
        stop()
        stop()
        assert len(await lab.claim_ids()) == 1

    async def test_claimable_runs_are_hinted(self, lab: StoreLab) -> None:
        if "listen" not in lab.capabilities:
            return
        hints: list[tuple[RunId, WakeKind]] = []
        lab.store.listen(lambda run_id, kind: hints.append((run_id, kind)))
        run_id = await lab.admit()
        await lab.until(lambda: (run_id, WakeKind.RUNNABLE) in hints)

    async def test_woken_runs_are_hinted(self, lab: StoreLab) -> None:
        if "listen" not in lab.capabilities:
            return
        run_id = await lab.suspended_run("a")
        hints: list[tuple[RunId, WakeKind]] = []
        lab.store.listen(lambda run_id, kind: hints.append((run_id, kind)))
        await lab.external(run_id, b"go", wake=True)
        await lab.until(
            lambda: {(run_id, WakeKind.RUNNABLE), (run_id, WakeKind.EXTERNAL)} <= set(hints)
        )

    async def test_appends_are_hinted(self, lab: StoreLab) -> None:
        if "listen" not in lab.capabilities:
            return
        claim = await lab.held_run()
        run_id = claim.header.run_id
        seen: set[RunId] = set()
        lab.store.listen(lambda run_id, kind: seen.add(run_id))
        await lab.append(claim, b"x")
        await lab.until(lambda: run_id in seen)
        seen.clear()
        await lab.external(run_id, b"y")
        await lab.until(lambda: run_id in seen)

    async def test_promoted_run_of_a_concurrency_key_is_hinted(self, lab: StoreLab) -> None:
        if "listen" not in lab.capabilities:
            return
        claim = await lab.held_run(concurrency_key="line")
        second = await lab.admit(concurrency_key="line")
        hints: list[tuple[RunId, WakeKind]] = []
        lab.store.listen(lambda run_id, kind: hints.append((run_id, kind)))
        await lab.move(claim, RunState.SETTLED)
        await lab.until(lambda: (second, WakeKind.RUNNABLE) in hints)

    async def test_stopped_listener_hears_nothing(self, lab: StoreLab) -> None:
        if "listen" not in lab.capabilities:
            return
        first: list[RunId] = []
        second: list[RunId] = []
        stop = lab.store.listen(lambda run_id, kind: first.append(run_id))
        lab.store.listen(lambda run_id, kind: second.append(run_id))
        stop()
        run_id = await lab.admit()
        await lab.until(lambda: run_id in second)
        assert first == []
