"""Executing one tool call, and asking a tool about a call that was cut off."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from psych_runtime.errors import ToolCallCancelled
from psych_runtime.log.jsonable import to_json_value
from psych_runtime.log.values import ToolFailure, ToolOutcome
from psych_runtime.tools.context import ToolContext
from psych_runtime.tools.failures import error_text, failure_of
from psych_runtime.tools.reconciliation import Reconciliation
from psych_runtime.tools.registered import RegisteredTool
from psych_runtime.tools.schema import explain_invalid
from psych_runtime.tools.signatures import is_coroutine_function, read_signature
from psych_runtime.tools.threads import ToolThreads


@dataclass(frozen=True, slots=True)
class CallResult:
    """How a call ended.

    Attributes:
        outcome: Ok, error or aborted.
        result: What the tool returned, as plain JSON.
        failure: Why it failed; None when it did not.
        duration_seconds: How long the call took, waiting for a thread included.
    """

    outcome: ToolOutcome
    result: Any = None
    failure: ToolFailure | None = None
    duration_seconds: float = 0.0


async def execute_tool(
    tool: RegisteredTool,
    arguments: Mapping[str, Any],
    context: ToolContext,
    *,
    threads: ToolThreads,
    on_late: Callable[[CallResult], None] | None = None,
) -> CallResult:
    """Validate the arguments, run the tool, and turn whatever happens into a result.

    ``async def`` tools run on the event loop, others in ``threads``. A call that fails, runs out
    of time or returns something that cannot be stored is an ``error`` result, not an exception.
    When the call is cancelled or out of time, ``context.cancelled`` is set.

    Args:
        tool: The tool.
        arguments: As the model wrote them.
        context: Handed to the tool if it wants one.
        threads: For synchronous tools.
        on_late: Gets the result of a synchronous tool that was given up (a thread cannot be
            stopped) when it arrives after all, from any thread.

    Raises:
        asyncio.CancelledError: This task was cancelled.
        BaseException: The tool raised something that is not an `Exception`.
    """
    started = time.perf_counter()
    try:
        if tool.timeout_seconds is not None:
            context = context.limited_to(tool.timeout_seconds)
        keywords = tool.keywords(arguments, context)
    except ValidationError as error:
        failure = ToolFailure(kind="invalid_arguments", message=explain_invalid(tool.name, error))
        return _failed(failure, started)
    except Exception as error:  # a validator of the arguments model
        return _failed(failure_of(error), started)
    try:
        if tool.is_async:
            return await _on_loop(tool, keywords, context, started)
        return await _in_thread(tool, keywords, context, started, threads, on_late)
    except asyncio.CancelledError as error:
        if _task_is_cancelled():
            context.cancelled.set()
            raise
        # Something inside the tool was cancelled, not this call.
        return _failed(failure_of(error), started)


async def reconcile_call(
    tool: RegisteredTool,
    arguments: Mapping[str, Any],
    context: ToolContext,
    *,
    threads: ToolThreads,
) -> Reconciliation:
    """Ask the tool's reconciler whether a call happened. A reconciler that fails knows nothing.

    Args:
        tool: A tool with a ``reconcile`` function; without one the answer is ``unknown``.
        arguments: Of the call in question.
        context: Of the call in question: the same ids, so the same idempotency key.
        threads: For a synchronous reconciler.

    Raises:
        asyncio.CancelledError: This task was cancelled.
    """
    if tool.reconcile is None:
        return Reconciliation.unknown(f"{tool.name} has no reconciler")
    try:
        async with asyncio.timeout(tool.timeout_seconds) as limit:
            answer = await _ask(tool, tool.reconcile, arguments, context, threads)
    except TimeoutError as error:
        if limit.expired():
            context.cancelled.set()
            return Reconciliation.unknown(
                f"the reconciler did not answer within {tool.timeout_seconds:g} s"
            )
        return _no_answer(error)
    except asyncio.CancelledError as error:
        if _task_is_cancelled():
            context.cancelled.set()
            raise
        return _no_answer(error)
    except Exception as error:
        return _no_answer(error)
    if not isinstance(answer, Reconciliation):
        kind = type(answer).__name__
        return Reconciliation.unknown(f"the reconciler returned {kind}, not a Reconciliation")
    try:
        return Reconciliation(answer.verdict, to_json_value(answer.result), str(answer.detail))
    except Exception as error:
        lost = f"its result cannot be stored: {error_text(error)}"
        return Reconciliation(answer.verdict, None, lost)


async def _on_loop(
    tool: RegisteredTool, keywords: dict[str, Any], context: ToolContext, started: float
) -> CallResult:
    try:
        if tool.timeout_seconds is None:
            value = await tool.fn(**keywords)
        else:
            async with asyncio.timeout(tool.timeout_seconds) as limit:
                value = await tool.fn(**keywords)
    except TimeoutError as error:
        if tool.timeout_seconds is not None and limit.expired():
            return _timed_out(tool, context, started)
        return _failed(failure_of(error), started)
    except ToolCallCancelled as error:
        return _aborted(error, started)
    except Exception as error:
        return _failed(failure_of(error), started)
    return _finished(value, started)


async def _in_thread(
    tool: RegisteredTool,
    keywords: dict[str, Any],
    context: ToolContext,
    started: float,
    threads: ToolThreads,
    on_late: Callable[[CallResult], None] | None,
) -> CallResult:
    def body() -> CallResult:
        try:
            value = tool.fn(**keywords)
            if inspect.isawaitable(value):  # an async function behind a synchronous wrapper
                value = context.run_async(_awaited(value))
        except ToolCallCancelled as error:
            return _aborted(error, started)
        except Exception as error:
            return _failed(failure_of(error), started)
        return _finished(value, started)

    if tool.timeout_seconds is None:
        return await threads.run(body, on_late=on_late)
    seconds = tool.timeout_seconds
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(None) as limit:
            # The time starts with the thread: waiting for a free one is not the tool's fault.
            return await threads.run(
                body, on_start=lambda: limit.reschedule(loop.time() + seconds), on_late=on_late
            )
    except TimeoutError:
        return _timed_out(tool, context, started)


async def _ask(
    tool: RegisteredTool,
    reconcile: Callable[..., Any],
    arguments: Mapping[str, Any],
    context: ToolContext,
    threads: ToolThreads,
) -> Any:
    signature = read_signature(f"the reconciler of tool {tool.name!r}", reconcile)
    keywords = tool.values(arguments)
    if not signature.takes_any_keyword:
        keywords = {name: keywords[name] for name in keywords if name in signature.parameters}
    if signature.context_parameter is not None:
        keywords[signature.context_parameter] = context
    if is_coroutine_function(reconcile):
        return await reconcile(**keywords)
    answer = await threads.run(lambda: reconcile(**keywords))
    return await answer if inspect.isawaitable(answer) else answer


async def _awaited(value: Awaitable[Any]) -> Any:
    return await value


def _finished(value: Any, started: float) -> CallResult:
    try:
        result = to_json_value(value)
    except Exception as error:
        failure = ToolFailure(kind="unstorable_result", message=error_text(error))
        return _failed(failure, started)
    return CallResult(ToolOutcome.OK, result, None, time.perf_counter() - started)


def _failed(failure: ToolFailure, started: float) -> CallResult:
    return CallResult(ToolOutcome.ERROR, None, failure, time.perf_counter() - started)


def _aborted(error: ToolCallCancelled, started: float) -> CallResult:
    failure = ToolFailure(kind="aborted", message=error_text(error))
    return CallResult(ToolOutcome.ABORTED, None, failure, time.perf_counter() - started)


def _timed_out(tool: RegisteredTool, context: ToolContext, started: float) -> CallResult:
    context.cancelled.set()
    failure = ToolFailure(
        kind="TimeoutError",
        message=f"{tool.name} did not finish within its limit of {tool.timeout_seconds:g} s",
        transient=True,
    )
    return _failed(failure, started)


def _no_answer(error: BaseException) -> Reconciliation:
    return Reconciliation.unknown(
        f"the reconciler failed: {type(error).__name__}: {error_text(error)}"
    )


def _task_is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
