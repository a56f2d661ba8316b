"""How an agent's Run ends or starts to wait: the decisions that release it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from psych_runtime.engine.agent.activation import Activation
from psych_runtime.engine.agent.approvals import WaitingCall
from psych_runtime.engine.closing import closing_records
from psych_runtime.engine.signals import AbortReason
from psych_runtime.log.records import RunSettled, Suspended
from psych_runtime.log.values import SuspendReason, TerminalState, ToolFailure
from psych_runtime.ports.store import OpenWait, RunState, Transition


class Endings:
    """The decisions that release a Run."""

    def __init__(self, activation: Activation) -> None:
        self._on = activation

    async def settle(
        self,
        state: TerminalState,
        *,
        output: dict[str, Any] | None = None,
        failure: ToolFailure | None = None,
    ) -> None:
        """End the Run.

        Raises:
            DecisionDropped: Something arrived in the meantime; look again.
        """
        journal = self._on.journal
        await journal.decide(
            journal.make(RunSettled, state=state, output=output, failure=failure),
            transition=Transition(RunState.SETTLED, terminal_state=state.value),
        )

    async def stopped(self, reason: AbortReason) -> None:
        """End a Run that was interrupted or ran out of time: every call gets an answer first."""
        journal = self._on.journal
        for kind, fields in closing_records(journal.state, f"the Run was stopped: {reason}"):
            journal.write(kind, **fields)
        failure = None
        if reason is AbortReason.DEADLINE:
            failure = ToolFailure(kind="deadline", message="the Run ran past its deadline")
        await self.settle(TerminalState.ABORTED, failure=failure)

    async def suspend_for_approvals(self, waiting: Sequence[WaitingCall]) -> None:
        """Park the Run until a decision comes for one of ``waiting``.

        Raises:
            DecisionDropped: A decision (or anything else) has just arrived.
        """
        journal = self._on.journal
        parked = [
            journal.make(
                Suspended,
                wait_id=call.wait_id,
                reason=SuspendReason.APPROVAL,
                expires_at=call.expires_at,
                pending_call_id=call.call_id,
                question=call.question,
                step_id=self._on.step_id,
            )
            for call in waiting
        ]
        await journal.decide(
            *parked,
            transition=Transition(
                RunState.SUSPENDED,
                waits=tuple(
                    OpenWait(wait_id=call.wait_id, expires_at=call.expires_at) for call in waiting
                ),
            ),
        )
