import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from psych_runtime.errors import ToolCallCancelled, TransientError
from psych_runtime.log.values import ToolFailure, ToolOutcome
from psych_runtime.tools.context import ToolContext
from psych_runtime.tools.execution import CallResult, execute_tool
from psych_runtime.tools.registered import RegisteredTool
from psych_runtime.tools.registry import ToolRegistry
from psych_runtime.tools.threads import ToolThreads
from pydantic import BaseModel, ConfigDict, field_validator


@pytest.fixture
def threads() -> Iterator[ToolThreads]:
    made = ToolThreads(max_workers=4)
    yield made
    made.close()


def tool_of(fn: Callable[..., Any], **options: Any) -> RegisteredTool:
    registry = ToolRegistry()
    registry.register(fn, name="tool", description="A tool.", **options)
    return registry.require("tool")


async def failure_of(fn: Callable[..., Any], threads: ToolThreads, **options: Any) -> ToolFailure:
    result = await execute_tool(
        tool_of(fn, **options), {}, ToolContext.for_testing(), threads=threads
    )
    assert result.outcome is ToolOutcome.ERROR
    assert result.result is None
    assert result.failure is not None
    return result.failure


async def test_results_are_plain_json(threads: ToolThreads) -> None:
    class Order(BaseModel):
        id: str
        tags: set[str]

    async def on_loop(n: int) -> Any:
        return [Order(id=str(n), tags={"b", "a"}), (1, 2)]

    def in_thread(n: int) -> Any:
        return [Order(id=str(n), tags={"b", "a"}), (1, 2)]

    for fn in (on_loop, in_thread):
        context = ToolContext.for_testing()
        result = await execute_tool(tool_of(fn), {"n": "7"}, context, threads=threads)
        assert result.outcome is ToolOutcome.OK
        assert result.result == [{"id": "7", "tags": ["a", "b"]}, [1, 2]]
        assert result.failure is None
        assert result.duration_seconds > 0
        assert not context.cancelled.is_cancelled


async def test_invalid_arguments_name_every_field_and_nothing_runs(threads: ToolThreads) -> None:
    ran: list[int] = []

    async def tool(order_id: str, cents: int) -> None:
        ran.append(cents)

    result = await execute_tool(
        tool_of(tool),
        {"cents": "many" * 100, "extra": 1},
        ToolContext.for_testing(),
        threads=threads,
    )
    assert result.outcome is ToolOutcome.ERROR
    assert result.failure is not None
    assert result.failure.kind == "invalid_arguments"
    message = result.failure.message
    assert "order_id: required" in message
    assert "cents: Input should be a valid integer" in message
    assert "extra: the tool has no such argument" in message
    assert len(message) < 500
    assert ran == []


async def test_a_validator_that_breaks_is_a_failure(threads: ToolThreads) -> None:
    class Arguments(BaseModel):
        model_config = ConfigDict(extra="forbid")
        n: int

        @field_validator("n")
        @classmethod
        def _check(cls, n: int) -> int:
            raise ZeroDivisionError("in a validator")

    registry = ToolRegistry()
    registry.register_dynamic("tool", lambda n: n, Arguments, description="D.")
    result = await execute_tool(
        registry.require("tool"), {"n": 1}, ToolContext.for_testing(), threads=threads
    )
    assert result.failure is not None
    assert result.failure.kind == "ZeroDivisionError"


async def test_exceptions_become_failures(threads: ToolThreads) -> None:
    async def on_loop() -> None:
        raise LookupError("no such order")

    def in_thread() -> None:
        raise LookupError("no such order")

    for fn in (on_loop, in_thread):
        failure = await failure_of(fn, threads)
        assert (failure.kind, failure.message) == ("LookupError", "no such order")
        assert not failure.transient
        assert failure.traceback is not None
        assert fn.__name__ in failure.traceback
        assert not failure.traceback_is_for_the_model


async def test_transient_errors_are_marked(threads: ToolThreads) -> None:
    async def tool() -> None:
        raise TransientError("busy")

    assert (await failure_of(tool, threads)).transient


async def test_a_validation_error_inside_the_tool_is_not_about_the_arguments(
    threads: ToolThreads,
) -> None:
    class Inner(BaseModel):
        n: int

    async def tool() -> None:
        Inner.model_validate({"n": "x"})

    assert (await failure_of(tool, threads)).kind == "ValidationError"


async def test_reporting_a_failure_does_not_fail(threads: ToolThreads) -> None:
    class Broken(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no text")

    async def broken() -> None:
        raise Broken

    async def silent() -> None:
        raise ValueError

    async def huge() -> None:
        raise ValueError("x" * 100_000)

    async def deep() -> None:
        await deep()

    assert (await failure_of(broken, threads)).kind == "Broken"
    assert (await failure_of(silent, threads)).message == "ValueError, without a message"
    assert len((await failure_of(huge, threads)).message) <= 8192
    assert (await failure_of(deep, threads)).kind == "RecursionError"


async def test_groups_say_what_is_inside(threads: ToolThreads) -> None:
    async def one() -> None:
        raise ExceptionGroup("group", [ExceptionGroup("inner", [KeyError("k")])])

    async def two() -> None:
        raise ExceptionGroup("group", [KeyError("k"), ValueError("v")])

    assert (await failure_of(one, threads)).kind == "KeyError"
    failure = await failure_of(two, threads)
    assert failure.kind == "ExceptionGroup"
    assert "KeyError: 'k'; ValueError: v" in failure.message


async def test_a_result_that_cannot_be_stored(threads: ToolThreads) -> None:
    async def on_loop() -> Any:
        return {"lock": threading.Lock()}

    def in_thread() -> Any:
        return {"lock": threading.Lock()}

    for fn in (on_loop, in_thread):
        failure = await failure_of(fn, threads)
        assert failure.kind == "unstorable_result"
        assert "lock" in failure.message


async def test_a_timeout_on_the_loop(threads: ToolThreads) -> None:
    context = ToolContext.for_testing()

    async def tool() -> None:
        await asyncio.Event().wait()

    result = await execute_tool(tool_of(tool, timeout_seconds=0.01), {}, context, threads=threads)
    assert result.failure is not None
    assert result.failure.kind == "TimeoutError"
    assert result.failure.transient
    assert "0.01 s" in result.failure.message
    assert context.cancelled.is_cancelled


async def test_a_timeout_that_the_tool_raises_itself_is_its_own(threads: ToolThreads) -> None:
    async def tool() -> None:
        raise TimeoutError("upstream")

    failure = await failure_of(tool, threads, timeout_seconds=60)
    assert (failure.kind, failure.message) == ("TimeoutError", "upstream")


async def test_a_timeout_in_a_thread_sets_the_signal_and_the_result_is_late(
    threads: ToolThreads,
) -> None:
    late: asyncio.Queue[CallResult] = asyncio.Queue()
    loop = asyncio.get_running_loop()

    def tool(context: ToolContext) -> str:
        assert context.cancelled.wait_blocking(10)
        return "done after all"

    result = await execute_tool(
        tool_of(tool, timeout_seconds=0.01),
        {},
        ToolContext.for_testing(),
        threads=threads,
        on_late=lambda result: loop.call_soon_threadsafe(late.put_nowait, result),
    )
    assert result.failure is not None
    assert result.failure.kind == "TimeoutError"
    delivered = await late.get()
    assert (delivered.outcome, delivered.result) == (ToolOutcome.OK, "done after all")


async def test_waiting_for_a_thread_does_not_use_up_the_timeout() -> None:
    threads = ToolThreads(max_workers=1)
    go = threading.Event()
    busy = asyncio.create_task(threads.run(lambda: go.wait(10)))
    await asyncio.sleep(0)
    call = asyncio.create_task(
        execute_tool(
            tool_of(lambda: "ran", timeout_seconds=0.02),
            {},
            ToolContext.for_testing(),
            threads=threads,
        )
    )
    await asyncio.wait({call}, timeout=0.06)
    assert not call.done()
    go.set()
    assert (await call).result == "ran"
    await busy


async def test_the_deadline_a_tool_sees_includes_its_timeout(threads: ToolThreads) -> None:
    async def tool(context: ToolContext) -> Any:
        return context.remaining_seconds()

    result = await execute_tool(
        tool_of(tool, timeout_seconds=30), {}, ToolContext.for_testing(), threads=threads
    )
    assert 0 < result.result <= 30


@pytest.mark.parametrize("timeout", [None, 60])
async def test_cancellation_propagates_from_the_loop(
    threads: ToolThreads, timeout: float | None
) -> None:
    context = ToolContext.for_testing()
    started, cleaned = asyncio.Event(), asyncio.Event()

    async def tool() -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.set()

    task = asyncio.create_task(
        execute_tool(tool_of(tool, timeout_seconds=timeout), {}, context, threads=threads)
    )
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert cleaned.is_set()
    assert context.cancelled.is_cancelled


@pytest.mark.parametrize("timeout", [None, 60])
async def test_cancellation_reaches_a_thread_as_a_signal(
    threads: ToolThreads, timeout: float | None
) -> None:
    context = ToolContext.for_testing()
    loop = asyncio.get_running_loop()
    started = asyncio.Event()
    late: asyncio.Queue[CallResult] = asyncio.Queue()

    def tool(context: ToolContext) -> None:
        loop.call_soon_threadsafe(started.set)
        context.cancelled.wait_blocking(10)
        context.cancelled.raise_if_cancelled()

    task = asyncio.create_task(
        execute_tool(
            tool_of(tool, timeout_seconds=timeout),
            {},
            context,
            threads=threads,
            on_late=lambda result: loop.call_soon_threadsafe(late.put_nowait, result),
        )
    )
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    delivered = await late.get()
    assert delivered.outcome is ToolOutcome.ABORTED
    assert delivered.failure is not None
    assert delivered.failure.kind == "aborted"


async def test_a_cancellation_inside_the_tool_is_a_failure_of_the_tool(
    threads: ToolThreads,
) -> None:
    async def on_loop() -> None:
        inner = asyncio.get_running_loop().create_future()
        inner.cancel()
        await inner

    def in_thread() -> None:
        raise asyncio.CancelledError

    for fn in (on_loop, in_thread):
        assert (await failure_of(fn, threads)).kind == "CancelledError"


async def test_a_tool_that_noticed_the_cancellation_is_aborted(threads: ToolThreads) -> None:
    async def tool() -> None:
        raise ToolCallCancelled("noticed")

    result = await execute_tool(tool_of(tool), {}, ToolContext.for_testing(), threads=threads)
    assert result.outcome is ToolOutcome.ABORTED


async def test_what_is_not_an_exception_propagates(threads: ToolThreads) -> None:
    class Killed(BaseException): ...

    async def on_loop() -> None:
        raise Killed

    def in_thread() -> None:
        raise Killed

    for fn in (on_loop, in_thread):
        with pytest.raises(Killed):
            await execute_tool(tool_of(fn), {}, ToolContext.for_testing(), threads=threads)


async def test_sync_tools_run_side_by_side(threads: ToolThreads) -> None:
    meeting = threading.Barrier(3, timeout=10)
    tool = tool_of(lambda: meeting.wait())
    results = await asyncio.gather(
        *[execute_tool(tool, {}, ToolContext.for_testing(), threads=threads) for _ in range(3)]
    )
    assert sorted(result.result for result in results) == [0, 1, 2]


async def test_an_async_function_behind_a_sync_wrapper_runs_on_the_loop(
    threads: ToolThreads,
) -> None:
    async def inner() -> int:
        return threading.get_ident()

    result = await execute_tool(
        tool_of(lambda: inner()), {}, ToolContext.for_testing(), threads=threads
    )
    assert result.result == threading.get_ident()
