"""The report of a Run, and the two of its parts that may hold reports of other Runs."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from psych_runtime.ids import AttemptId, RunId, StepId, ToolCallId, VersionHash
from psych_runtime.log.values import TerminalState, ToolFailure
from psych_runtime.reads.model import ReadModel
from psych_runtime.reads.report.compactions import CompactionReport
from psych_runtime.reads.report.model_calls import ModelCallReport
from psych_runtime.reads.report.streaks import FailureStreakTrip
from psych_runtime.reads.report.suspensions import SuspensionReport
from psych_runtime.reads.report.tool_calls import ToolCallReport
from psych_runtime.reads.report.totals import SubtreeTotals, TotalsReport
from psych_runtime.scope import Scope
from psych_runtime.spec.components import Component
from psych_runtime.spec.tasks import Task
from psych_runtime.spec.usage import Cost, Usage


class StepReport(ReadModel):
    """One attempt of a workflow step. All times are UTC."""

    step_id: StepId
    name: str
    kind: str
    attempt_number: int
    input: dict[str, Any]
    """As resolved for this attempt."""
    completed: bool
    output: dict[str, Any] | None
    failure: ToolFailure | None
    child_run_id: RunId | None
    child: RunReport | None = None
    """The child's own report, when the asked-for depth allows."""
    path: tuple[str | int, ...] = ()
    parent_step_id: StepId | None = None
    iteration: int | None = None
    """The index of a foreach, or the number of a loop's turn."""
    skipped: bool = False
    """Its guard was false, or its branch was not chosen."""
    will_retry: bool = False
    """Another attempt follows."""
    replayed_from: RunId | None = None
    """The Run it was copied from."""
    started_at: datetime | None = None
    completed_at: datetime | None = None


class SubagentReport(ReadModel):
    """One child Run. All times are UTC."""

    name: str
    child_run_id: RunId
    call_id: ToolCallId
    child_version_hash: VersionHash
    purpose: str
    task: str
    deliverable: str
    tools: tuple[str, ...]
    """What it held after narrowing."""
    model: str
    delegation_depth: int
    background: bool
    """Whether the parent went on meanwhile."""
    spawned_at: datetime
    finished_at: datetime | None
    terminal_state: TerminalState | None
    output: dict[str, Any] | None
    failure: ToolFailure | None
    messages_sent: int
    usage: Usage
    """The child's total, with its own children."""
    unreported_usage_calls: int = 0
    """Calls for which the provider sent no counters."""
    cost: Cost | None
    """None when no call had a price."""
    unpriced_model_calls: int
    report: RunReport | None = None
    """The child's own report, when the asked-for depth allows."""
    subtree: SubtreeTotals | None = None
    """The sums of the child and everything below it that is known."""


class RunReport(ReadModel):
    """Everything that happened in a Run. All times are UTC."""

    run_id: RunId
    scope: Scope
    version_hash: VersionHash
    spec_name: str
    system_prompt: str
    """The last one sent; empty when no model was asked yet."""
    steps: tuple[StepReport, ...]
    """One row per attempt of a step, in start order."""
    tool_calls: tuple[ToolCallReport, ...]
    """In start order."""
    model_calls: tuple[ModelCallReport, ...]
    """In start order."""
    suspensions: tuple[SuspensionReport, ...]
    failure_streak_trips: tuple[FailureStreakTrip, ...]
    terminal_state: TerminalState | None
    output: dict[str, Any] | None
    failure: ToolFailure | None
    orphaned_attempt_id: AttemptId | None
    """The Attempt over which the Run was force-settled."""
    admitted_at: datetime
    settled_at: datetime | None
    totals: TotalsReport
    """This Run only."""
    components: tuple[Component, ...] = ()
    subagents: tuple[SubagentReport, ...] = ()
    subtree: SubtreeTotals | None = None
    """This Run with its descendants; None without children."""
    tasks: tuple[Task, ...] = ()
    """The plan as it stands."""
    compactions: tuple[CompactionReport, ...] = ()
    continues_run_id: RunId | None = None
