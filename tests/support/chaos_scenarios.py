"""Scenarios for the crash-point explorer, on any store with a movable clock."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import psych_runtime
from psych_runtime import AgentSpec, CodeTool, Limits, ModelRef, Runtime, Scope, Worker
from psych_runtime.ids import RunId
from psych_runtime.log.records import (
    ModelCallFinished,
    QueueConsumed,
    Record,
    RunSettled,
    ToolCallReconciled,
)
from psych_runtime.ports.model import ModelRequest
from psych_runtime.ports.store import Store
from psych_runtime.testing.explorer import World
from psych_runtime.testing.fake_model import FakeModel, FakeTurn
from psych_runtime.tools.registry import ToolRegistry

SCOPE = Scope(tenant="acme")
LEASE = 5.0


class Clock:
    """A wall clock that tests move."""

    def __init__(self) -> None:
        self.offset = 0.0

    def __call__(self) -> datetime:
        return datetime.now(UTC) + timedelta(seconds=self.offset)


StoreFactory = Callable[[Clock], Store]
Answerer = Callable[[ModelRequest], FakeTurn | str]


@dataclass
class Effects:
    """What tools did to the world: survives the death of a process."""

    counts: Counter[str] = field(default_factory=Counter)
    keys: dict[str, set[str]] = field(default_factory=dict)

    def happen(self, tool: str, key: str) -> None:
        self.counts[tool] += 1
        self.keys.setdefault(tool, set()).add(key)


def tools_for(effects: Effects, gate: asyncio.Event | None = None) -> ToolRegistry:
    registry = ToolRegistry()

    @registry.register
    async def unsafe(n: int, context: psych_runtime.ToolContext) -> str:
        """Has an effect that must not be repeated."""
        effects.happen("unsafe", context.idempotency_key)
        return f"unsafe {n}"

    @registry.register(safe_to_retry=True)
    async def safe(n: int, context: psych_runtime.ToolContext) -> str:
        """Has an effect that may be repeated."""
        effects.happen("safe", context.idempotency_key)
        return f"safe {n}"

    @registry.register(annotations={"read-only"})
    async def lookup(n: int) -> dict[str, Any]:
        """Only reads."""
        return {"n": n}

    def found(n: int, context: psych_runtime.ToolContext) -> psych_runtime.Reconciliation:
        if context.idempotency_key in effects.keys.get("reconciled", set()):
            return psych_runtime.Reconciliation.happened(f"reconciled {n}")
        return psych_runtime.Reconciliation.did_not_happen()

    @registry.register(reconcile=found)
    async def reconciled(n: int, context: psych_runtime.ToolContext) -> str:
        """Can be asked what happened."""
        effects.happen("reconciled", context.idempotency_key)
        return f"reconciled {n}"

    @registry.register
    async def slow(n: int, context: psych_runtime.ToolContext) -> str:
        """Runs until it is stopped."""
        effects.happen("slow", context.idempotency_key)
        if gate is not None:
            gate.set()
            await asyncio.Event().wait()
        return f"slow {n}"

    return registry


def answers_in_turn(*turns: FakeTurn | str) -> Answerer:
    """Answers by how many assistant messages the conversation holds: the same in any process."""

    def answer(request: ModelRequest) -> FakeTurn | str:
        said = sum(1 for message in request.messages if message.role == "assistant")
        return turns[min(said, len(turns) - 1)]

    return answer


def calls(*names: str) -> FakeTurn:
    return FakeTurn(tool_calls=[(name, {"n": index}) for index, name in enumerate(names)])


def spec(**limits: Any) -> AgentSpec:
    return AgentSpec(
        name="chaos",
        instructions="Do it.",
        model=ModelRef(model="fake-standard"),
        tools=tuple(
            CodeTool(name=name) for name in ("unsafe", "safe", "lookup", "reconciled", "slow")
        ),
        limits=Limits(**limits),
    )


class Scenario:
    """A world builder: override what differs."""

    name = "plain answer"
    turns: tuple[FakeTurn | str, ...] = ("All good.",)
    limits: dict[str, Any] = {}
    expected_state = "completed"
    expected_text: str | None = "All good."

    def __init__(self, make_store: StoreFactory) -> None:
        self.make_store = make_store

    def __call__(self) -> World:
        self.clock = Clock()
        self.effects = Effects()
        store = self.make_store(self.clock)

        async def close() -> None:
            await store.close()

        return World(
            store=store,
            admit=self.admit,
            work=self.work,
            recover=self.recover,
            pass_time=self.pass_time,
            check=self.check,
            close=close,
        )

    def pass_time(self) -> None:
        self.clock.offset += LEASE + 1

    def model(self) -> FakeModel:
        return FakeModel().respond(answers_in_turn(*self.turns))

    def worker(self, store: Store, gate: asyncio.Event | None = None) -> Worker:
        runtime = Runtime(store=store, model=self.model(), registry=tools_for(self.effects, gate))
        return Worker(
            store,
            runtime,
            lease_seconds=LEASE,
            heartbeat_seconds=LEASE / 2,
            poll_interval=0.02,
            grace_seconds=0.5,
        )

    async def admit(self, store: Store) -> RunId:
        await store.migrate()
        version = await psych_runtime.publish(store, spec(**self.limits))
        run = await psych_runtime.dispatch(store, version, SCOPE, input={"message": "Go."})
        return run.run_id

    async def work(self, store: Store, run_id: RunId) -> None:
        await self.worker(store).drain()

    async def recover(self, store: Store, run_id: RunId) -> None:
        await self.worker(store).drain()

    def check(self, log: list[Record]) -> list[str]:
        problems = []
        ending = log[-1]
        if not isinstance(ending, RunSettled):
            return ["not settled"]
        if ending.state.value != self.expected_state:
            problems.append(f"ended {ending.state.value}, {ending.failure}")
        text = (ending.output or {}).get("text")
        if text != self.expected_text:
            problems.append(f"answered {text!r}")
        distinct = {tool: len(keys) for tool, keys in self.effects.keys.items()}
        for tool in ("unsafe", "reconciled", "slow"):
            if self.effects.counts[tool] > distinct.get(tool, 0):
                problems.append(f"{tool} ran twice under one key: {self.effects.counts[tool]}")
        return problems


class OneTool(Scenario):
    name = "one tool"
    turns = (calls("unsafe"), "All good.")


class OneReadOnlyTool(Scenario):
    name = "one read-only tool"
    turns = (calls("lookup"), "All good.")


class FiveTools(Scenario):
    name = "five parallel tools, safe and unsafe mixed"
    turns = (calls("unsafe", "safe", "lookup", "reconciled", "unsafe"), "All good.")

    def check(self, log: list[Record]) -> list[str]:
        problems = super().check(log)
        for record in log:
            if isinstance(record, ToolCallReconciled) and record.verdict == "unknown":
                problems.append("the reconciler was not believed")
        return problems


class SteerMidRun(Scenario):
    name = "steer mid-run"
    turns = (calls("safe"), "All good.")

    async def work(self, store: Store, run_id: RunId) -> None:
        await psych_runtime.send(store, run_id, message="And hurry.")
        await self.worker(store).drain()

    def check(self, log: list[Record]) -> list[str]:
        problems = super().check(log)
        sent = [r for r in log if r.type == "queue_enqueued"]
        consumed = [r for r in log if isinstance(r, QueueConsumed)]
        if len(sent) != len(consumed):
            problems.append(f"{len(sent)} sent, {len(consumed)} delivered")
        return problems


class InterruptMidTool(Scenario):
    name = "interrupt mid-tool"
    turns = (calls("slow"), "All good.")
    expected_state = "aborted"
    expected_text = None

    async def work(self, store: Store, run_id: RunId) -> None:
        gate = asyncio.Event()
        worker = self.worker(store, gate)
        serving = asyncio.create_task(worker.drain())
        reached = asyncio.create_task(gate.wait())
        await asyncio.wait({serving, reached}, return_when=asyncio.FIRST_COMPLETED)
        await psych_runtime.interrupt(store, run_id, reason="enough")
        await serving
        reached.cancel()

    async def recover(self, store: Store, run_id: RunId) -> None:
        # The user presses stop again: their first one may have died with the process.
        await psych_runtime.interrupt(store, run_id, reason="enough")
        await self.worker(store).drain()


class Deadline(Scenario):
    name = "deadline"
    turns = (calls("slow"), "All good.")
    limits = {"deadline_seconds": 0.25}
    expected_state = "aborted"
    expected_text = None

    async def work(self, store: Store, run_id: RunId) -> None:
        await self.worker(store, asyncio.Event()).drain()

    async def recover(self, store: Store, run_id: RunId) -> None:
        worker = self.worker(store)
        serving = asyncio.create_task(worker.run())
        async for _ in psych_runtime.stream(store, run_id):
            pass
        worker.stop()
        await serving


class RetryableModelFailure(Scenario):
    name = "retryable model failure"
    turns = (calls("safe"), "All good.")

    def model(self) -> FakeModel:
        model = FakeModel()
        model.raises_transient(503, retry_after_seconds=0.01)
        return model.respond(answers_in_turn(*self.turns))

    def check(self, log: list[Record]) -> list[str]:
        problems = super().check(log)
        if sum(isinstance(record, ModelCallFinished) for record in log) < 2:
            problems.append("a model call is missing")
        return problems


SCENARIOS: tuple[type[Scenario], ...] = (
    Scenario,
    OneTool,
    OneReadOnlyTool,
    FiveTools,
    SteerMidRun,
    InterruptMidTool,
    Deadline,
    RetryableModelFailure,
)
