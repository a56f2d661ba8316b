"""Logs written by hand, in fewer words than the builder's."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta
from decimal import Decimal
from typing import Any, Self

import pytest
from psych_runtime.ids import ToolCallId, WorkerId
from psych_runtime.log.codec import encode
from psych_runtime.log.records import RecordBase, RunAdmitted, RunSettled
from psych_runtime.log.values import ModelTimings, ModelToolCall, TerminalState, ToolOutcome
from psych_runtime.ports.store import (
    Lease,
    NewRun,
    RunState,
    Store,
    Transition,
    WorkerSession,
)
from psych_runtime.scope import Scope
from psych_runtime.spec.usage import Cost, Usage
from psych_runtime.store.memory import InMemoryStore
from psych_runtime.testing.logs import EPOCH, LogBuilder

Call = tuple[str, str] | ModelToolCall


class Log(LogBuilder):
    """A log whose records are one second apart, unless ``seconds`` says otherwise."""

    def __init__(self, run_id: str = "run_a", tenant: str = "acme") -> None:
        super().__init__(run_id, Scope(tenant=tenant))
        self.now = EPOCH

    def add(self, kind: type[RecordBase], /, *, seconds: float = 1.0, **fields: Any) -> Self:
        if self.records:
            self.now += timedelta(seconds=seconds)
        return super().add(kind, at=self.now, **fields)

    def begun(self, message: str | None = "hello", **fields: Any) -> Self:
        """Admitted with a message, and taken up by a worker."""
        given = {"message": message} if message is not None else {}
        return self.admitted(input=given, **fields).attempt()

    def ask(self, step_id: str | None = None, **fields: Any) -> Self:
        """Open a turn and its model call."""
        return self.turn(step_id=step_id).model_started("m", step_id=step_id, **fields)

    def say(self, text: str = "", calls: Iterable[Call] = (), **fields: Any) -> Self:
        """Finish the model call that is open; a call is ``(call_id, tool)``."""
        whole = tuple(
            call
            if isinstance(call, ModelToolCall)
            else ModelToolCall(call_id=ToolCallId(call[0]), name=call[1], arguments={"n": call[0]})
            for call in calls
        )
        given = {
            "usage": Usage(input=10, output=5),
            "cost": Cost(amount=Decimal("0.01"), model="m"),
            "timings": ModelTimings(stream_duration_seconds=0.5),
            **fields,
        }
        return self.model_finished("m", text=text, calls=whole, **given)

    def turns(
        self, text: str = "", calls: Iterable[Call] = (), step_id: str | None = None, **fields: Any
    ) -> Self:
        """A whole model call."""
        return self.ask(step_id).say(text, calls, step_id=step_id, **fields)

    def start(self, call_id: str, tool: str = "look", **fields: Any) -> Self:
        return self.tool_started(call_id, tool, **{"arguments": {"n": call_id}, **fields})

    def finish(self, call_id: str, result: Any = "ok", **fields: Any) -> Self:
        """Answer a call: ``ok`` with ``result`` unless another outcome is given."""
        if fields.get("outcome", ToolOutcome.OK) is not ToolOutcome.OK:
            result = None
        return self.tool_finished(call_id, **{"result": result, "duration_seconds": 1.0, **fields})

    def run_call(self, call_id: str, tool: str = "look", result: Any = "ok", **fields: Any) -> Self:
        return self.start(call_id, tool).finish(call_id, result, **fields)

    def enqueue(self, entry_id: str, text: str) -> Self:
        return self.enqueued(entry_id, payload={"message": text})

    def consume(self, entry_id: str, **fields: Any) -> Self:
        return self.consumed(entry_id, **fields)

    def settle(self, state: TerminalState = TerminalState.COMPLETED, **fields: Any) -> Self:
        return self.settled(state, **fields)


@pytest.fixture
def new_log() -> Callable[..., Log]:
    """Make an empty log: ``new_log("run_b", "tenant")``."""
    return Log


SESSION = WorkerSession(session_id="s1", worker_id=WorkerId("wrk_test"), lease_seconds=60.0)


class Stored:
    """A log in a store, held by a worker: ``push`` writes what was added to it since."""

    def __init__(self, store: Store, log: Log) -> None:
        self.store = store
        self.log = log
        self._written = 0
        self._batch = 0
        self._lease: Lease | None = None

    async def admit(self) -> None:
        """Create the Run with the first record, and take it."""
        log = self.log
        first = log.records[0]
        assert isinstance(first, RunAdmitted)
        run = NewRun(
            run_id=log.run_id,
            scope=log.scope,
            version_hash=log.version_hash,
            name="support",
            deadline_at=first.deadline_at,
            continues_run_id=first.continues_run_id,
            parent_run_id=first.parent_run_id,
        )
        await self.store.create_run(run, [encode(first)])
        self._written = 1
        (claim,) = await self.store.claim(SESSION, 1)
        assert claim.header.run_id == log.run_id
        self._lease = Lease(SESSION.session_id, SESSION.worker_id, claim.header.epoch)

    async def push(self, transition: Transition | None = None) -> None:
        """Write the rest of the log; a terminal record settles the Run."""
        assert self._lease is not None
        rest = self.log.records[self._written :]
        last = self.log.records[-1]
        if transition is None and isinstance(last, RunSettled):
            transition = Transition(RunState.SETTLED, terminal_state=last.state.value)
        self._batch += 1
        await self.store.append(
            self.log.run_id,
            [encode(record) for record in rest],
            lease=self._lease,
            batch_no=self._batch,
            strict_head=None if transition is None else self._written,
            transition=transition,
        )
        self._written = len(self.log.records)


@pytest.fixture
def store() -> InMemoryStore:
    return InMemoryStore()


@pytest.fixture
def put(store: InMemoryStore) -> Callable[..., Any]:
    """Store a log, admitted and held; returns what pushes the rest of it."""

    async def put(log: Log, into: Store | None = None) -> Stored:
        stored = Stored(into or store, log)
        await stored.admit()
        if len(log.records) > 1:
            await stored.push()
        return stored

    return put
