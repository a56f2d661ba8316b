"""CPU per turn of a 2,000-turn Run: turn 2,000 against turn 20.

uv run --group dev python tests/benchmarks/bench_long_run.py [--turns N]
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import time

import psych_runtime
from psych_runtime import (
    AgentSpec,
    CodeTool,
    Limits,
    ModelRef,
    Runtime,
    Scope,
    ToolRegistry,
    Worker,
)
from psych_runtime.store.memory import InMemoryStore
from psych_runtime.testing.fake_model import FakeModel, FakeTurn

MOST_TURNS = 2001
"""2,000 turns and the answering one."""


async def cpu_per_turn(turns: int) -> list[float]:
    """CPU seconds between one model call and the next, for every turn of one Run."""
    registry = ToolRegistry()

    @registry.register
    async def work(n: int) -> str:
        """Do some work."""
        return f"worked on {n}"

    marks: list[float] = []

    def answer(request: psych_runtime.ModelRequest) -> FakeTurn | str:
        marks.append(time.process_time())
        n = len(marks)
        if n > turns:
            return "Done."
        return FakeTurn(text=f"turn {n}", tool_calls=[("work", {"n": n})])

    spec = AgentSpec(
        name="long",
        model=ModelRef(model="fake-standard"),
        tools=(CodeTool(name="work"),),
        limits=Limits(max_turns=min(turns + 1, MOST_TURNS), max_steps=10_000),
    )
    store = InMemoryStore()
    version = await psych_runtime.publish(store, spec)
    await psych_runtime.dispatch(
        store, version, Scope(tenant="acme"), input={"message": "go"}, deadline_seconds=3600
    )
    model = FakeModel(keep_requests=1).respond(answer)
    await Worker(store, Runtime(store, model, registry)).drain()
    return [later - earlier for earlier, later in itertools.pairwise(marks)]


def median(values: list[float]) -> float:
    """The middle value."""
    return sorted(values)[len(values) // 2]


def main() -> None:
    """Print both medians and their ratio."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--turns", type=int, default=MOST_TURNS - 1)
    turns = parser.parse_args().turns
    took = asyncio.run(cpu_per_turn(turns))
    early, late = median(took[10:50]), median(took[-40:])
    print(
        f"{len(took)} turns: {1000 * early:.3f} ms CPU per turn around turn 30, "
        f"{1000 * late:.3f} ms at the end, ratio {late / early:.2f}"
    )


if __name__ == "__main__":
    main()
