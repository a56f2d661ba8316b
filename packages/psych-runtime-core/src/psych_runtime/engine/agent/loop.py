"""The loop: answer open calls, check the limits, take a turn; until the Run ends or waits."""

from __future__ import annotations

from psych_runtime.engine.agent.activation import Activation
from psych_runtime.engine.agent.calls import CallRunner
from psych_runtime.engine.agent.endings import Endings
from psych_runtime.engine.agent.model_turn import ModelTurn
from psych_runtime.engine.journal import DecisionDropped
from psych_runtime.engine.signals import AbortReason, Stopped
from psych_runtime.log.records import QueueConsumed
from psych_runtime.log.values import TerminalState, ToolFailure


class AgentLoop:
    """Drives one agent until its Run is settled, suspended, or has to be handed back."""

    def __init__(self, activation: Activation) -> None:
        self._on = activation
        self._calls = CallRunner(activation)
        self._turns = ModelTurn(activation)
        self._endings = Endings(activation)

    async def run(self) -> None:
        """Return once the journal is closed, or once the Attempt should hand the Run back.

        Raises:
            LeaseLost: Somebody else may hold the Run.
            CorruptLog: The log holds something impossible.
        """
        while not self._on.journal.closed:
            try:
                await self._advance()
            except DecisionDropped:
                continue
            except Stopped as stopped:
                if stopped.reason in (AbortReason.SHUTDOWN, AbortReason.LEASE_LOST):
                    return
                await self._stop(stopped.reason)

    async def _stop(self, reason: AbortReason) -> None:
        while True:
            try:
                await self._endings.stopped(reason)
                return
            except DecisionDropped:
                continue

    async def _advance(self) -> None:
        on = self._on
        state = on.journal.state
        if on.abort.reason is not None:
            raise Stopped(on.abort.reason)
        unable = self._turns.cannot_offer()
        if unable is not None:
            await self._endings.settle(TerminalState.FAILED, failure=unable)
            return
        if state.unanswered_calls or state.open_tool_calls:
            waiting = await self._calls.settle_all()
            if on.abort.reason is not None:
                raise Stopped(on.abort.reason)
            # One that was answered while other calls ran must not be waited for again.
            if waiting and all(call.wait_id in state.waits for call in waiting):
                await self._endings.suspend_for_approvals(waiting)
            return
        if on.tracker.answer is not None and not state.pending_steer:
            if state.pending_follow_up:
                await self._consume(state.pending_follow_up[0].entry_id)
                return
            await self._endings.settle(
                TerminalState.COMPLETED, output={"text": on.tracker.answer.text}
            )
            return
        exhausted = self._exhausted()
        if exhausted is not None:
            await self._endings.settle(TerminalState.FAILED, failure=exhausted)
            return
        if state.pending_steer:
            await self._consume(*[entry.entry_id for entry in state.pending_steer])
        failure = await self._turns.take()
        if failure is not None:
            await self._endings.settle(TerminalState.FAILED, failure=failure)

    async def _consume(self, *entry_ids: str) -> None:
        journal = self._on.journal
        await journal.decide(
            *[
                journal.make(QueueConsumed, entry_id=entry_id, step_id=self._on.step_id)
                for entry_id in entry_ids
            ]
        )

    def _exhausted(self) -> ToolFailure | None:
        """The first limit that is used up, if any."""
        state, limits = self._on.journal.state, self._on.spec.limits
        for tool, streak in state.failure_streaks.items():
            if streak >= limits.failure_streak_hard_stop:
                return ToolFailure(
                    kind="failure_streak", message=f"{tool} failed {streak} times in a row"
                )
        if state.turn >= limits.max_turns:
            return ToolFailure(
                kind="budget_exhausted", message=f"all {limits.max_turns} turns are used"
            )
        if len(state.tool_results) >= limits.max_steps:
            return ToolFailure(
                kind="budget_exhausted", message=f"all {limits.max_steps} tool calls are used"
            )
        return None
