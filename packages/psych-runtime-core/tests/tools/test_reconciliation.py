import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest
from psych_runtime.tools.context import ToolContext
from psych_runtime.tools.execution import reconcile_call
from psych_runtime.tools.reconciliation import Reconciliation
from psych_runtime.tools.registry import ToolRegistry
from psych_runtime.tools.threads import ToolThreads


async def ask(
    reconcile: Callable[..., Any] | None, arguments: Any = None, **options: Any
) -> Reconciliation:
    registry = ToolRegistry()

    @registry.register(name="tool", description="A tool.", reconcile=reconcile, **options)
    async def tool(n: int, note: str = "none") -> None: ...

    return await reconcile_call(
        registry.require("tool"),
        {"n": "3"} if arguments is None else arguments,
        ToolContext.for_testing(call_id="call_9"),
        threads=ToolThreads(),
    )


async def test_the_reconciler_gets_what_it_asks_for() -> None:
    main = threading.get_ident()

    def with_context(n: int, context: ToolContext) -> Reconciliation:
        return Reconciliation.happened([n, context.call_id, threading.get_ident() == main])

    async def on_loop(note: str) -> Reconciliation:
        return Reconciliation.happened([note, threading.get_ident() == main])

    async def everything(**arguments: Any) -> Reconciliation:
        return Reconciliation.happened(arguments)

    async def nothing() -> Reconciliation:
        return Reconciliation.did_not_happen()

    assert await ask(with_context) == Reconciliation("happened", [3, "call_9", False])
    assert await ask(on_loop) == Reconciliation("happened", ["none", True])
    assert await ask(everything) == Reconciliation("happened", {"n": 3, "note": "none"})
    assert await ask(nothing) == Reconciliation("did_not_happen")


async def test_a_reconciler_that_fails_knows_nothing() -> None:
    def fails() -> Reconciliation:
        raise LookupError("no idea")

    async def cancelled() -> Reconciliation:
        raise asyncio.CancelledError

    async def hangs() -> Reconciliation:
        await asyncio.Event().wait()
        raise AssertionError

    def wrong_type() -> str:
        return "happened"

    answer = await ask(fails)
    assert answer.verdict == "unknown"
    assert "LookupError: no idea" in answer.detail
    assert (await ask(cancelled)).verdict == "unknown"
    answer = await ask(hangs, timeout_seconds=0.01)
    assert (answer.verdict, "0.01 s" in answer.detail) == ("unknown", True)
    answer = await ask(wrong_type)
    assert (answer.verdict, "str" in answer.detail) == ("unknown", True)
    assert (await ask(fails, {"n": "x"})).verdict == "unknown"
    assert (await ask(None)).verdict == "unknown"


async def test_it_happened_even_when_the_result_cannot_be_stored() -> None:
    answer = await ask(lambda: Reconciliation.happened(threading.Lock()))
    assert (answer.verdict, answer.result) == ("happened", None)
    assert "stored" in answer.detail


async def test_cancelling_the_question_propagates() -> None:
    asked = asyncio.Event()

    async def hangs() -> Reconciliation:
        asked.set()
        await asyncio.Event().wait()
        raise AssertionError

    task = asyncio.create_task(ask(hangs))
    await asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
