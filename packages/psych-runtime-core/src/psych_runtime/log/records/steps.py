"""Records about workflow steps and their compensation."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import AwareDatetime, Field, model_validator

from psych_runtime.ids import RunId, StepId, ToolCallId
from psych_runtime.log.records.base import RecordBase
from psych_runtime.log.values import ToolFailure, ToolOutcome


class StepStarted(RecordBase):
    """An attempt of a step began."""

    type: Literal["step_started"] = "step_started"
    step_id: StepId
    name: str = Field(min_length=1)
    kind: str = Field(min_length=1, max_length=32)
    attempt_number: int = Field(default=1, ge=1)
    """One more than the previous of the same step."""
    input: dict[str, Any] = Field(default_factory=dict)
    path: tuple[str | int, ...] = ()
    """Where the step stands in the workflow."""
    parent_step_id: StepId | None = None
    iteration: int | None = Field(default=None, ge=0)
    """The index in a foreach or loop."""
    replayed_from: RunId | None = None
    """The Run whose result was copied."""


class StepCompleted(RecordBase):
    """An attempt of a step ended."""

    type: Literal["step_completed"] = "step_completed"
    step_id: StepId
    output: dict[str, Any] | None = None
    failure: ToolFailure | None = None
    child_run_id: RunId | None = None
    skipped: bool = False
    will_retry: bool = False
    """Another attempt follows; needs a failure."""
    retry_at: AwareDatetime | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.skipped and (self.output is not None or self.failure is not None):
            raise ValueError("a skipped step has neither output nor failure")
        if self.will_retry and self.failure is None:
            raise ValueError("will_retry needs the failure that is retried")
        return self


class CompensationStarted(RecordBase):
    """The undoing of a completed step began."""

    type: Literal["compensation_started"] = "compensation_started"
    step_id: StepId
    """The step that is undone."""
    tool: str = Field(min_length=1)
    call_id: ToolCallId


class CompensationFinished(RecordBase):
    """The undoing of a completed step ended."""

    type: Literal["compensation_finished"] = "compensation_finished"
    step_id: StepId
    tool: str = Field(min_length=1)
    call_id: ToolCallId
    outcome: ToolOutcome
    failure: ToolFailure | None = None
