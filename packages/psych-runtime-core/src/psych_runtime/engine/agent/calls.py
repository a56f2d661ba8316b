"""The tool calls of a turn: each with a life of its own in the log, side by side."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from dataclasses import dataclass
from typing import Any

from psych_runtime.engine.agent.activation import Activation
from psych_runtime.engine.agent.approvals import WaitingCall, gate
from psych_runtime.engine.agent.builtins import find_tool
from psych_runtime.engine.agent.one_call import OneCall, answer_as_data, problem_of
from psych_runtime.engine.agent.recovery import recover
from psych_runtime.engine.agent.repetition import repetition_of
from psych_runtime.engine.signals import Stopped
from psych_runtime.log.records import ToolCallStarted
from psych_runtime.log.values import ModelToolCall, ToolFailure
from psych_runtime.tools.registered import RegisteredTool


@dataclass(frozen=True, slots=True)
class ReadyCall:
    """A call that passed the gate."""

    call: ModelToolCall
    tool: RegisteredTool


class CallRunner:
    """Answers every call that the log shows as asked for and not answered."""

    def __init__(self, activation: Activation) -> None:
        self._on = activation

    async def settle_all(self) -> list[WaitingCall]:
        """Run what may run, answer as data what may not; return the calls that wait for a person.

        Calls found open were started by an earlier Attempt: they are recovered, next to the rest.

        Raises:
            LeaseLost: The lease ended while something ran.
            Stopped: The Attempt is to stop; unanswered calls stay in the log.
        """
        on = self._on
        state = on.journal.state
        orphans = list(state.open_tool_calls.values())
        ready: list[ReadyCall] = []
        waiting: list[WaitingCall] = []
        drop_the_rest = False
        for asked in list(state.unanswered_calls.values()):
            if asked.step_id != on.step_id or asked.call_id in state.open_tool_calls:
                continue
            call = asked.call
            failure = problem_of(on, call)
            repetition = repetition_of(on, call)
            if failure is None and drop_the_rest:
                failure = ToolFailure(
                    kind="not_executed", message="an earlier call of this turn repeats itself"
                )
            elif failure is None and repetition.refuse:
                failure = ToolFailure(kind="repeated_call", message=repetition.advisory)
            drop_the_rest = drop_the_rest or repetition.fail_turn
            tool = None if failure is not None else find_tool(on, call.name)
            if failure is None and tool is None:
                failure = ToolFailure(kind="unknown_tool", message=f"no tool named {call.name!r}")
            if failure is None and tool is not None:
                verdict = await gate(on, call, tool)
                if isinstance(verdict, WaitingCall):
                    waiting.append(verdict)
                    continue
                failure = verdict
            if failure is not None:
                answer_as_data(on, asked, failure)
            elif tool is not None:
                ready.append(ReadyCall(call, tool))
        first = True
        for group in _groups(ready):
            if on.abort.reason is not None:
                raise Stopped(on.abort.reason)
            recoveries = orphans if first else []
            await self._run_group(group, [recover(on, orphan) for orphan in recoveries])
            first = False
        if first and orphans:
            await _all(*[recover(on, orphan) for orphan in orphans])
        return waiting

    async def _run_group(
        self, group: list[ReadyCall], others: list[Coroutine[Any, Any, None]]
    ) -> None:
        """Start every call of ``group`` at once; calls that share a serial key follow each other."""
        on = self._on
        chains: dict[str, list[ReadyCall]] = {}
        for index, ready in enumerate(group):
            key = ready.tool.serial
            chains.setdefault(f"serial {key}" if key else f"call {index}", []).append(ready)
        heads = [chain[0] for chain in chains.values()]
        for ready in heads:
            self._write_intent(ready)
        if any(not ready.tool.read_only for ready in heads):
            await on.journal.commit()
        else:
            on.journal.commit_soon()
        await _all(*[self._run_chain(chain) for chain in chains.values()], *others)

    async def _run_chain(self, chain: list[ReadyCall]) -> None:
        on = self._on
        for index, ready in enumerate(chain):
            if index > 0:
                if on.abort.reason is not None:
                    raise Stopped(on.abort.reason)
                self._write_intent(ready)
                if not ready.tool.read_only:
                    await on.journal.commit()
            await OneCall(on, ready.tool, ready.call.call_id, ready.call.arguments).run()

    def _write_intent(self, ready: ReadyCall) -> None:
        on = self._on
        asked = on.journal.state.unanswered_calls[ready.call.call_id]
        on.journal.write(
            ToolCallStarted,
            call_id=ready.call.call_id,
            tool=ready.call.name,
            arguments=ready.call.arguments,
            turn=asked.turn,
            step_id=on.step_id,
            interruptible=ready.tool.interruptible,
            safe_to_retry=ready.tool.safe_to_retry,
            read_only=ready.tool.read_only,
        )


def _groups(ready: list[ReadyCall]) -> Iterator[list[ReadyCall]]:
    """Split at exclusive calls, each of which runs alone, keeping the model's order."""
    together: list[ReadyCall] = []
    for call in ready:
        if call.tool.exclusive:
            if together:
                yield together
            yield [call]
            together = []
        else:
            together.append(call)
    if together:
        yield together


async def _all(*lives: Coroutine[Any, Any, None]) -> None:
    """Run ``lives`` side by side; when one raises, wait for the others, then raise the first."""
    if len(lives) == 1:
        await lives[0]
        return
    results = await asyncio.gather(*lives, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
