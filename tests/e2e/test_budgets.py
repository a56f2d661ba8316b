"""Counted budgets: writes per Run, records read, bytes per turn."""

from __future__ import annotations

import asyncio
from typing import Any

import psych_runtime
import pytest
from psych_runtime import AgentSpec, CodeTool, ModelRef, Runtime, Scope, ToolRegistry, Worker
from psych_runtime.ports.store import Store
from psych_runtime.testing.fake_model import FakeModel
from psych_runtime.testing.store_wrapper import CountingStore

SCOPE = Scope(tenant="acme")
LINGER = 0.3


def make(latency: float, *, read_only: bool) -> tuple[AgentSpec, ToolRegistry, FakeModel]:
    registry = ToolRegistry()
    annotations = {"read-only"} if read_only else set()

    @registry.register(annotations=annotations)
    async def work(n: int) -> str:
        """Do some work."""
        if latency:
            await asyncio.sleep(latency)
        return f"worked on {n}"

    spec = AgentSpec(
        name="budget", model=ModelRef(model="fake-standard"), tools=(CodeTool(name="work"),)
    )
    model = (
        FakeModel()
        .turn(text="Working.", tool_calls=[("work", {"n": 1})], delay_seconds=latency)
        .turn(text="Done.", delay_seconds=latency)
    )
    return spec, registry, model


@pytest.mark.parametrize("latency", [0.0, 0.05, 0.5])
@pytest.mark.parametrize("read_only", [False, True], ids=["write tool", "read-only tool"])
async def test_writes_of_a_two_turn_one_tool_run(
    store: Store, latency: float, read_only: bool
) -> None:
    counting = CountingStore(store)
    spec, registry, model = make(latency, read_only=read_only)
    runtime = Runtime(store=counting, model=model, registry=registry)
    version = await psych_runtime.publish(counting, spec)
    run = await psych_runtime.dispatch(counting, version, SCOPE, input={"message": "go"})
    await Worker(counting, runtime).drain()
    log = await psych_runtime.records(store, run.run_id)
    assert log[-1].type == "run_settled"
    slow_calls = 3 if latency > LINGER else 0
    assert counting.calls["create_run"] == 1
    assert counting.calls["claim"] == 1
    assert counting.calls["append"] <= (2 if read_only else 3) + slow_calls
    assert counting.calls.get("append_external", 0) == 0
    # Nothing foreign was written, so nothing beyond the admission is ever read back.
    assert counting.records_read <= len(log)
    assert counting.calls.get("read", 0) <= 1


async def test_log_bytes_per_turn_beyond_the_payload(store: Store) -> None:
    counting = CountingStore(store)
    turns = 20
    registry = ToolRegistry()

    @registry.register
    async def work(n: int) -> str:
        """Do some work."""
        return "x" * 100

    model = FakeModel()
    payload = 0
    for n in range(turns):
        text = f"turn {n} " + "y" * 50
        model.turn(text=text, tool_calls=[("work", {"n": n})])
        payload += len(text) + 100
    model.turn(text="Done.")
    spec: Any = AgentSpec(
        name="budget",
        instructions="i" * 1024,
        model=ModelRef(model="fake-standard"),
        tools=(CodeTool(name="work"),),
    )
    runtime = Runtime(store=counting, model=model, registry=registry)
    version = await psych_runtime.publish(counting, spec)
    await psych_runtime.dispatch(counting, version, SCOPE, input={"message": "go"})
    await Worker(counting, runtime).drain()
    per_turn = (counting.bytes_written - payload) / turns
    print(f"{per_turn:.0f} bytes per turn beyond the payload")
    assert per_turn < 1500
