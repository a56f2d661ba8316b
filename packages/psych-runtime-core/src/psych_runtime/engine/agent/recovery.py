"""Calls that an earlier Attempt started and nobody finished."""

from __future__ import annotations

from psych_runtime.engine.agent.activation import Activation
from psych_runtime.engine.agent.builtins import find_tool
from psych_runtime.engine.agent.one_call import OneCall, record_result
from psych_runtime.engine.signals import until_aborted
from psych_runtime.log.fold.state import OpenToolCall
from psych_runtime.log.records import ToolCallReconciled, ToolCallRetried
from psych_runtime.log.values import ToolFailure, ToolOutcome
from psych_runtime.tools.execution import CallResult, reconcile_call


async def recover(on: Activation, orphan: OpenToolCall) -> None:
    """Find out, repeat, or settle as unknown what became of ``orphan``.

    A tool with a reconciler is asked first. A tool that is safe to retry (or only reads) runs
    again under the same idempotency key. Anything else is recorded `unknown`: it is never guessed.
    """
    tool = find_tool(on, orphan.tool)
    repeatable = tool is not None and (tool.safe_to_retry or tool.read_only)
    again = (
        OneCall(
            on,
            tool,
            orphan.call_id,
            orphan.arguments,
            attempt_number=orphan.attempt_number + 1,
        )
        if tool is not None
        else None
    )
    if tool is not None and again is not None and tool.reconcile is not None:
        verdict = await until_aborted(
            reconcile_call(tool, orphan.arguments, again.context(), threads=on.threads), on.abort
        )
        on.journal.write(
            ToolCallReconciled,
            call_id=orphan.call_id,
            verdict=verdict.verdict,
            result=verdict.result,
            detail=verdict.detail,
            step_id=on.step_id,
        )
        if verdict.verdict == "happened":
            result = CallResult(ToolOutcome.OK, verdict.result, None, 0.0)
            record_result(on, orphan.call_id, result, reconciled=True)
            await on.journal.commit()
            return
        repeatable = repeatable or verdict.verdict == "did_not_happen"
    if again is None or not repeatable:
        failure = ToolFailure(
            kind="orphaned",
            message=f"the process running {orphan.tool} ended before it reported a result",
        )
        record_result(on, orphan.call_id, CallResult(ToolOutcome.UNKNOWN, None, failure, 0.0))
        return
    on.journal.write(
        ToolCallRetried,
        call_id=orphan.call_id,
        attempt_number=orphan.attempt_number + 1,
        step_id=on.step_id,
    )
    await on.journal.commit()
    await again.run()
