"""The steps of a workflow that hold no other steps."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from psych_runtime.spec.agent import AgentSpec
from psych_runtime.spec.base import SpecModel
from psych_runtime.spec.conditions import Condition, Mapping, ValuePath
from psych_runtime.spec.json_values import JsonObject
from psych_runtime.spec.names import Name
from psych_runtime.spec.questions import AskedQuestion

MONTH_SECONDS = 2_592_000
"""Thirty days: the longest a step may sleep or wait."""


class RetryPolicy(SpecModel):
    """Whether and when a failed step is tried again."""

    max_attempts: int = Field(default=1, ge=1, le=100)
    """Attempts in all, the first included."""
    backoff_seconds: float = Field(default=0.0, ge=0, le=86400)
    """Delay before the second attempt; 0 tries again at once, always."""
    multiplier: float = Field(default=2.0, ge=1.0, le=10.0)
    """How much longer each further delay is."""
    max_backoff_seconds: float = Field(default=3600.0, gt=0, le=86400)
    """The longest delay."""
    retry_on: tuple[str, ...] = ()
    """Failure kinds that are retried; empty retries any."""

    def delay_before(self, attempt: int) -> float:
        """Return the seconds to wait before an attempt; the first is number 1."""
        if attempt <= 1 or self.backoff_seconds == 0:
            return 0.0
        try:
            delay = self.backoff_seconds * self.multiplier ** (attempt - 2)
        except OverflowError:
            return self.max_backoff_seconds
        return min(delay, self.max_backoff_seconds)


class StepBase(SpecModel):
    """What every step has."""

    name: Name
    """Unique in its workflow."""
    description: str = Field(default="", max_length=4096)
    when: Condition | None = None
    """The step is skipped unless this holds."""
    retry: RetryPolicy | None = None
    """None: as the workflow says."""
    timeout_seconds: float | None = Field(default=None, gt=0, le=86400)
    """Limit of one attempt."""
    on_failure: Literal["fail", "continue"] = "fail"
    """Whether a failure of the step fails the workflow."""
    output_schema: JsonObject | None = None
    """JSON Schema that the output must satisfy."""
    ends_workflow: bool = False
    """The workflow is complete after this step."""


class AgentStep(StepBase):
    """Runs an agent."""

    kind: Literal["agent"] = "agent"
    spec: AgentSpec
    input: Mapping = Field(default_factory=dict)
    """``message`` becomes the user's message."""


class ToolStep(StepBase):
    """Calls a tool."""

    kind: Literal["tool"] = "tool"
    tool: str
    """Its name, as the workflow grants it."""
    arguments: JsonObject = Field(default_factory=dict)
    arguments_from: Mapping = Field(default_factory=dict)
    """Arguments looked up when the step runs; they win over ``arguments``."""


class MapStep(StepBase):
    """Makes an object out of values."""

    kind: Literal["map"] = "map"
    output: Mapping = Field(min_length=1)


class SetStateStep(StepBase):
    """Writes values into the workflow's state."""

    kind: Literal["set_state"] = "set_state"
    values: Mapping = Field(min_length=1)


class SleepStep(StepBase):
    """Waits for a time; exactly one of ``seconds`` and ``until`` is given."""

    kind: Literal["sleep"] = "sleep"
    seconds: float | None = Field(default=None, gt=0, le=MONTH_SECONDS)
    until: ValuePath | None = None
    """Where an ISO 8601 time is found."""

    @model_validator(mode="after")
    def _one_time(self) -> Self:
        if (self.seconds is None) == (self.until is None):
            raise ValueError("a sleep step needs exactly one of seconds and until")
        return self


class WaitStep(StepBase):
    """Waits until somebody resumes the Run with the event's payload."""

    kind: Literal["wait"] = "wait"
    event: Name
    payload_schema: JsonObject = Field(default_factory=dict)
    """JSON Schema of the payload."""
    timeout_seconds: float | None = Field(default=None, gt=0, le=MONTH_SECONDS)
    """How long it waits; None: as the workflow's `SuspensionPolicy` says."""


class HumanStep(StepBase):
    """Asks a person and waits for the answer."""

    kind: Literal["human"] = "human"
    prompt: str = Field(min_length=1, max_length=8192)
    questions: tuple[AskedQuestion, ...] = ()
    expires_seconds: float | None = Field(default=None, gt=0, le=MONTH_SECONDS)
    """How long it waits; None: as the workflow's `SuspensionPolicy` says."""
