"""The model calls of a Run."""

from __future__ import annotations

from datetime import datetime

from psych_runtime.ids import StepId, ToolCallId
from psych_runtime.log.records import (
    ModelCallFailed,
    ModelCallFinished,
    ModelCallStarted,
    PromptDefined,
    Record,
)
from psych_runtime.log.values import ModelTimings, ToolFailure
from psych_runtime.reads.model import ReadModel
from psych_runtime.spec.usage import Cost, Usage


class ModelCallReport(ReadModel):
    """One model call, in start order. All times are UTC."""

    turn: int
    step_id: StepId | None
    model: str
    """As requested."""
    response_model: str | None = None
    """What the provider says answered."""
    attempt: int = 1
    """1, and one more for each retry of the same request."""
    system_prompt: str
    """As sent."""
    tool_names: tuple[str, ...]
    """What was offered."""
    usage: Usage | None
    """None while unfinished, and for a failed call without counters."""
    usage_reported: bool | None
    """Whether the provider sent counters; None while unfinished."""
    cost: Cost | None
    """None when no price is known."""
    timings: ModelTimings | None
    finish_reason: str | None
    text: str
    """The answer; of a failed call, the part of it that had arrived."""
    reasoning: str = ""
    tool_call_ids: tuple[ToolCallId, ...]
    """The calls that the model asked for."""
    started_at: datetime
    finished_at: datetime | None
    failure: ToolFailure | None
    will_retry: bool
    """It failed and was tried again."""
    dangling: bool
    """It started and never finished: its Attempt died, or it is under way."""


class ModelCalls:
    """Collects the model calls of a log."""

    def __init__(self) -> None:
        self.rows: list[ModelCallReport] = []
        self.last_prompt: str | None = None
        self._open: dict[StepId | None, int] = {}
        self._prompts: dict[str, PromptDefined] = {}

    def add(self, record: Record) -> None:
        """Take one record in."""
        if isinstance(record, PromptDefined):
            self._prompts[record.digest] = record
        elif isinstance(record, ModelCallStarted):
            self._start(record)
        elif isinstance(record, ModelCallFinished):
            self._end(
                record,
                {
                    "response_model": record.response_model,
                    "finish_reason": record.finish_reason,
                    "reasoning": record.reasoning,
                    "tool_call_ids": record.tool_calls,
                },
            )
        elif isinstance(record, ModelCallFailed):
            self._end(record, {"failure": record.failure, "will_retry": record.will_retry})

    def _start(self, record: ModelCallStarted) -> None:
        prompt = self._prompts.get(record.prompt_digest or "")
        system_prompt = prompt.system_prompt if prompt else ""
        self.last_prompt = system_prompt
        self._open[record.step_id] = len(self.rows)
        self.rows.append(
            ModelCallReport(
                turn=record.turn,
                step_id=record.step_id,
                model=record.model,
                attempt=record.attempt,
                system_prompt=system_prompt,
                tool_names=tuple(tool.name for tool in prompt.tools) if prompt else (),
                usage=None,
                usage_reported=None,
                cost=None,
                timings=None,
                finish_reason=None,
                text="",
                tool_call_ids=(),
                started_at=record.at,
                finished_at=None,
                failure=None,
                will_retry=False,
                dangling=True,
            )
        )

    def _end(self, record: ModelCallFinished | ModelCallFailed, changes: dict[str, object]) -> None:
        index = self._open.pop(record.step_id, None)
        if index is None:
            return
        self.rows[index] = self.rows[index].model_copy(
            update={
                **changes,
                "usage": record.usage,
                "usage_reported": record.usage_reported,
                "cost": record.cost,
                "timings": record.timings,
                "text": record.text,
                "finished_at": record.at,
                "dangling": False,
            }
        )
