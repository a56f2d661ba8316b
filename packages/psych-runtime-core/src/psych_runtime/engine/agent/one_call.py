"""One tool call, from its durable intent to its recorded result."""

from __future__ import annotations

import time
from typing import Any

from pydantic_core import to_json

from psych_runtime.engine.agent.activation import Activation
from psych_runtime.engine.signals import AbortReason, Stopped, until_aborted
from psych_runtime.ids import ToolCallId
from psych_runtime.log.fold.state import UnansweredCall
from psych_runtime.log.records import ToolCallFinished, ToolCallStarted, ToolProgress
from psych_runtime.log.values import ModelToolCall, ToolFailure, ToolOutcome
from psych_runtime.tools.context import ToolContext
from psych_runtime.tools.execution import CallResult, execute_tool
from psych_runtime.tools.registered import RegisteredTool

_ENDS_THE_RUN = frozenset({AbortReason.INTERRUPT, AbortReason.DEADLINE, AbortReason.LEASE_LOST})
_ANY = _ENDS_THE_RUN | {AbortReason.SHUTDOWN}
_ONLY_LOST = frozenset({AbortReason.LEASE_LOST})


class OneCall:
    """Executes a call whose intent is written, and records what became of it."""

    def __init__(
        self,
        on: Activation,
        tool: RegisteredTool,
        call_id: ToolCallId,
        arguments: dict[str, Any],
        *,
        attempt_number: int = 1,
    ) -> None:
        self._on = on
        self._tool = tool
        self._call_id = call_id
        self._arguments = arguments
        self._attempt_number = attempt_number

    async def run(self) -> None:
        """Execute and record.

        Raises:
            LeaseLost: The lease ended before the side effect, or nothing can be written.
            Stopped: The Worker shuts down and the call can safely be made again, or the Run ends and
            the call has an answer already, or may have happened in an earlier Attempt.
        """
        on, tool = self._on, self._tool
        reason = on.abort.reason
        if reason is AbortReason.INTERRUPT or reason is AbortReason.DEADLINE:
            if self._attempt_number > 1:
                raise Stopped(reason)
            failure = ToolFailure(kind="not_executed", message=f"the Run was stopped: {reason}")
            self._record(CallResult(ToolOutcome.ERROR, None, failure, 0.0))
            return
        if reason is AbortReason.LEASE_LOST:
            raise Stopped(reason)
        if not tool.read_only:
            await on.journal.guard.ensure(on.journal.run_id)
        self._record(await self._execute())
        if not tool.read_only:
            await on.journal.commit()

    async def _execute(self) -> CallResult:
        on, tool = self._on, self._tool
        repeatable = tool.safe_to_retry or tool.read_only
        reasons = _ANY if tool.interruptible and repeatable else _ENDS_THE_RUN
        if not tool.interruptible:
            reasons = _ONLY_LOST
        context = self.context()
        started = time.perf_counter()
        try:
            return await until_aborted(
                execute_tool(
                    tool,
                    self._arguments,
                    context,
                    threads=on.threads,
                    on_late=on.runtime.late_results(on.journal, self._call_id),
                ),
                on.abort,
                reasons,
            )
        except Stopped as stopped:
            if stopped.reason in (AbortReason.LEASE_LOST, AbortReason.SHUTDOWN):
                raise
            failure = ToolFailure(kind="aborted", message=f"stopped while running: {stopped}")
            took = time.perf_counter() - started
            return CallResult(ToolOutcome.ABORTED, None, failure, took)
        finally:
            context.cancelled.set()

    def _record(self, result: CallResult) -> None:
        on = self._on
        if on.abort.fired and self._call_id not in on.journal.state.open_tool_calls:
            raise Stopped(on.abort.reason)  # the Run was force-settled over this call
        record_result(self._on, self._call_id, result)

    def context(self) -> ToolContext:
        """What the tool may know and do."""
        on = self._on
        header = on.journal.header
        return ToolContext(
            scope=header.scope,
            run_id=on.journal.run_id,
            call_id=self._call_id,
            tool=self._tool.name,
            attempt_number=self._attempt_number,
            epoch=on.journal.lease.epoch,
            deadline_at=header.deadline_at,
            on_progress=self._progress,
        )

    async def _progress(self, message: str, fraction: float | None, data: Any) -> None:
        self._on.journal.write(
            ToolProgress,
            call_id=self._call_id,
            message=message,
            fraction=fraction,
            data=data,
            step_id=self._on.step_id,
        )


def record_result(
    on: Activation, call_id: ToolCallId, result: CallResult, *, reconciled: bool = False
) -> None:
    """Write the end of a call. Does not wait for it to be durable."""
    on.journal.write(
        ToolCallFinished,
        call_id=call_id,
        outcome=result.outcome,
        result=result.result,
        failure=result.failure,
        duration_seconds=result.duration_seconds,
        result_bytes=_size(result.result),
        reconciled=reconciled,
        step_id=on.step_id,
    )


def answer_as_data(on: Activation, asked: UnansweredCall, failure: ToolFailure) -> None:
    """Answer a call that is never executed, so that the model hears why."""
    on.journal.write(
        ToolCallStarted,
        call_id=asked.call_id,
        tool=asked.name or "<unnamed>",
        arguments=asked.arguments,
        turn=asked.turn,
        step_id=on.step_id,
        read_only=True,
    )
    record_result(on, asked.call_id, CallResult(ToolOutcome.ERROR, None, failure, 0.0))


def problem_of(on: Activation, call: ModelToolCall) -> ToolFailure | None:
    """Why ``call`` must not run, as far as the call itself and this turn's offer tell."""
    if call.problem is not None:
        return ToolFailure(kind=call.problem, message=_PROBLEMS.get(call.problem, call.problem))
    if on.offered is None or call.name not in on.offered:
        return ToolFailure(
            kind="unknown_tool", message=f"no tool named {call.name!r} is offered in this turn"
        )
    return None


_PROBLEMS = {
    "malformed_arguments": "the arguments are not a JSON object",
    "duplicate_call_id": "another call of this turn has the same id",
    "truncated": "the answer was cut off while this call was being written",
    "too_many_calls": "this turn asks for more calls than are allowed",
}


def _size(value: Any) -> int:
    if value is None:
        return 0
    if isinstance(value, str):
        return len(value.encode("utf-8", "surrogatepass"))
    try:
        return len(to_json(value, inf_nan_mode="constants"))
    except ValueError:
        return len(repr(value))
