"""What a Run's state is made of: calls, waits, children, steps. A ``seq`` is not compared."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from psych_runtime.ids import RunId, StepId, ToolCallId, VersionHash
from psych_runtime.log.values import (
    MediaPart,
    ModelToolCall,
    QueueKind,
    ResultAttachment,
    SuspendReason,
    TerminalState,
    ToolFailure,
    ToolOutcome,
)
from psych_runtime.spec.definitions import ToolDefinition
from psych_runtime.spec.questions import AskedQuestion
from psych_runtime.spec.usage import Cost, Usage


@dataclass(slots=True)
class Activation:
    """One agent at work: a workflow agent step's, or (``step_id`` None) the Run's own."""

    step_id: StepId | None
    turn: int = 0
    """The number, over the whole Run, of its latest turn."""
    turns: int = 0
    """How many turns it has started."""
    turn_open: bool = False
    model_call_open: bool = False
    transient_retries: int = 0
    """Failed calls in a row that were marked ``will_retry``."""
    last_prompt_tokens: int = 0
    compaction_boundary_seq: int = 0
    """Records up to here are replaced by ``compaction_summary``."""
    compaction_summary: str | None = None


@dataclass(frozen=True, slots=True)
class UnansweredCall:
    """A call the model asked for and that has no result yet."""

    call: ModelToolCall
    turn: int
    step_id: StepId | None = None

    @property
    def call_id(self) -> ToolCallId:
        """The call's id."""
        return self.call.call_id

    @property
    def name(self) -> str:
        """The tool's model-facing name, possibly empty."""
        return self.call.name

    @property
    def arguments(self) -> dict[str, Any]:
        """The parsed arguments."""
        return self.call.arguments

    @property
    def problem(self) -> str | None:
        """Why the call must be answered without being executed, if so."""
        return self.call.problem


@dataclass(frozen=True, slots=True)
class OpenToolCall:
    """A call that was started and not finished."""

    call_id: ToolCallId
    tool: str
    arguments: dict[str, Any]
    turn: int
    step_id: StepId | None
    interruptible: bool
    safe_to_retry: bool
    started_at: datetime
    read_only: bool = False
    attempt_number: int = 1
    parent_call_id: ToolCallId | None = None
    verdict: Literal["happened", "did_not_happen", "unknown"] | None = None
    """What a reconciler said last."""
    attempt_count: int = 0
    """The number of the Attempt that executed it last."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """How a call ended. Where the result is elsewhere, ``result`` is None."""

    call_id: ToolCallId
    tool: str
    outcome: ToolOutcome
    result: Any = None
    failure: ToolFailure | None = None
    duration_seconds: float = 0.0
    result_handle: str | None = None
    preview: str | None = None
    turn: int = 0
    blob_key: str | None = None
    content_type: str | None = None
    attachments: tuple[ResultAttachment, ...] = ()
    parts: tuple[MediaPart, ...] = ()
    step_id: StepId | None = None
    parent_call_id: ToolCallId | None = None
    reconciled: bool = False
    arguments: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class LateResult:
    """A result that came after its call had been settled without it."""

    outcome: ToolOutcome
    result: Any
    failure: ToolFailure | None
    duration_seconds: float


@dataclass(frozen=True, slots=True)
class Progress:
    """The latest a running tool said about itself."""

    message: str
    fraction: float | None
    data: Any
    at: datetime


@dataclass(frozen=True, slots=True)
class RepeatTally:
    """How often in a row the same call gave the same result."""

    result_digest: str
    count: int


@dataclass(frozen=True, slots=True)
class OpenWait:
    """Something the Run waits for."""

    wait_id: str
    reason: SuspendReason
    opened_at: datetime
    expires_at: datetime
    wake_at: datetime | None = None
    call_id: ToolCallId | None = None
    step_id: StepId | None = None
    step_name: str | None = None
    event: str | None = None
    payload_schema: dict[str, Any] = field(default_factory=dict)
    question: str | None = None
    questions: tuple[AskedQuestion, ...] = ()
    tool: str | None = None
    arguments: dict[str, Any] | None = None
    tool_class: str = ""
    approval_reason: str = ""
    digest: str = ""
    offered_only: bool = False
    """Offered for approval while the Run goes on; not suspended for it so far."""
    suspended_in: int = 0
    """Which of the Run's suspensions it last took part in; see ``RunStateView.suspensions``."""


@dataclass(frozen=True, slots=True)
class Approval:
    """What was decided about a call."""

    approved: bool
    by: str | None = None
    feedback: str = ""
    arguments: dict[str, Any] | None = None
    """The arguments a person put in place of the model's."""
    digest: str = ""
    expired: bool = False
    """Nobody decided in time."""


@dataclass(frozen=True, slots=True)
class StepResume:
    """One end of a wait of a step."""

    reason: SuspendReason
    payload: dict[str, Any]
    approved: bool | None
    seq: int = field(compare=False)
    expired: bool = False


@dataclass(frozen=True, slots=True)
class PendingQueueEntry:
    """A message that was sent and not delivered."""

    entry_id: str
    queue: QueueKind
    payload: dict[str, Any]
    enqueued_seq: int = field(compare=False)


@dataclass(frozen=True, slots=True)
class PendingSignal:
    """A signal that no step has taken."""

    signal_id: str
    name: str
    payload: dict[str, Any]
    by: str | None
    received_seq: int = field(compare=False)


@dataclass(frozen=True, slots=True)
class PromptDefinition:
    """A system prompt with the tools offered next to it."""

    system_prompt: str
    tools: tuple[ToolDefinition, ...]


@dataclass(frozen=True, slots=True)
class StepRecord:
    """A workflow step's latest attempt."""

    step_id: StepId
    name: str
    kind: str
    attempt_number: int
    input: dict[str, Any]
    started_at: datetime
    started_seq: int = field(compare=False)
    completed: bool = False
    output: dict[str, Any] | None = None
    failure: ToolFailure | None = None
    child_run_id: RunId | None = None
    path: tuple[str | int, ...] = ()
    parent_step_id: StepId | None = None
    iteration: int | None = None
    skipped: bool = False
    will_retry: bool = False
    retry_at: datetime | None = None
    completed_at: datetime | None = None
    completed_seq: int | None = field(default=None, compare=False)
    replayed_from: RunId | None = None

    @property
    def settled(self) -> bool:
        """Completed for good."""
        return self.completed and not self.will_retry


@dataclass(frozen=True, slots=True)
class Compensation:
    """The undoing of a completed step; ``outcome`` is None while it runs."""

    step_id: StepId
    tool: str
    call_id: ToolCallId
    outcome: ToolOutcome | None = None
    failure: ToolFailure | None = None


@dataclass(frozen=True, slots=True)
class ChildRun:
    """A child Run, as its parent knows it."""

    run_id: RunId
    name: str
    call_id: ToolCallId
    version_hash: VersionHash
    depth: int
    background: bool
    tools: tuple[str, ...]
    model: str
    spawned_seq: int = field(compare=False)
    terminal_state: TerminalState | None = None
    output: dict[str, Any] | None = None
    failure: ToolFailure | None = None
    usage: Usage | None = None
    """The child's total, once it has ended."""
    unreported_usage_calls: int = 0
    cost: Cost | None = None
    unpriced_model_calls: int = 0
    messages_sent: int = 0
    finished_seq: int | None = field(default=None, compare=False)

    @property
    def alive(self) -> bool:
        """It has not ended, as far as the parent knows."""
        return self.terminal_state is None
