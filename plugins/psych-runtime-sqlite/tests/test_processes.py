"""Several processes on one file, and processes that end without warning."""

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import warnings

import pytest
from psych_runtime_sqlite.store import SQLiteStore
from psych_runtime_testkit.store import StoreLab

pytestmark = pytest.mark.slow

HEAD = """
import asyncio, sys
from psych_runtime.ports.store import RunState
from psych_runtime_sqlite.store import SQLiteStore
from psych_runtime_testkit.store import StoreLab
"""

CLAIMER = """
async def main():
    async with SQLiteStore(sys.argv[1]) as store:
        lab, session = StoreLab(store, None), None
        session = lab.session()
        while claims := await store.claim(session, 2):
            for claim in claims:
                await lab.append(claim, b"x")
                await lab.move(claim, RunState.SETTLED, b"y", batch_no=2)
                print(claim.header.run_id, flush=True)
asyncio.run(main())
"""

WRITER = """
async def main():
    async with SQLiteStore(sys.argv[1]) as store:
        lab = StoreLab(store, None)

        lanes = [await lab.admit() for _ in range(4)]
        claims = [await lab.claim() for _ in lanes]

        async def run(claim):
            for batch_no in range(1, 100_000):
                base = await lab.append(claim, b"%d" % batch_no, b"+", batch_no=batch_no)
                print(claim.header.run_id, base + 2, flush=True)

        await asyncio.gather(*map(run, claims))
asyncio.run(main())
"""


def _start(program, path):
    return subprocess.Popen(
        [sys.executable, "-c", HEAD + program, str(path)], stdout=subprocess.PIPE, text=True
    )


def test_processes_share_the_runs_of_one_file(tmp_path):
    path = tmp_path / "runs.db"

    async def admit():
        async with SQLiteStore(path) as store:
            lab = StoreLab(store, None)
            return [await lab.admit(tenant=f"t{n % 3}") for n in range(30)]

    admitted = asyncio.run(admit())
    children = [_start(CLAIMER, path) for _ in range(3)]
    claimed = [run_id for child in children for run_id in child.communicate(timeout=120)[0].split()]
    assert [child.returncode for child in children] == [0, 0, 0]
    assert sorted(claimed) == sorted(admitted)

    async def check():
        async with SQLiteStore(path) as store:
            lab = StoreLab(store, None)
            for run_id in admitted:
                assert await lab.bodies(run_id) == [b"admitted", b"x", b"y"]

    asyncio.run(check())


def test_processes_create_one_file_together(tmp_path):
    children = [_start(CLAIMER, tmp_path / "runs.db") for _ in range(4)]
    for child in children:
        assert child.communicate(timeout=120)[0] == ""
    assert [child.returncode for child in children] == [0] * 4


def test_kill_at_any_time_leaves_a_consistent_file(tmp_path):
    path = tmp_path / "runs.db"
    for acknowledged_before_the_kill in (1, 40, 97):
        child = _start(WRITER, path)
        acknowledged = {}
        for _ in range(acknowledged_before_the_kill):
            run_id, head = child.stdout.readline().split()
            acknowledged[run_id] = int(head)
        child.send_signal(signal.SIGKILL)
        # Not communicate(): it overlooks what readline() has already buffered.
        rest = child.stdout.read()
        child.stdout.close()
        child.wait(timeout=60)
        for line in rest.splitlines(keepends=True):
            if line.endswith("\n"):
                run_id, head = line.split()
                acknowledged[run_id] = int(head)
        connection = sqlite3.connect(path)
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        connection.close()

        async def check(acknowledged=acknowledged):
            async with SQLiteStore(path) as store:
                lab = StoreLab(store, None)
                for run_id, head in acknowledged.items():
                    bodies = await lab.bodies(run_id)
                    header = await lab.header(run_id)
                    assert len(bodies) == header.head_seq >= head
                    assert header.head_seq == 1 + 2 * header.batch_no

        asyncio.run(check())


def _fork(work):
    """Run ``work`` in a forked child and return its exit code."""
    with warnings.catch_warnings():
        # Forking a process with threads is what is being tested.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work()
            code = 0
        except BaseException as exc:
            print(repr(exc), file=sys.stderr, flush=True)
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform has no fork")
def test_forked_child_gets_connections_of_its_own_c136(tmp_path):
    store = SQLiteStore(tmp_path / "runs.db")
    lab = StoreLab(store, None)
    mine = asyncio.run(lab.admit(run_id="run_parent"))

    def child():
        assert asyncio.run(lab.claim_ids()) == [mine]
        asyncio.run(lab.admit(run_id="run_child"))
        asyncio.run(store.close())

    assert _fork(child) == 0
    assert asyncio.run(lab.claim_ids()) == ["run_child"]
    asyncio.run(store.close())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform has no fork")
def test_forks_in_the_middle_of_writes_corrupt_nothing_c136(tmp_path):
    path = tmp_path / "runs.db"
    store = SQLiteStore(path)
    lab = StoreLab(store, None)
    stop = threading.Event()
    admitted = []

    def keep_writing():
        while not stop.is_set():
            admitted.append(asyncio.run(lab.admit()))

    thread = threading.Thread(target=keep_writing)
    thread.start()

    def child():
        for _ in range(3):
            asyncio.run(lab.admit(name="child"))
        asyncio.run(store.close())

    try:
        codes = [_fork(child) for _ in range(5)]
    finally:
        stop.set()
        thread.join()
    assert codes == [0] * 5
    asyncio.run(store.close())
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert connection.execute("SELECT COUNT(*) FROM runs WHERE name = 'child'").fetchone() == (15,)
    kept = {row[0] for row in connection.execute("SELECT run_id FROM runs")}
    connection.close()
    assert set(admitted) <= kept
