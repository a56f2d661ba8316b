"""A Worker that was paused past its lease can do nothing any more (R3, R8)."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import paused_worker
import psych_runtime
import pytest
from psych_runtime.errors import LeaseLost
from psych_runtime.ids import WorkerId
from psych_runtime.ports.store import Lease, RunState, Store, Transition, WorkerSession
from psych_runtime.store.sqlite import SQLiteStore
from psych_runtime.testing.explorer import invariant_violations


@pytest.mark.slow
async def test_a_worker_stopped_past_its_lease_writes_and_runs_nothing_more(
    tmp_path: Path,
) -> None:
    database, ledger, go = tmp_path / "psych.db", tmp_path / "ledger", tmp_path / "go"
    ledger.touch()
    async with SQLiteStore(database) as store:
        version = await psych_runtime.publish(store, paused_worker.SPEC)
        run = await psych_runtime.dispatch(
            store, version, paused_worker.SCOPE, input={"message": "go"}
        )
        process = subprocess.Popen(
            [sys.executable, paused_worker.__file__, database, ledger, go, "wrk_same"]
        )
        try:
            async with asyncio.timeout(30):
                while not ledger.read_text():
                    await asyncio.sleep(0.02)
                os.kill(process.pid, signal.SIGSTOP)
                # The second Worker even carries the first one's id.
                worker = psych_runtime.Worker(
                    store,
                    paused_worker.make_runtime(store, ledger, None),
                    worker_id=WorkerId("wrk_same"),
                    lease_seconds=paused_worker.LEASE,
                    heartbeat_seconds=0.4,
                    poll_interval=0.1,
                )
                serving = asyncio.create_task(worker.run())
                async for _ in psych_runtime.stream(store, run.run_id):
                    pass
                worker.stop()
                await serving
                before = await psych_runtime.records(store, run.run_id)
                go.touch()
                os.kill(process.pid, signal.SIGCONT)
                assert await asyncio.to_thread(process.wait) == 0
        finally:
            process.kill()
            process.wait()
        after = await psych_runtime.records(store, run.run_id)
        assert (tmp_path / "ledger.ended").exists()
        assert list(after) == list(before)
        assert invariant_violations(list(after)) == []
        effects = ledger.read_text().splitlines()
        assert [line.split()[0] for line in effects] == ["first", "second"]
        assert effects[1].split()[1] == str(os.getpid())
        report = await psych_runtime.report(store, run.run_id)
        assert [call.outcome for call in report.tool_calls] == ["unknown", "ok"]


async def test_an_old_epoch_cannot_renew_release_or_settle(store: Store) -> None:
    version = await psych_runtime.publish(store, paused_worker.SPEC)
    run = await psych_runtime.dispatch(store, version, paused_worker.SCOPE)
    worker_id = WorkerId("wrk_same")
    old = WorkerSession("wrk_same:1", worker_id, 30.0)
    new = WorkerSession("wrk_same:2", worker_id, 30.0)
    [claim] = await store.claim(old, 1)
    lease = Lease(old.session_id, worker_id, claim.header.epoch)
    await store.end_session(old.session_id)
    [again] = await store.claim(new, 1)
    assert again.header.epoch == claim.header.epoch + 1
    assert await store.heartbeat(old) is False
    for transition in (None, Transition(RunState.RUNNABLE), Transition(RunState.SETTLED)):
        with pytest.raises(LeaseLost):
            await store.append(
                run.run_id,
                [b'{"t":"turn_started","turn":1}'],
                lease=lease,
                batch_no=1,
                strict_head=None if transition is None else claim.header.head_seq,
                transition=transition,
            )
    header = await store.get_run(run.run_id)
    assert header is not None
    assert (header.state, header.head_seq, header.epoch) == (
        RunState.RUNNING,
        1,
        again.header.epoch,
    )
