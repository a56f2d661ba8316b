"""Budgets of a Run, and how long it may wait."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from psych_runtime.spec.base import SpecModel


class Limits(SpecModel):
    """What a Run may use. Every Run has a deadline."""

    max_steps: int = Field(default=48, gt=0, le=10000)
    """Agent: tool calls of the Run. Workflow: started steps, iterations and retries included."""
    max_turns: int = Field(default=32, gt=0, le=10_000)
    """Turns of the Run."""
    max_tool_calls_per_turn: int = Field(default=16, gt=0, le=256)
    """Tool calls executed in one turn."""
    deadline_seconds: float = Field(default=900.0, gt=0, le=86400)
    """Wall-clock limit from admission; the time a Run waits does not count."""
    transient_retry_budget: int = Field(default=8, ge=0, le=100)
    """Retries of model calls over the whole Run."""
    max_delegation_depth: int = Field(default=3, ge=0, le=16)
    """How deep subagents may be nested."""
    max_fanout_per_turn: int = Field(default=4, gt=0, le=64)
    """Blocking delegations in one turn."""
    failure_streak_threshold: int = Field(default=3, gt=0, le=100)
    """Failures of one tool in a row after which it is withheld from the model."""
    failure_streak_hard_stop: int = Field(default=6, gt=0, le=200)
    """Failures of one tool in a row after which the Run fails."""
    repeat_call_threshold: int = Field(default=3, gt=0, le=100)
    """How often the same call may give the same result before it is refused."""
    repeat_call_hard_stop: int = Field(default=6, gt=0, le=200)
    """From this repetition on the rest of the turn is dropped."""
    stream_idle_seconds: float = Field(default=300.0, ge=0, le=3600)
    """Longest silence of a model's stream; 0 means no limit."""
    large_result_bytes: int = Field(default=32768, gt=0)
    """A larger tool result is kept out of the prompt, behind a handle."""
    max_history_records: int = Field(default=300, ge=0, le=20000)
    """Records of earlier Runs that a continued conversation replays; 0 replays none."""

    @model_validator(mode="after")
    def _stops_after_thresholds(self) -> Self:
        for name in ("failure_streak", "repeat_call"):
            threshold = getattr(self, f"{name}_threshold")
            hard_stop = getattr(self, f"{name}_hard_stop")
            if hard_stop < threshold:
                raise ValueError(
                    f"{name}_hard_stop is {hard_stop}, below {name}_threshold ({threshold}): "
                    "set it to the threshold or more"
                )
        return self


class SuspensionPolicy(SpecModel):
    """How long a Run waits for others, in seconds, and whether it may ask questions."""

    approval_expires_seconds: float = Field(default=86400.0, gt=0)
    question_expires_seconds: float = Field(default=86400.0, gt=0)
    """Also for breakpoints."""
    external_expires_seconds: float = Field(default=604800.0, gt=0)
    children_expires_seconds: float = Field(default=3600.0, gt=0)
    """For background subagents."""
    may_ask_questions: bool = False
    """Offers the built-in tool ``ask_question``."""
