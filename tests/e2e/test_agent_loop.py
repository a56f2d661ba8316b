"""What the model asks for, and how each call is answered: exactly once, whatever it is."""

from __future__ import annotations

import asyncio
import time

import psych_runtime
import pytest
from agents import SCOPE, admit, agent, ended, execute, log_of, of_type, serving, until
from psych_runtime import ModelRef, Runtime, ToolContext, ToolRegistry, Usage, Worker
from psych_runtime.ports.store import Store
from psych_runtime.testing.fake_model import FakeModel, ToolCallScript


def lookup_registry(ran: list[dict[str, object]]) -> ToolRegistry:
    registry = ToolRegistry()

    @registry.register(annotations={"read-only"})
    async def lookup(order_id: str = "none") -> str:
        """Look up."""
        ran.append({"order_id": order_id})
        return f"found {order_id}"

    return registry


@pytest.mark.parametrize("raw", ["{", '{"order_id": ', "null", "[]", '"x"', "7"])
async def test_c96_c98_arguments_that_are_no_object_are_answered_and_not_executed(
    store: Store, raw: str
) -> None:
    ran: list[dict[str, object]] = []
    model = (
        FakeModel()
        .turn(tool_calls=[ToolCallScript("lookup", raw_arguments=raw)])
        .turn(tool_calls=[("lookup", {"order_id": "A1"})])
        .turn(text="done")
    )
    log = await execute(store, agent("lookup"), model, lookup_registry(ran))
    first, second = of_type(log, "tool_call_finished")
    assert first.failure.kind == "malformed_arguments"
    assert second.result == "found A1"
    assert ran == [{"order_id": "A1"}]
    assert log[-1].state == "completed"


async def test_c98_empty_arguments_of_a_tool_without_any_are_an_empty_object(
    store: Store,
) -> None:
    ran: list[dict[str, object]] = []
    model = (
        FakeModel().turn(tool_calls=[ToolCallScript("lookup", raw_arguments="")]).turn(text="done")
    )
    await execute(store, agent("lookup"), model, lookup_registry(ran))
    assert ran == [{"order_id": "none"}]


async def test_calls_that_cannot_run_are_answered_as_data_next_to_one_that_can(
    store: Store,
) -> None:
    ran: list[dict[str, object]] = []
    model = (
        FakeModel()
        .turn(
            tool_calls=[
                ToolCallScript("lookup", {"order_id": "A"}, call_id="same"),
                ToolCallScript("lookup", {"order_id": "B"}, call_id="same"),
                ("no_such_tool", {}),
                ("lookup", {"wrong": 1}),
                ("lookup", {"order_id": "E"}),
            ]
        )
        .turn(text="done")
    )
    spec = agent("lookup", limits={"max_tool_calls_per_turn": 4})
    log = await execute(store, spec, model, lookup_registry(ran))
    by_id = {record.call_id: record for record in of_type(log, "tool_call_finished")}
    asked = of_type(log, "model_call_finished")[0].calls
    kinds = [by_id[call.call_id].failure and by_id[call.call_id].failure.kind for call in asked]
    assert kinds == [
        None,
        "duplicate_call_id",
        "unknown_tool",
        "invalid_arguments",
        "too_many_calls",
    ]
    assert ran == [{"order_id": "A"}]
    assert len({call.call_id for call in asked}) == 5


async def test_a_truncated_answer_executes_nothing(store: Store) -> None:
    ran: list[dict[str, object]] = []
    model = (
        FakeModel()
        .turn(tool_calls=[("lookup", {"order_id": "A"})], finish_reason="length")
        .turn(
            tool_calls=[("lookup", {"order_id": "B"})],
            usage=Usage(output=50),
        )
        .turn(text="done")
    )
    spec = agent("lookup", model=ModelRef(model="fake-standard", max_output_tokens=50))
    log = await execute(store, spec, model, lookup_registry(ran))
    kinds = [record.failure.kind for record in of_type(log, "tool_call_finished")]
    assert kinds == ["truncated", "truncated"]
    assert ran == []


async def test_tools_that_the_spec_does_not_grant_never_run(store: Store) -> None:
    registry = ToolRegistry()

    @registry.register
    async def secret() -> str:
        """Registered, not granted."""
        raise AssertionError("must not run")

    model = FakeModel().turn(tool_calls=[("secret", {})]).turn(text="done")
    log = await execute(store, agent(), model, registry)
    assert of_type(log, "tool_call_finished")[0].failure.kind == "unknown_tool"


async def test_transient_failures_are_retried_within_the_budget(store: Store) -> None:
    model = FakeModel()
    for _ in range(2):
        model.raises_transient(503, retry_after_seconds=0.01)
    model.turn(text="at last")
    log = await execute(store, agent(), model)
    assert [record.will_retry for record in of_type(log, "model_call_failed")] == [True, True]
    assert log[-1].output == {"text": "at last"}


async def test_the_retry_budget_ends_the_run(store: Store) -> None:
    model = FakeModel()
    for _ in range(3):
        model.raises_transient(503, retry_after_seconds=0.01)
    log = await execute(store, agent(limits={"transient_retry_budget": 2}), model)
    assert log[-1].state == "failed"
    assert log[-1].failure.transient


async def test_a_permanent_failure_ends_the_run_at_once(store: Store) -> None:
    log = await execute(store, agent(), FakeModel().raises_permanent(400))
    assert log[-1].state == "failed"
    assert len(of_type(log, "model_call_failed")) == 1


async def test_fallback_models_are_tried_in_order_before_waiting(store: Store) -> None:
    model = FakeModel().raises_transient(503).raises_transient(503).turn(text="third time")
    ref = ModelRef(model="one", fallbacks=("two", "three"))
    began = time.perf_counter()
    log = await execute(store, agent(model=ref), model)
    assert [request.model for request in model.requests] == ["one", "two", "three"]
    assert log[-1].output == {"text": "third time"}
    assert time.perf_counter() - began < 2.0


async def test_silence_is_a_transient_failure(store: Store) -> None:
    model = FakeModel().stalls().turn(text="awake")
    log = await execute(store, agent(limits={"stream_idle_seconds": 0.05}), model)
    [failed] = of_type(log, "model_call_failed")
    assert failed.failure.transient
    assert log[-1].output == {"text": "awake"}


async def test_c57_a_stream_that_breaks_keeps_its_partial_text(store: Store) -> None:
    model = FakeModel().aborts_mid_token("The answer is").turn(text="42", usage=Usage(output=3))
    log = await execute(store, agent(), model)
    totals = (await psych_runtime.report(store, log[0].run_id)).totals
    assert (totals.usage_source, totals.unreported_usage_calls) == ("partial", 1)
    assert totals.cost_is_incomplete
    [failed] = of_type(log, "model_call_failed")
    assert failed.text == "The answer is"
    assert failed.usage_reported is False
    assert log[-1].output == {"text": "42"}


async def test_budgets_end_the_run(store: Store) -> None:
    ran: list[dict[str, object]] = []
    model = FakeModel().respond(
        lambda request: __import__(
            "psych_runtime.testing.fake_model", fromlist=["FakeTurn"]
        ).FakeTurn(tool_calls=[("lookup", {"order_id": str(len(request.messages))})])
    )
    spec = agent("lookup", limits={"max_turns": 3})
    log = await execute(store, spec, model, lookup_registry(ran))
    assert log[-1].failure.kind == "budget_exhausted"
    assert len(ran) == 3
    spec = agent("lookup", limits={"max_steps": 2})
    log = await execute(store, spec, model, lookup_registry(ran))
    assert log[-1].failure.kind == "budget_exhausted"


async def test_a_failing_tool_is_withheld_and_then_ends_the_run(store: Store) -> None:
    registry = ToolRegistry()

    @registry.register
    async def broken(n: int) -> str:
        """Always fails."""
        raise RuntimeError(f"failure {n}")

    model = FakeModel()
    for n in range(6):
        model.turn(tool_calls=[("broken", {"n": n})])
    log = await execute(store, agent("broken"), model, registry)
    offered = [len(request.tools) for request in model.requests]
    assert offered == [1, 1, 1, 0, 0, 0]
    assert log[-1].failure.kind == "failure_streak"


async def test_deadline_stops_a_hung_tool_and_settles_within_the_grace(store: Store) -> None:
    registry = ToolRegistry()

    @registry.register(interruptible=False)
    async def hang() -> str:
        """Hang for ever, and refuse to be interrupted."""
        await asyncio.Event().wait()
        return "never"

    model = FakeModel().turn(tool_calls=[("hang", {})])
    spec = agent("hang", limits={"deadline_seconds": 0.2})
    began = time.perf_counter()
    log = await execute(store, spec, model, registry, grace_seconds=0.2)
    assert log[-1].state == "force_settled"
    assert log[-1].orphaned_attempt_id is not None
    assert of_type(log, "tool_call_finished")[0].outcome == "unknown"
    assert time.perf_counter() - began < 5


async def test_a_deadline_that_passes_while_nobody_holds_the_run_ends_it(store: Store) -> None:
    run_id = await admit(store, agent(), deadline_seconds=0.05)
    await asyncio.sleep(0.06)
    async with serving(store, FakeModel().respond(lambda request: "late"), supervisor_interval=0.1):
        log = await ended(store, run_id)
    assert log[-1].state == "aborted"
    assert log[-1].failure.kind == "deadline"


async def test_context_gives_a_tool_what_it_needs(store: Store) -> None:
    registry = ToolRegistry()
    seen: list[ToolContext] = []

    @registry.register
    async def work(n: int, context: ToolContext) -> str:
        """Work."""
        seen.append(context)
        await context.progress("half way", fraction=0.5)
        return "ok"

    model = FakeModel().turn(tool_calls=[("work", {"n": 1})]).turn(text="done")
    log = await execute(store, agent("work"), model, registry)
    [context] = seen
    [started] = of_type(log, "tool_call_started")
    assert context.scope.tenant == SCOPE.tenant
    assert (context.run_id, context.call_id) == (log[0].run_id, started.call_id)
    again = ToolContext.for_testing(run_id=context.run_id, call_id=context.call_id)
    assert context.idempotency_key == again.idempotency_key
    [progress] = of_type(log, "tool_progress")
    assert (progress.message, progress.fraction) == ("half way", 0.5)


async def test_a_sync_tool_that_returns_after_its_timeout_leaves_a_late_result(
    store: Store,
) -> None:
    import threading

    registry = ToolRegistry()
    go = threading.Event()

    @registry.register(timeout_seconds=0.05)
    def slow() -> str:
        """Slow."""
        go.wait(10)
        return "late but true"

    model = FakeModel().turn(tool_calls=[("slow", {})]).turn(text="moving on", delay_seconds=0.4)
    run_id = await admit(store, agent("slow"))
    async with serving(store, model, registry):
        await until(lambda: model.call_count == 2)
        go.set()
        log = await ended(store, run_id)
    [finished] = of_type(log, "tool_call_finished")
    assert finished.failure.kind == "TimeoutError"
    [late] = of_type(log, "tool_result_late")
    assert late.result == "late but true"


async def test_runtime_model_may_be_a_coroutine_function_of_the_scope(store: Store) -> None:
    seen = []

    async def model_for(scope: psych_runtime.Scope) -> FakeModel:
        seen.append(scope.tenant)
        return FakeModel().turn(text=f"hello {scope.principal}")

    run_id = await admit(store, agent())
    await Worker(store, Runtime(store, model_for, ToolRegistry())).drain()
    assert (await log_of(store, run_id))[-1].output == {"text": "hello user-1"}
    assert seen == ["acme"]


async def test_worker_takes_any_runner(store: Store) -> None:
    visited = []

    async def runner(
        journal: psych_runtime.Journal,
        header: psych_runtime.RunHeader,
        abort: psych_runtime.AbortSignal,
    ) -> None:
        visited.append(header.run_id)
        raise RuntimeError("no idea what to do")

    run_id = await admit(store, agent())
    await Worker(store, runner).drain()
    assert visited == [run_id]
    end = (await log_of(store, run_id))[-1]
    assert end.failure.kind == "attempt_failed"
    assert "no idea what to do" in end.failure.message


async def test_the_same_call_with_the_same_result_is_refused_in_the_end(store: Store) -> None:
    ran: list[dict[str, object]] = []
    model = FakeModel()
    for _ in range(4):
        model.turn(tool_calls=[("lookup", {"order_id": "A"})])
    model.turn(text="done")
    log = await execute(store, agent("lookup"), model, lookup_registry(ran))
    kinds = [r.failure and r.failure.kind for r in of_type(log, "tool_call_finished")]
    assert kinds == [None, None, "repeated_call", "repeated_call"]
    assert len(ran) == 2


async def test_a_repeated_call_at_the_hard_stop_drops_the_rest_of_the_turn(store: Store) -> None:
    ran: list[dict[str, object]] = []
    same = ("lookup", {"order_id": "A"})
    model = (
        FakeModel()
        .turn(tool_calls=[same])
        .turn(tool_calls=[same, ("lookup", {"order_id": "B"})])
        .turn(text="done")
    )
    limits = {"repeat_call_threshold": 2, "repeat_call_hard_stop": 2}
    log = await execute(store, agent("lookup", limits=limits), model, lookup_registry(ran))
    kinds = [r.failure and r.failure.kind for r in of_type(log, "tool_call_finished")]
    assert kinds == [None, "repeated_call", "not_executed"]
    assert ran == [{"order_id": "A"}]
