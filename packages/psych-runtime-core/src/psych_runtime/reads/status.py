"""Where a Run stands and what it waits for."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from psych_runtime.ids import AttemptId, RunId, StepId, VersionHash
from psych_runtime.log.fold.state import RunStateView
from psych_runtime.log.values import SuspendReason, TerminalState
from psych_runtime.ports.store import RunHeader, RunState
from psych_runtime.reads.lifecycle import SETTLED_LIFECYCLE, Lifecycle, lifecycle_of_header
from psych_runtime.reads.model import ReadModel
from psych_runtime.reads.pending import (
    PendingApproval,
    PendingQuestion,
    PendingWait,
    approvals_in,
    open_waits,
    questions_in,
    step_waits_in,
)
from psych_runtime.scope import Scope
from psych_runtime.spec.components import Component
from psych_runtime.spec.tasks import Task

__all__ = [
    "Lifecycle",
    "PendingApproval",
    "PendingQuestion",
    "PendingWait",
    "RunStatus",
    "lifecycle_of",
    "status_of",
]


class RunStatus(ReadModel):
    """A Run at one instant. All times are UTC."""

    run_id: RunId
    scope: Scope
    version_hash: VersionHash
    lifecycle: Lifecycle
    terminal_state: TerminalState | None
    output: dict[str, Any] | None
    failure_message: str | None
    """Why it failed, for the reader."""
    failure_kind: str | None
    """Why it failed, as a stable token."""
    suspend_reason: SuspendReason | None
    """What the oldest wait is for, while the Run stands still."""
    suspend_expires_at: datetime | None
    pending_approval: PendingApproval | None
    """The oldest of ``pending_approvals``."""
    pending_question: PendingQuestion | None
    """The oldest of ``pending_questions``."""
    pending_wait: PendingWait | None = None
    """The oldest of ``pending_waits``."""
    pending_approvals: tuple[PendingApproval, ...] = ()
    """Every approval that is asked for, oldest first; also while other work goes on."""
    pending_questions: tuple[PendingQuestion, ...] = ()
    """Every open question, oldest first."""
    pending_waits: tuple[PendingWait, ...] = ()
    """Every workflow step that waits for something else, oldest first."""
    suspended_step_id: StepId | None = None
    """The workflow step of the oldest wait."""
    components: tuple[Component, ...]
    """Shown so far, oldest first."""
    tasks: tuple[Task, ...]
    """The plan as it stands."""
    turn: int
    """Turns started."""
    tool_calls: int
    """Tool calls that have a result."""
    model_calls: int
    """Model calls that finished."""
    head_seq: int
    """The last Record's seq: give it to ``stream(after=…)``."""
    attempt_count: int
    current_attempt: AttemptId | None
    """The latest Attempt."""
    deadline_at: datetime | None
    """Moved by the time the Run waited."""
    continues_run_id: RunId | None
    parent_run_id: RunId | None
    has_dangling_tool_calls: bool
    """Tool calls were started and have no result."""


def lifecycle_of(state: RunStateView, header: RunHeader | None = None) -> Lifecycle:
    """Return where a Run stands.

    Args:
        state: The folded log.
        header: The header, if at hand; it decides when the log has no terminal Record although
            the Run is over.
    """
    if state.terminal_state is not None:
        return SETTLED_LIFECYCLE[state.terminal_state]
    if header is not None and header.state is RunState.SETTLED:
        return lifecycle_of_header(header)
    if state.aborted:
        return Lifecycle.STOPPING
    if state.suspended:
        return Lifecycle.WAITING
    return Lifecycle.RUNNING if state.attempt_count else Lifecycle.QUEUED


def status_of(state: RunStateView, header: RunHeader | None = None) -> RunStatus:
    """Return the status that a folded log (and the header, if at hand) gives."""
    waits = open_waits(state)
    approvals = approvals_in(state, waits)
    questions = questions_in(waits)
    others = step_waits_in(waits)
    still = state.suspended and not state.settled
    return RunStatus(
        run_id=state.run_id,
        scope=state.scope,
        version_hash=state.version_hash,
        lifecycle=lifecycle_of(state, header),
        terminal_state=state.terminal_state or _ending(header),
        output=state.output,
        failure_message=state.failure.message if state.failure else None,
        failure_kind=state.failure.kind if state.failure else None,
        suspend_reason=state.suspend_reason if still else None,
        suspend_expires_at=state.suspend_expires_at if still else None,
        pending_approval=approvals[0] if approvals else None,
        pending_question=questions[0] if questions else None,
        pending_wait=others[0] if others else None,
        pending_approvals=approvals,
        pending_questions=questions,
        pending_waits=others,
        suspended_step_id=state.suspended_step_id if still else None,
        components=tuple(state.components),
        tasks=state.tasks,
        turn=state.turn,
        tool_calls=len(state.tool_results),
        model_calls=state.model_calls,
        head_seq=state.head_seq,
        attempt_count=state.attempt_count,
        current_attempt=state.current_attempt,
        deadline_at=header.deadline_at if header else state.effective_deadline_at,
        continues_run_id=state.continues_run_id,
        parent_run_id=state.parent_run_id,
        has_dangling_tool_calls=state.has_dangling_tool_calls,
    )


def _ending(header: RunHeader | None) -> TerminalState | None:
    if header is None or header.terminal_state is None:
        return None
    return TerminalState(header.terminal_state)
