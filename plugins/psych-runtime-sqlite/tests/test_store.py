"""What SQLiteStore does beyond the contract, in one process."""

import asyncio
import gc
import sqlite3
import threading

import pytest
from psych_runtime.errors import (
    SchemaVersionError,
    StoreError,
    StoreUnavailable,
    UnstorableValueError,
)
from psych_runtime.ports.store import RunFilter, RunState, WakeKind
from psych_runtime.store.memory import InMemoryStore
from psych_runtime_sqlite.schema import SCHEMA_VERSION
from psych_runtime_sqlite.store import SQLiteStore
from psych_runtime_testkit.store import StoreLab


@pytest.fixture
async def store(tmp_path):
    async with SQLiteStore(tmp_path / "runs.db") as store:
        yield store


@pytest.fixture
def lab(store):
    return StoreLab(store, None)


def _threads():
    return [t for t in threading.enumerate() if t.name.startswith("psych-sqlite")]


async def test_64_concurrent_appends_share_a_few_commits(store, lab):
    claims = [await lab.held_run() for _ in range(64)]
    before = store._engine.writer.commits
    assert await asyncio.gather(*(lab.append(claim, b"x") for claim in claims)) == [1] * 64
    assert store._engine.writer.commits - before <= 8


async def test_failing_write_spoils_no_neighbour(store, lab):
    def broken(write):
        write.connection.execute("INSERT INTO ring VALUES (2, 'x')")

    claims = [await lab.held_run() for _ in range(8)]
    results = await lab.gathered(
        [lab.append(claim, b"x") for claim in claims[:4]]
        + [store._engine.write(broken)]
        + [lab.append(claim, b"x") for claim in claims[4:]]
    )
    assert isinstance(results.pop(4), StoreUnavailable)
    assert results == [1] * 8


async def test_failing_write_leaves_nothing_behind(store, lab):
    def broken(write):
        write.connection.execute("UPDATE ring SET tenant = 'halfway'")
        raise LookupError("broken")

    with pytest.raises(LookupError):
        await store._engine.write(broken)
    ring = await store._engine.read(lambda c: c.execute("SELECT tenant FROM ring").fetchone())
    assert ring == ("",)


async def test_cancelled_caller_does_not_cancel_its_write(store, lab):
    claim = await lab.held_run()
    with store._engine.writer._gate:
        task = asyncio.ensure_future(lab.append(claim, b"x"))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    # Queued behind it, so it has been decided when this one is.
    await lab.admit()
    assert await lab.bodies(claim.header.run_id) == [b"admitted", b"x"]


async def test_one_row_per_batch(store, lab):
    claim = await lab.held_run(b"a", b"b")
    await lab.append(claim, *[b"x"] * 20)
    count = await store._engine.read(
        lambda c: c.execute("SELECT COUNT(*) FROM records").fetchone()[0]
    )
    assert count == 2


async def test_commits_are_synchronous_and_in_wal(store):
    def pragmas(write):
        names = ("journal_mode", "synchronous")
        return [write.connection.execute(f"PRAGMA {name}").fetchone()[0] for name in names]

    assert await store._engine.write(pragmas) == ["wal", 2]


async def test_text_that_sqlite_cannot_hold_is_refused_before_it_is_queued(store, lab):
    before = store._engine.writer.commits
    with pytest.raises(UnstorableValueError, match=r"name .* lone surrogate"):
        await lab.create(name="a\ud800")
    with pytest.raises(UnstorableValueError, match="priority"):
        await lab.create(priority=2**63)
    assert store._engine.writer.commits == before


async def test_foreign_writes_are_hinted(tmp_path, store, lab):
    hints = []
    stop = store.listen(lambda run_id, kind: hints.append((run_id, kind)))
    async with SQLiteStore(tmp_path / "runs.db") as other:
        foreign = StoreLab(other, None)
        run_id = await foreign.admit()
        await lab.until(lambda: (run_id, WakeKind.RUNNABLE) in hints)
        claim = await foreign.claim()
        await foreign.append(claim, b"x")
        await lab.until(lambda: (run_id, WakeKind.RECORDS) in hints)
        await foreign.external(run_id, b"y")
        await lab.until(lambda: (run_id, WakeKind.EXTERNAL) in hints)
    stop()
    own = await lab.admit()
    assert hints.count((run_id, WakeKind.RUNNABLE)) == 1
    assert (own, WakeKind.RUNNABLE) not in hints


async def test_own_writes_are_hinted_once(store, lab):
    hints = []
    store.listen(lambda run_id, kind: hints.append((run_id, kind)))
    first = await lab.admit()
    await lab.until(lambda: (first, WakeKind.RUNNABLE) in hints)
    looked = store._engine.writer._next_look
    await lab.until(lambda: store._engine.writer._next_look > looked)
    assert hints == [(first, WakeKind.RUNNABLE)]


async def test_old_changes_are_forgotten(store, lab, monkeypatch):
    monkeypatch.setattr("psych_runtime_sqlite.writer._CHANGES_KEPT", 50)
    claim = await lab.held_run()
    for n in range(11):
        await asyncio.gather(
            *(lab.external(claim.header.run_id, key=f"{n}.{m}") for m in range(100))
        )
    count = await store._engine.read(
        lambda c: c.execute("SELECT COUNT(*) FROM changes").fetchone()[0]
    )
    assert count < 250


async def test_newer_schema_names_both_numbers(tmp_path):
    path = tmp_path / "newer.db"
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    store = SQLiteStore(path)
    with pytest.raises(SchemaVersionError) as caught:
        await store.migrate()
    assert (caught.value.found, caught.value.needed) == (99, SCHEMA_VERSION)
    with pytest.raises(SchemaVersionError):
        await StoreLab(store, None).admit()
    await store.close()


async def test_first_use_creates_the_file(tmp_path):
    store = SQLiteStore(tmp_path / "new.db")
    assert not (tmp_path / "new.db").exists()
    await StoreLab(store, None).admit()
    assert (tmp_path / "new.db").exists()
    await store.close()


async def test_file_that_cannot_be_opened_is_unavailable(tmp_path):
    store = SQLiteStore(tmp_path / "no" / "such" / "folder.db")
    with pytest.raises(StoreUnavailable, match=r"cannot open the SQLite file .*folder\.db"):
        await store.migrate()
    await store.close()


async def test_file_that_is_no_database_is_unavailable(tmp_path):
    path = tmp_path / "letter.txt"
    path.write_text("dear reader, " * 100)
    store = SQLiteStore(path)
    with pytest.raises(StoreUnavailable, match="not a database"):
        await store.migrate()
    await store.close()
    assert path.read_text().startswith("dear reader")


@pytest.mark.parametrize("path", [":memory:", ""])
def test_path_without_a_file_is_refused(path):
    with pytest.raises(ValueError, match="InMemoryStore"):
        SQLiteStore(path)


async def test_relative_path_survives_a_change_of_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    store = SQLiteStore("runs.db")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    await store.migrate()
    await store.close()
    assert (tmp_path / "runs.db").exists()


async def test_closed_store_says_so(tmp_path):
    store = SQLiteStore(tmp_path / "runs.db")
    await store.migrate()
    await store.close()
    await store.close()
    assert _threads() == []
    with pytest.raises(StoreError, match="closed"):
        await store.migrate()


async def test_close_finishes_what_is_queued(tmp_path):
    store = SQLiteStore(tmp_path / "runs.db")
    lab = StoreLab(store, None)
    run = await lab.new_run()
    task = asyncio.ensure_future(store.create_run(run, [b"x"]))
    await asyncio.sleep(0)
    await store.close()
    assert (await task).created
    async with SQLiteStore(tmp_path / "runs.db") as again:
        assert await again.get_run(run.run_id) is not None


async def test_forgotten_store_ends_its_threads(tmp_path):
    store = SQLiteStore(tmp_path / "runs.db")
    await store.migrate()
    assert len(_threads()) == 2
    del store
    gc.collect()
    await StoreLab(InMemoryStore(), None).until(lambda: not _threads())


def test_one_store_serves_several_loops(tmp_path):
    store = SQLiteStore(tmp_path / "runs.db")
    lab = StoreLab(store, None)
    run_id = asyncio.run(lab.admit())
    assert asyncio.run(lab.claim_ids()) == [run_id]
    asyncio.run(store.close())


async def test_no_statement_scans_a_table(tmp_path, store, lab):
    seen = set()
    await lab.admit()
    await lab.store.get_run("x")
    for lane in (store._engine.writer, store._engine._reader):
        lane._connection.set_trace_callback(seen.add)
    session = lab.session(lease_seconds=0.05)
    await lab.claim(session)
    await lab.pass_time(0.05)
    held = await lab.claim()
    await lab.append(held, b"x")
    await lab.move(held, RunState.RUNNABLE, batch_no=2, runnable_after=await lab.ahead(0.01))
    await lab.pass_time(0.01)
    again = await lab.claim()
    await lab.move(again, RunState.SETTLED)
    await lab.admit(concurrency_key="line", idempotency_key="k")
    claim = await lab.claim()
    await lab.external(claim.header.run_id, b"y", aborts=True)
    await lab.store.held(claim.header.session_id)
    await lab.store.end_session(claim.header.session_id)
    await lab.move(await lab.claim(), RunState.SETTLED)
    await store.due()
    await store.next_due_at()
    await store.purge(await lab.ahead(10), tenant="acme")
    page = await store.list_runs("acme", RunFilter(), limit=1)
    await store.list_runs("acme", RunFilter(), cursor=page.cursor)
    await store.read(claim.header.run_id, after=1)
    connection = sqlite3.connect(tmp_path / "runs.db")
    plans = {}
    for statement in seen:
        if statement.split()[0] in ("SELECT", "UPDATE", "DELETE"):
            steps = connection.execute(f"EXPLAIN QUERY PLAN {statement}").fetchall()
            plans[statement] = [step[3] for step in steps]
    connection.close()
    assert len(plans) > 25
    for table in ("runs", "records", "external_keys"):
        scans = {
            s: p
            for s, p in plans.items()
            if any(x.startswith(f"SCAN {table}") and "INDEX" not in x for x in p)
        }
        assert scans == {}
