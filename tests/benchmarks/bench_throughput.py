"""Throughput and CPU per Run: 1,000 two-turn, one-tool Runs on memory and SQLite.

    uv run --group dev python tests/benchmarks/bench_throughput.py [--runs N]

Ratios are taken within one run of this file, because machines are noisy.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sqlite3
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import psych_runtime
from psych_runtime import AgentSpec, CodeTool, ModelRef, Runtime, Scope, ToolRegistry, Worker
from psych_runtime.ports.store import RunFilter, RunState, Store
from psych_runtime.store.memory import InMemoryStore
from psych_runtime.store.sqlite import SQLiteStore
from psych_runtime.testing.fake_model import FakeModel, FakeTurn

SCOPE = Scope(tenant="acme")
SPEC = AgentSpec(
    name="bench",
    instructions="Help the customer with their order.",
    model=ModelRef(model="fake-standard"),
    tools=(CodeTool(name="lookup_order"),),
)


def make_runtime(store: Store) -> Runtime:
    registry = ToolRegistry()

    @registry.register
    async def lookup_order(order_id: str) -> dict[str, str]:
        """Look up an order by its id."""
        return {"order_id": order_id, "status": "shipped"}

    first = FakeTurn(text="Checking.", tool_calls=[("lookup_order", {"order_id": "A1"})])

    def answer(request: psych_runtime.ModelRequest) -> FakeTurn | str:
        return "A1 has shipped." if request.messages[-1].role == "tool" else first

    model = FakeModel(keep_requests=1).respond(answer)
    return Runtime(store=store, model=model, registry=registry)


async def execute(store: Store, runs: int, concurrency: int) -> tuple[float, float]:
    """Admit, then drain; return (wall seconds, CPU seconds) of both together."""
    await store.migrate()
    version = await psych_runtime.publish(store, SPEC)
    wall, cpu = time.perf_counter(), time.process_time()
    for start in range(0, runs, 64):
        await asyncio.gather(
            *[
                psych_runtime.dispatch(store, version, SCOPE, input={"message": "where is A1?"})
                for _ in range(start, min(start + 64, runs))
            ]
        )
    await Worker(store, make_runtime(store), concurrency=concurrency).drain()
    took = time.perf_counter() - wall, time.process_time() - cpu
    left = await store.list_runs(
        "acme", RunFilter(states=frozenset(set(RunState) - {RunState.SETTLED})), limit=1
    )
    if left.headers:
        raise SystemExit("some Runs did not end")
    return took


def raw_commits(folder: Path, commits: int, size: int) -> float:
    """Commits per second of one connection that writes ``size`` bytes each, as the store would."""
    database = sqlite3.connect(folder / "raw.db", isolation_level=None)
    database.execute("pragma journal_mode=wal")
    database.execute("pragma synchronous=full")
    database.execute("create table t (id integer primary key, body blob)")
    body = os.urandom(size)
    began = time.perf_counter()
    for _ in range(commits):
        database.execute("begin immediate")
        database.execute("insert into t (body) values (?)", (body,))
        database.execute("commit")
    took = time.perf_counter() - began
    database.close()
    return commits / took


async def ask_latency() -> float:
    """Median seconds of `session.ask` with an instant model."""
    model = FakeModel().respond(lambda request: "Hello.")
    spec = AgentSpec(name="hello", model=ModelRef(model="fake-standard"))
    times = []
    async with psych_runtime.session(model) as session:
        for _ in range(50):
            began = time.perf_counter()
            await session.ask(spec, "Hi")
            times.append(time.perf_counter() - began)
    return sorted(times)[len(times) // 2]


def measure(name: str, open_store: Callable[[], Store], runs: int) -> dict[int, float]:
    """Print one line per concurrency; return Runs per second by concurrency."""
    rates = {}
    for concurrency in (1, 16, 64):

        async def once(concurrency: int = concurrency) -> tuple[float, float]:
            store = open_store()
            try:
                return await execute(store, runs, concurrency)
            finally:
                await store.close()

        wall, cpu = asyncio.run(once())
        rates[concurrency] = runs / wall
        print(
            f"{name:7} concurrency {concurrency:3}: {runs / wall:8.0f} runs/s, "
            f"{1000 * cpu / runs:.3f} ms CPU per Run"
        )
    return rates


def main() -> None:
    """Run everything and print it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=1000)
    runs = parser.parse_args().runs
    asyncio.run(execute(InMemoryStore(), 50, 16))  # builds the models once, which is not per Run
    measure("memory", InMemoryStore, runs)
    with tempfile.TemporaryDirectory() as folder:
        numbers = iter(range(100))
        rates = measure("sqlite", lambda: SQLiteStore(f"{folder}/{next(numbers)}.db"), runs)
        size = Path(f"{folder}/0.db").stat().st_size
        per_commit = max(size // (runs * 5), 200)
        raw = raw_commits(Path(folder), runs, per_commit)
        print(f"sqlite  raw: {raw:.0f} commits/s of {per_commit} bytes (one Run needs 5)")
        for concurrency, rate in rates.items():
            print(
                f"sqlite  concurrency {concurrency:3}: {rate * 5 / raw:.2f} commit points "
                "per raw commit"
            )
    print(f"session.ask with an instant model: {1000 * asyncio.run(ask_latency()):.2f} ms (median)")


if __name__ == "__main__":
    main()
