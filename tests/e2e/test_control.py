"""Interrupting, steering and stopping, from anywhere at any time."""

from __future__ import annotations

import asyncio
import time

import psych_runtime
import pytest
from agents import SCOPE, admit, agent, ended, log_of, of_type, serving, until, until_suspended
from psych_runtime import QueueKind, Scope, ToolContext, ToolRegistry
from psych_runtime.errors import RunAlreadySettled, RunNotFound, RunNotSuspended
from psych_runtime.ports.store import Store
from psych_runtime.testing.fake_model import FakeModel


class Blocking:
    """A registry with a tool that runs until it is let go."""

    def __init__(self, **options: object) -> None:
        self.registry = ToolRegistry()
        self.started = 0
        self.go = asyncio.Event()

        async def block() -> str:
            """Block until let go."""
            self.started += 1
            await self.go.wait()
            return "let go"

        self.registry.register(block, **options)  # type: ignore[call-overload]


def one_block() -> FakeModel:
    return FakeModel().turn(tool_calls=[("block", {})]).turn(text="done")


async def test_c56_interrupting_a_tool_settles_the_call_aborted(store: Store) -> None:
    tools = Blocking()
    run_id = await admit(store, agent("block"))
    async with serving(store, one_block(), tools.registry):
        await until(lambda: tools.started == 1)
        began = time.perf_counter()
        await psych_runtime.interrupt(store, run_id, reason="enough", by="me")
        log = await ended(store, run_id)
        assert time.perf_counter() - began < 1.0
    [finished] = of_type(log, "tool_call_finished")
    assert finished.outcome == "aborted"
    assert log[-1].state == "aborted"
    # The next Run of the conversation gets a history in which every call has its answer.
    model = FakeModel().turn(text="hello again")
    version = await psych_runtime.publish(store, agent("block"))
    following = await psych_runtime.dispatch(
        store, version, SCOPE, input={"message": "still there?"}, continues=run_id
    )
    async with serving(store, model, tools.registry):
        await ended(store, following.run_id)
    roles = [message.role for message in model.last_request.messages]
    assert roles == ["system", "user", "assistant", "tool", "user"]


async def test_a_tool_that_is_not_interruptible_finishes_first(store: Store) -> None:
    tools = Blocking(interruptible=False)
    run_id = await admit(store, agent("block"))
    async with serving(store, one_block(), tools.registry):
        await until(lambda: tools.started == 1)
        await psych_runtime.interrupt(store, run_id)
        tools.go.set()
        log = await ended(store, run_id)
    [finished] = of_type(log, "tool_call_finished")
    assert (finished.outcome, finished.result) == ("ok", "let go")
    assert log[-1].state == "aborted"


async def test_the_spec_alone_can_say_that_a_tool_is_not_interruptible(store: Store) -> None:
    tools = Blocking()
    spec = agent()
    spec = type(spec)(
        name=spec.name,
        model=spec.model,
        tools=(psych_runtime.CodeTool(name="block", interruptible=False),),
    )
    run_id = await admit(store, spec)
    async with serving(store, one_block(), tools.registry):
        await until(lambda: tools.started == 1)
        await psych_runtime.interrupt(store, run_id)
        tools.go.set()
        log = await ended(store, run_id)
    [finished] = of_type(log, "tool_call_finished")
    assert (finished.outcome, finished.result) == ("ok", "let go")


async def test_interrupting_a_model_call_keeps_what_had_arrived(store: Store) -> None:
    model = FakeModel().turn(text=["Once ", "upon ", "a time"], chunk_delay_seconds=0.4)
    run_id = await admit(store, agent())
    async with serving(store, model):
        await until(lambda: model.call_count == 1)
        await asyncio.sleep(0.1)
        await psych_runtime.interrupt(store, run_id)
        log = await ended(store, run_id)
    [failed] = of_type(log, "model_call_failed")
    assert failed.text.startswith("Once")
    assert failed.failure.kind == "aborted"
    assert log[-1].state == "aborted"


async def test_a_run_that_nobody_has_begun_ends_at_once(store: Store) -> None:
    run_id = await admit(store, agent())
    await psych_runtime.interrupt(store, run_id)
    log = await log_of(store, run_id)
    assert [record.type for record in log] == ["run_admitted", "abort_requested", "run_settled"]


async def test_c61_an_interrupt_wins_over_a_later_completion(store: Store) -> None:
    tools = Blocking(interruptible=False)
    run_id = await admit(store, agent("block"))
    async with serving(store, one_block(), tools.registry):
        await until(lambda: tools.started == 1)
        await psych_runtime.interrupt(store, run_id)
        await psych_runtime.interrupt(store, run_id)
        tools.go.set()
        log = await ended(store, run_id)
    assert len(of_type(log, "abort_requested")) == 1
    assert [record.state for record in of_type(log, "run_settled")] == ["aborted"]


async def test_c59_closing_a_stream_does_not_cancel_and_interrupt_does(store: Store) -> None:
    tools = Blocking()
    run_id = await admit(store, agent("block"))
    async with serving(store, one_block(), tools.registry):
        reader = psych_runtime.stream(store, run_id)
        await anext(reader)
        await reader.aclose()
        await until(lambda: tools.started == 1)
        assert (await psych_runtime.status(store, run_id)).lifecycle == "running"
        began = time.perf_counter()
        await psych_runtime.interrupt(store, run_id)
        await ended(store, run_id)
        assert time.perf_counter() - began < 1.0


async def test_c10_send_and_resume_while_a_tool_runs(store: Store) -> None:
    tools = Blocking()
    model = one_block()
    run_id = await admit(store, agent("block"))
    async with serving(store, model, tools.registry):
        await until(lambda: tools.started == 1)
        await psych_runtime.send(store, run_id, message="and hurry")
        with pytest.raises(RunNotSuspended):
            await psych_runtime.resume(store, run_id, approved=True)
        tools.go.set()
        log = await ended(store, run_id)
    assert tools.started == 1
    assert len(of_type(log, "queue_consumed")) == 1
    assert [m.content for m in model.last_request.messages[-2:]] == ["let go", "and hurry"]


async def test_a_follow_up_is_delivered_instead_of_completing(store: Store) -> None:
    model = FakeModel().turn(text="first answer").turn(text="second answer")
    run_id = await admit(store, agent())
    await psych_runtime.send(store, run_id, message="one more", queue=QueueKind.FOLLOW_UP)
    async with serving(store, model):
        log = await ended(store, run_id)
    assert log[-1].output == {"text": "second answer"}
    assert model.last_request.messages[-1].content == "one more"


async def test_a_message_after_the_stop_reaches_the_next_run(store: Store) -> None:
    tools = Blocking(interruptible=False)
    run_id = await admit(store, agent("block"))
    async with serving(store, one_block(), tools.registry):
        await until(lambda: tools.started == 1)
        await psych_runtime.interrupt(store, run_id)
        with pytest.raises(RunAlreadySettled):
            await psych_runtime.send(store, run_id, message="steer")
        await psych_runtime.send(store, run_id, message="later", queue=QueueKind.NEXT_RUN)
        tools.go.set()
        log = await ended(store, run_id)
    assert [r.type for r in of_type(log, "abort_requested", "queue_enqueued")] == [
        "abort_requested",
        "queue_enqueued",
    ]
    model = FakeModel().turn(text="got it")
    version = await psych_runtime.publish(store, agent("block"))
    following = await psych_runtime.dispatch(store, version, SCOPE, continues=run_id)
    async with serving(store, model, tools.registry):
        await ended(store, following.run_id)
    assert model.last_request.messages[-1].content == "later"


async def test_another_tenant_meets_an_unknown_run_everywhere(store: Store) -> None:
    run_id = await admit(store, agent())
    other = Scope(tenant="other")
    texts = set()
    for call in (
        psych_runtime.status(store, run_id, scope=other),
        psych_runtime.records(store, run_id, scope=other),
        psych_runtime.report(store, run_id, scope=other),
        psych_runtime.answer(store, run_id, scope=other),
        psych_runtime.thread(store, run_id, scope=other),
        psych_runtime.state(store, run_id, scope=other),
        psych_runtime.explain(store, run_id, scope=other),
        psych_runtime.interrupt(store, run_id, scope=other),
        psych_runtime.send(store, run_id, message="x", scope=other),
        psych_runtime.resume(store, run_id, approved=True, scope=other),
    ):
        with pytest.raises(RunNotFound) as error:
            await call
        texts.add(str(error.value))
    version = await psych_runtime.publish(store, agent())
    with pytest.raises(RunNotFound) as error:
        await psych_runtime.dispatch(store, version, other, continues=run_id)
    texts.add(str(error.value))
    assert texts == {f"no Run {run_id}"}


async def test_approval_waits_in_no_process_and_runs_once(store: Store) -> None:
    registry = ToolRegistry()
    keys: list[str] = []

    @registry.register(annotations={"destructive"})
    async def refund(cents: int, context: ToolContext) -> str:
        """Refund."""
        keys.append(context.idempotency_key)
        return f"refunded {cents}"

    model = FakeModel().turn(tool_calls=[("refund", {"cents": 5})]).turn(text="refunded")
    run_id = await admit(store, agent("refund"))
    options = {"approval_selectors": ("@destructive",)}
    async with serving(store, model, registry, runtime=options):
        await until_suspended(store, run_id)
    state = await psych_runtime.state(store, run_id)
    assert state.suspend_reason == "approval"
    assert state.pending_approval_call_id is not None
    assert keys == []
    await psych_runtime.resume(store, run_id, approved=True, by="boss")
    async with serving(store, model, registry, runtime=options):
        log = await ended(store, run_id)
    assert len(keys) == 1
    assert log[-1].output == {"text": "refunded"}


async def test_a_denied_call_is_answered_and_the_run_goes_on(store: Store) -> None:
    registry = ToolRegistry()

    @registry.register(annotations={"destructive"})
    async def refund(cents: int) -> str:
        """Refund."""
        raise AssertionError("must not run")

    model = FakeModel().turn(tool_calls=[("refund", {"cents": 5})]).turn(text="not refunded")
    run_id = await admit(store, agent("refund"))
    options = {"approval_selectors": ("@destructive",)}
    async with serving(store, model, registry, runtime=options):
        await until_suspended(store, run_id)
        await psych_runtime.resume(store, run_id, approved=False)
        log = await ended(store, run_id)
    [finished] = of_type(log, "tool_call_finished")
    assert finished.failure.kind == "denied"
    assert log[-1].output == {"text": "not refunded"}


async def test_interrupting_a_waiting_run_ends_it_at_once(store: Store) -> None:
    registry = ToolRegistry()

    @registry.register(annotations={"destructive"})
    async def refund(cents: int) -> str:
        """Refund."""
        raise AssertionError("must not run")

    model = FakeModel().turn(tool_calls=[("refund", {"cents": 5})])
    run_id = await admit(store, agent("refund"))
    options = {"approval_selectors": ("@destructive",)}
    async with serving(store, model, registry, runtime=options):
        await until_suspended(store, run_id)
    await psych_runtime.interrupt(store, run_id)
    status = await psych_runtime.status(store, run_id)
    assert status.lifecycle == "stopped"
    [finished] = of_type(await log_of(store, run_id), "tool_call_finished")
    assert finished.failure.kind == "not_executed"
