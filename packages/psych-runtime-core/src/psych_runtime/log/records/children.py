"""Records about child Runs."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from psych_runtime.ids import RunId, StepId, ToolCallId, VersionHash
from psych_runtime.log.records.base import RecordBase
from psych_runtime.log.values import TerminalState, ToolFailure
from psych_runtime.spec.usage import Cost, Usage


class SubagentSpawned(RecordBase):
    """A child Run was started."""

    type: Literal["subagent_spawned"] = "subagent_spawned"
    child_run_id: RunId
    name: str = Field(min_length=1, max_length=128)
    """Unique among the children that are alive."""
    call_id: ToolCallId
    child_version_hash: VersionHash
    purpose: str = Field(max_length=2048)
    task: str = Field(max_length=65536)
    deliverable: str = Field(max_length=4096)
    tools: tuple[str, ...] = ()
    model: str = Field(min_length=1, max_length=256)
    delegation_depth: int = Field(ge=0)
    background: bool = True
    """False when the spawning call waits for the child."""
    step_id: StepId | None = None


class SubagentMessaged(RecordBase):
    """A message was sent to a child."""

    type: Literal["subagent_messaged"] = "subagent_messaged"
    child_run_id: RunId
    name: str = Field(min_length=1, max_length=128)
    call_id: ToolCallId
    entry_id: str = Field(min_length=1, max_length=128)
    """The queue entry in the child's log."""
    message: str = Field(max_length=65536)
    step_id: StepId | None = None


class SubagentFinished(RecordBase):
    """A child has ended."""

    type: Literal["subagent_finished"] = "subagent_finished"
    child_run_id: RunId
    name: str = Field(min_length=1, max_length=128)
    state: TerminalState
    output: dict[str, Any] | None = None
    failure: ToolFailure | None = None
    usage: Usage = Field(default_factory=Usage)
    """The child's total, with its own children."""
    unreported_usage_calls: int = Field(default=0, ge=0)
    cost: Cost | None = None
    unpriced_model_calls: int = Field(default=0, ge=0)
