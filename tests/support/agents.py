"""Small agents and Runs for the end-to-end tests."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

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
from psych_runtime.ids import RunId
from psych_runtime.log.records import Record
from psych_runtime.ports.store import Store
from psych_runtime.testing.fake_model import FakeModel

SCOPE = Scope(tenant="acme", principal="user-1")


def agent(*tools: str, **fields: Any) -> AgentSpec:
    """An agent with these code tools."""
    limits = fields.pop("limits", {})
    return AgentSpec(
        name=fields.pop("name", "agent"),
        instructions=fields.pop("instructions", "Help."),
        model=fields.pop("model", ModelRef(model="fake-standard")),
        tools=tuple(CodeTool(name=name) for name in tools),
        limits=Limits(**limits),
        **fields,
    )


async def admit(store: Store, spec: AgentSpec, message: str = "go", **options: Any) -> RunId:
    """Publish and dispatch."""
    version = await psych_runtime.publish(store, spec)
    run = await psych_runtime.dispatch(store, version, SCOPE, input={"message": message}, **options)
    return run.run_id


@contextlib.asynccontextmanager
async def serving(
    store: Store, model: FakeModel, registry: ToolRegistry | None = None, **options: Any
) -> AsyncIterator[Worker]:
    """A running Worker."""
    runtime_options = options.pop("runtime", {})
    runtime = Runtime(
        store=store, model=model, registry=registry or ToolRegistry(), **runtime_options
    )
    options.setdefault("poll_interval", 0.05)
    worker = Worker(store, runtime, **options)
    task = asyncio.create_task(worker.run())
    try:
        yield worker
    finally:
        worker.stop()
        await task


async def log_of(store: Store, run_id: RunId) -> list[Record]:
    """The whole log."""
    return list(await psych_runtime.records(store, run_id))


async def ended(store: Store, run_id: RunId, timeout: float = 20.0) -> list[Record]:
    """Wait for the end; return the log."""
    async with asyncio.timeout(timeout):
        return [record async for record in psych_runtime.stream(store, run_id)]


async def execute(
    store: Store,
    spec: AgentSpec,
    model: FakeModel,
    registry: ToolRegistry | None = None,
    message: str = "go",
    **options: Any,
) -> list[Record]:
    """Admit one Run, execute it, return its log."""
    run_id = await admit(store, spec, message)
    async with serving(store, model, registry, **options):
        return await ended(store, run_id)


async def until_suspended(store: Store, run_id: RunId, timeout: float = 10.0) -> None:
    """Wait until a Run stands still."""
    async with asyncio.timeout(timeout):
        while not (await psych_runtime.state(store, run_id)).suspended:
            await asyncio.sleep(0.01)


async def until(condition: Callable[[], bool], timeout: float = 10.0) -> None:
    """Wait for a condition of this process."""
    async with asyncio.timeout(timeout):
        while not condition():
            await asyncio.sleep(0.005)


def of_type(log: list[Record], *types: str) -> list[Any]:
    """The records of these types, in order."""
    return [record for record in log if record.type in types]
