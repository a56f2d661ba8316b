"""`RunStateView`: what a Run's log says, folded."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta
from typing import Any, Self

from psych_runtime.ids import AttemptId, RunId, StepId, ToolCallId, VersionHash
from psych_runtime.log.fold.entries import (
    Activation,
    Approval,
    ChildRun,
    Compensation,
    LateResult,
    OpenToolCall,
    OpenWait,
    PendingQueueEntry,
    PendingSignal,
    Progress,
    PromptDefinition,
    RepeatTally,
    StepRecord,
    StepResume,
    ToolResult,
    UnansweredCall,
)
from psych_runtime.log.fold.oldest_wait import OldestWait
from psych_runtime.log.values import QueueKind, TerminalState, ToolFailure
from psych_runtime.scope import Scope
from psych_runtime.spec.components import Component
from psych_runtime.spec.tasks import Task
from psych_runtime.spec.usage import Cost, Usage


@dataclass(slots=True)
class RunStateView(OldestWait):
    """A Run's state. Folding changes it in place; treat it as read-only otherwise."""

    run_id: RunId
    scope: Scope
    version_hash: VersionHash
    head_seq: int = 0
    """The highest folded seq."""

    # -- admission ----------------------------------------------------------------------------
    admitted: bool = False
    name: str = ""
    run_input: dict[str, Any] = field(default_factory=dict)
    admitted_at: datetime | None = None
    deadline_at: datetime | None = None
    """As stamped at admission; `effective_deadline_at` adds the time spent waiting."""
    idempotency_key: str | None = None
    priority: int = 0
    concurrency_key: str | None = None
    parent_run_id: RunId | None = None
    delegation_depth: int = 0
    continues_run_id: RunId | None = None
    forked_from_run_id: RunId | None = None
    forked_at_seq: int | None = None
    replays_run_id: RunId | None = None
    replay_from_step: str | None = None
    breakpoints: tuple[str, ...] = ()
    step_mode: bool = False

    # -- ending -------------------------------------------------------------------------------
    settled: bool = False
    settled_at: datetime | None = None
    terminal_state: TerminalState | None = None
    output: dict[str, Any] | None = None
    failure: ToolFailure | None = None
    orphaned_attempt_id: AttemptId | None = None

    # -- attempts and turns -------------------------------------------------------------------
    attempt_count: int = 0
    current_attempt: AttemptId | None = None
    turn: int = 0
    """Turns started, over all activations."""
    activations: dict[StepId | None, Activation] = field(default_factory=dict)
    prompts: dict[str, PromptDefinition] = field(default_factory=dict)
    """By digest."""

    # -- stopping and waiting -----------------------------------------------------------------
    aborted: bool = False
    abort_seq: int | None = None
    paused: bool = False
    parked: bool = False
    """Suspended, and nothing has come since."""
    parked_at: datetime | None = None
    unparked_at: datetime | None = None
    suspensions: int = 0
    """How often the Run was parked."""
    waits: dict[str, OpenWait] = field(default_factory=dict)
    """Open waits by id, oldest first."""
    closed_waits: set[str] = field(default_factory=set)
    resumed_since_attempt: bool = False
    suspended_time: timedelta = timedelta()
    resume_payloads: dict[ToolCallId, dict[str, Any]] = field(default_factory=dict)
    approval_decisions: dict[ToolCallId, bool] = field(default_factory=dict)
    approvals: dict[str, Approval] = field(default_factory=dict)
    """What was decided, by wait id."""
    expired_waits: dict[str, str] = field(default_factory=dict)
    """What followed (``deny``, ``abandon``, ``continue``), by wait id."""
    step_resumes: dict[StepId, tuple[StepResume, ...]] = field(default_factory=dict)

    # -- calls --------------------------------------------------------------------------------
    unanswered_calls: dict[ToolCallId, UnansweredCall] = field(default_factory=dict)
    """Calls the model asked for and that have no result, in the model's order."""
    open_tool_calls: dict[ToolCallId, OpenToolCall] = field(default_factory=dict)
    tool_progress: dict[ToolCallId, Progress] = field(default_factory=dict)
    """The latest progress of open calls."""
    tool_results: list[ToolResult] = field(default_factory=list)
    result_positions: dict[ToolCallId, int] = field(default_factory=dict)
    """Where in ``tool_results`` a call's result is."""
    late_results: dict[ToolCallId, LateResult] = field(default_factory=dict)
    result_handles: dict[str, ToolCallId] = field(default_factory=dict)
    failure_streaks: dict[str, int] = field(default_factory=dict)
    """Failures in a row by tool; a tool without one is absent."""
    repeat_counts: dict[str, RepeatTally] = field(default_factory=dict)
    program_call_ids: set[ToolCallId] = field(default_factory=set)
    program_binding_call_ids: set[ToolCallId] = field(default_factory=set)
    program_preserved_bytes: int = 0
    program_tool_calls: int = 0

    # -- steps --------------------------------------------------------------------------------
    steps: dict[StepId, StepRecord] = field(default_factory=dict)
    step_starts: int = 0
    workflow_state_updates: dict[str, Any] = field(default_factory=dict)
    compensations: dict[StepId, Compensation] = field(default_factory=dict)

    # -- messages -----------------------------------------------------------------------------
    pending_queue: dict[str, PendingQueueEntry] = field(default_factory=dict)
    """Undelivered messages by entry id, oldest first."""
    used_entry_ids: set[str] = field(default_factory=set)
    signals: dict[str, PendingSignal] = field(default_factory=dict)
    """Signals that no step has taken, oldest first."""
    used_signal_ids: set[str] = field(default_factory=set)

    # -- shown --------------------------------------------------------------------------------
    tasks: tuple[Task, ...] = ()
    components: list[Component] = field(default_factory=list)

    # -- metering -----------------------------------------------------------------------------
    usage: Usage = field(default_factory=Usage)
    unreported_usage_calls: int = 0
    unreported_model_calls: int = 0
    """Model calls that were under way when their Attempt ended."""
    cost: Cost | None = None
    unpriced_model_calls: int = 0
    provider_reported_costs: int = 0
    model_calls: int = 0
    failed_model_calls: int = 0
    answering_failed_calls: int = 0
    """Failed calls that had begun to answer, and so count in the metering."""
    transient_retries_used: int = 0
    last_prompt_tokens: int = 0
    compaction_boundary_seq: int = 0
    """The latest boundary of any activation; each activation has its own."""
    compaction_summaries: list[str] = field(default_factory=list)
    compaction_calls: int = 0

    # -- children -----------------------------------------------------------------------------
    children: dict[RunId, ChildRun] = field(default_factory=dict)
    live_child_names: dict[str, RunId] = field(default_factory=dict)

    @property
    def turn_open(self) -> bool:
        """Any activation has an open turn."""
        return any(activation.turn_open for activation in self.activations.values())

    @property
    def model_call_open(self) -> bool:
        """Any activation waits for a model."""
        return any(activation.model_call_open for activation in self.activations.values())

    @property
    def suspended(self) -> bool:
        """The Run stands still until a wait is over."""
        return self.parked and bool(self.waits)

    @property
    def suspended_seconds(self) -> float:
        """How long the Run has stood still, in seconds, without the current suspension."""
        return self.suspended_time.total_seconds()

    @property
    def effective_deadline_at(self) -> datetime | None:
        """The deadline, moved by the time spent waiting."""
        return None if self.deadline_at is None else self.deadline_at + self.suspended_time

    @property
    def has_dangling_tool_calls(self) -> bool:
        """Calls were started and not finished."""
        return bool(self.open_tool_calls)

    @property
    def live_children(self) -> tuple[ChildRun, ...]:
        """Children that have not ended, in the order they were started."""
        return tuple(self.children[run_id] for run_id in self.live_child_names.values())

    @property
    def is_runnable(self) -> bool:
        """There is something to do for a Worker."""
        return self.admitted and not self.settled and (self.aborted or not self.suspended)

    @property
    def pending_steer(self) -> list[PendingQueueEntry]:
        """Undelivered STEER messages, oldest first."""
        return self._pending(QueueKind.STEER)

    @property
    def pending_follow_up(self) -> list[PendingQueueEntry]:
        """Undelivered FOLLOW_UP messages, oldest first."""
        return self._pending(QueueKind.FOLLOW_UP)

    @property
    def pending_next_run(self) -> list[PendingQueueEntry]:
        """Undelivered NEXT_RUN messages, oldest first."""
        return self._pending(QueueKind.NEXT_RUN)

    def _pending(self, queue: QueueKind) -> list[PendingQueueEntry]:
        return [entry for entry in self.pending_queue.values() if entry.queue is queue]

    def activation(self, step_id: StepId | None = None) -> Activation:
        """The activation of ``step_id``; an unused one when it has not begun."""
        return self.activations.get(step_id) or Activation(step_id)

    def result_of(self, call_id: ToolCallId) -> ToolResult | None:
        """The result of a call, or None while it has none."""
        position = self.result_positions.get(call_id)
        return None if position is None else self.tool_results[position]

    def copy(self) -> Self:
        """An independent copy: folding into one does not change the other."""
        twin = copy.copy(self)
        for item in fields(self):
            value = getattr(self, item.name)
            if isinstance(value, dict | list | set):
                setattr(twin, item.name, value.copy())
        twin.activations = {key: copy.copy(value) for key, value in self.activations.items()}
        return twin


__all__ = [
    "Activation",
    "Approval",
    "ChildRun",
    "Compensation",
    "LateResult",
    "OpenToolCall",
    "OpenWait",
    "PendingQueueEntry",
    "PendingSignal",
    "Progress",
    "PromptDefinition",
    "RepeatTally",
    "RunStateView",
    "StepRecord",
    "StepResume",
    "ToolResult",
    "UnansweredCall",
]
