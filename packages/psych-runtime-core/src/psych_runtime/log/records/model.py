"""Records about prompts, turns, model calls and compaction."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from psych_runtime.ids import StepId, ToolCallId
from psych_runtime.log.records.base import RecordBase
from psych_runtime.log.values import ModelTimings, ModelToolCall, ToolFailure
from psych_runtime.spec.definitions import ToolDefinition
from psych_runtime.spec.usage import Cost, Usage


class PromptDefined(RecordBase):
    """A system prompt and tool definitions, stored once; model calls refer to the digest."""

    type: Literal["prompt_defined"] = "prompt_defined"
    digest: str = Field(min_length=1, max_length=128)
    system_prompt: str
    tools: tuple[ToolDefinition, ...] = ()
    step_id: StepId | None = None
    """The workflow agent step concerned; None for the Run's own agent."""


class TurnStarted(RecordBase):
    """A turn of an agent began."""

    type: Literal["turn_started"] = "turn_started"
    turn: int = Field(ge=1)
    """One more than the previous turn of the whole Run."""
    step_id: StepId | None = None
    """The workflow agent step concerned; None for the Run's own agent."""


class ModelCallStarted(RecordBase):
    """A request went to a model."""

    type: Literal["model_call_started"] = "model_call_started"
    turn: int = Field(ge=1)
    model: str = Field(min_length=1)
    prompt_digest: str | None = Field(default=None, max_length=128)
    """The digest of an earlier `PromptDefined`."""
    prompt_tokens_estimate: int | None = Field(default=None, ge=0)
    attempt: int = Field(default=1, ge=1)
    """1, and one more for each retry of the same request."""
    step_id: StepId | None = None


class ModelCallFinished(RecordBase):
    """A model answered. Carries its tool calls whole, so that a crash right after loses none."""

    type: Literal["model_call_finished"] = "model_call_finished"
    turn: int = Field(ge=1)
    model: str = Field(min_length=1)
    """The requested model."""
    response_model: str | None = None
    """The model the provider says answered."""
    usage: Usage
    usage_reported: bool = True
    """False when the provider sent no counters."""
    cost: Cost | None
    """None when no price is known; never zero for that."""
    timings: ModelTimings
    finish_reason: str = Field(min_length=1)
    text: str = ""
    calls: tuple[ModelToolCall, ...] = ()
    """The tool calls, in the model's order."""
    reasoning: str = ""
    """Visible reasoning text."""
    reasoning_blocks: tuple[dict[str, Any], ...] = ()
    """What the provider wants back in the next request."""
    provider_extra: dict[str, Any] = Field(default_factory=dict)
    step_id: StepId | None = None

    @property
    def tool_calls(self) -> tuple[ToolCallId, ...]:
        """The ids of ``calls``."""
        return tuple(call.call_id for call in self.calls)

    @property
    def usage_source(self) -> Literal["provider", "none"]:
        """Where the counters come from; ``none`` when the provider sent none."""
        return "provider" if self.usage_reported else "none"


class ModelCallFailed(RecordBase):
    """A model call ended without a usable answer."""

    type: Literal["model_call_failed"] = "model_call_failed"
    turn: int = Field(ge=1)
    model: str = Field(min_length=1)
    failure: ToolFailure
    will_retry: bool = False
    retry_delay_seconds: float | None = Field(default=None, ge=0)
    """How long the retry waits."""
    usage: Usage | None = None
    """What the provider counted up to the failure."""
    usage_reported: bool = False
    cost: Cost | None = None
    timings: ModelTimings = Field(default_factory=ModelTimings)
    text: str = ""
    """The part of the answer that had arrived."""
    step_id: StepId | None = None


class CompactionApplied(RecordBase):
    """Older records of an agent's conversation are replaced by a summary."""

    type: Literal["compaction_applied"] = "compaction_applied"
    reason: Literal["threshold", "manual", "overflow"]
    replaced_from_seq: int = Field(ge=1)
    """The previous boundary + 1."""
    replaced_to_seq: int = Field(ge=1)
    summary: str = Field(min_length=1)
    model: str = ""
    usage: Usage = Field(default_factory=Usage)
    usage_reported: bool = False
    cost: Cost | None = None
    timings: ModelTimings = Field(default_factory=ModelTimings)
    step_id: StepId | None = None
