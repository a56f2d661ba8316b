import asyncio
import contextvars
import dataclasses
import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from psych_runtime.errors import ToolCallCancelled
from psych_runtime.tools.cancellation import CancelSignal
from psych_runtime.tools.context import ToolContext
from psych_runtime.tools.threads import ToolThreads


def test_the_idempotency_key_belongs_to_the_call() -> None:
    first = ToolContext.for_testing(run_id="r", call_id="c", attempt_number=1, epoch=1)
    again = ToolContext.for_testing(run_id="r", call_id="c", attempt_number=2, epoch=9)
    assert first.idempotency_key == again.idempotency_key
    others = {
        ToolContext.for_testing(run_id=run, call_id=call).idempotency_key
        for run, call in [("r", "d"), ("s", "c"), ("rc", ""), ("\ud800", "c")]
    }
    assert len(others) == 4
    assert first.idempotency_key not in others
    assert len(first.idempotency_key) < 64


def test_a_context_cannot_be_changed() -> None:
    context = ToolContext.for_testing()
    with pytest.raises(dataclasses.FrozenInstanceError):
        context.epoch = 3  # type: ignore[misc]


def test_remaining_time() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)

    def context(deadline_at: datetime | None) -> ToolContext:
        made = ToolContext.for_testing(deadline_at=deadline_at)
        return dataclasses.replace(made, now=lambda: now)

    assert context(None).remaining_seconds() is None
    assert context(now + timedelta(seconds=5)).remaining_seconds() == 5
    assert context(now - timedelta(seconds=5)).remaining_seconds() == 0
    assert context(None).limited_to(3).remaining_seconds() == 3
    assert context(now + timedelta(seconds=5)).limited_to(3).remaining_seconds() == 3
    assert context(now + timedelta(seconds=2)).limited_to(3).remaining_seconds() == 2


async def test_progress_is_reported_until_the_call_is_over() -> None:
    reports: list[Any] = []
    context = ToolContext.for_testing(progress=reports)
    await context.progress("half", 0.5, {"rows": 2})
    await context.progress("too much", 7)
    await context.progress("no number", float("nan"))
    context.cancelled.set()
    await context.progress("too late")
    context.progress_sync("too late, from wherever")
    assert reports == [
        ("half", 0.5, {"rows": 2}),
        ("too much", 1.0, None),
        ("no number", None, None),
    ]


async def test_progress_from_a_thread_arrives_in_order() -> None:
    reports: list[Any] = []
    threads: list[int] = []
    context = ToolContext.for_testing(progress=reports)
    report = context.on_progress
    assert report is not None

    async def noting(message: str, fraction: float | None, data: Any) -> None:
        threads.append(threading.get_ident())
        await report(message, fraction, data)

    context = dataclasses.replace(context, on_progress=noting)

    def work() -> None:
        for step in range(3):
            context.progress_sync(str(step))

    await ToolThreads().run(work)
    assert [message for message, _, _ in reports] == ["0", "1", "2"]
    assert set(threads) == {threading.get_ident()}


async def test_a_thread_can_use_clients_of_the_host_loop() -> None:
    context = ToolContext.for_testing()
    lock = asyncio.Lock()
    variable = contextvars.ContextVar("variable", default="unset")

    async def on_host(n: int) -> tuple[int, int, str]:
        async with lock:
            await asyncio.sleep(0)
            return n, threading.get_ident(), variable.get()

    def work(n: int) -> tuple[int, int, str]:
        return context.run_async(on_host(n))

    variable.set("set")
    threads = ToolThreads(max_workers=4)
    results = await asyncio.gather(*[threads.run(lambda n=n: work(n)) for n in range(12)])
    assert results == [(n, threading.get_ident(), "set") for n in range(12)]


async def test_the_bridge_raises_what_the_coroutine_raises() -> None:
    context = ToolContext.for_testing()

    async def fails() -> None:
        raise KeyError("k")

    with pytest.raises(KeyError):
        await ToolThreads().run(lambda: context.run_async(fails()))


async def test_the_bridge_refuses_to_wait_for_itself() -> None:
    context = ToolContext.for_testing()

    async def anything() -> None: ...

    with pytest.raises(RuntimeError, match="await"):
        context.run_async(anything())
    with pytest.raises(RuntimeError, match="await"):
        context.progress_sync("x")


def test_the_bridge_works_without_a_host_loop() -> None:
    context = ToolContext.for_testing()

    async def answer() -> int:
        return 42

    assert context.run_async(answer()) == 42


async def test_cancelling_the_call_ends_a_wait_in_the_bridge() -> None:
    context = ToolContext.for_testing()
    waiting, undone = asyncio.Event(), asyncio.Event()

    async def for_ever() -> None:
        waiting.set()
        try:
            await asyncio.Event().wait()
        finally:
            undone.set()

    def work() -> str:
        try:
            context.run_async(for_ever())
        except ToolCallCancelled:
            return "noticed"
        return "finished"

    task = asyncio.create_task(ToolThreads().run(work))
    await waiting.wait()
    context.cancelled.set()
    assert await task == "noticed"
    await undone.wait()


def test_the_bridge_says_when_the_loop_is_gone() -> None:
    async def make() -> ToolContext:
        return ToolContext.for_testing()

    async def anything() -> None: ...

    context = asyncio.run(make())
    with pytest.raises(ToolCallCancelled, match="closed"):
        context.run_async(anything())


async def test_waiting_for_the_signal() -> None:
    signal = CancelSignal()
    signal.raise_if_cancelled()
    waits = [asyncio.create_task(signal.wait()) for _ in range(3)]
    threads = ToolThreads()
    blocked = asyncio.create_task(threads.run(lambda: signal.wait_blocking(60)))
    elsewhere = asyncio.create_task(threads.run(lambda: asyncio.run(signal.wait())))
    await asyncio.sleep(0)
    assert not signal.is_cancelled
    assert not signal.wait_blocking(0)
    await threads.run(signal.set)
    await asyncio.gather(*waits)
    assert await blocked is True
    await elsewhere
    await signal.wait()
    assert signal.is_cancelled
    with pytest.raises(ToolCallCancelled):
        signal.raise_if_cancelled()
