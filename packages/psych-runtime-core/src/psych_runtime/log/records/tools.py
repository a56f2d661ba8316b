"""Records about tool calls, and what tools show."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import Field, SerializationInfo, field_serializer, model_validator

from psych_runtime.ids import StepId, ToolCallId
from psych_runtime.log.records.base import RecordBase
from psych_runtime.log.values import MediaPart, ResultAttachment, ToolFailure, ToolOutcome
from psych_runtime.spec.components import Component
from psych_runtime.spec.tasks import Task


class PolicyDecided(RecordBase):
    """The host's policy said something about a tool call or about the Run."""

    type: Literal["policy_decided"] = "policy_decided"
    subject: Literal["tool", "run"]
    name: str = ""
    """The tool's or the Spec's name."""
    call_id: ToolCallId | None = None
    allowed: bool
    reason: str = ""
    requires_approval: bool = False
    step_id: StepId | None = None


class ToolCallStarted(RecordBase):
    """The intent to execute a call; durable before its effect."""

    type: Literal["tool_call_started"] = "tool_call_started"
    call_id: ToolCallId
    tool: str = Field(min_length=1)
    """The model-facing name."""
    arguments: dict[str, Any] = Field(default_factory=dict)
    turn: int = Field(ge=1)
    step_id: StepId | None = None
    interruptible: bool = True
    safe_to_retry: bool = False
    read_only: bool = False
    attempt_number: int = Field(default=1, ge=1)
    parent_call_id: ToolCallId | None = None
    """The ``run_code`` call whose program made this one."""


class ToolCallRetried(RecordBase):
    """An open call is executed again."""

    type: Literal["tool_call_retried"] = "tool_call_retried"
    call_id: ToolCallId
    attempt_number: int = Field(ge=2)
    step_id: StepId | None = None


class ToolCallReconciled(RecordBase):
    """What a tool's reconciler found out about a call that was started and not finished."""

    type: Literal["tool_call_reconciled"] = "tool_call_reconciled"
    call_id: ToolCallId
    verdict: Literal["happened", "did_not_happen", "unknown"]
    result: Any = None
    detail: str = ""
    step_id: StepId | None = None


class ToolProgress(RecordBase):
    """A running tool reports how far it is."""

    type: Literal["tool_progress"] = "tool_progress"
    call_id: ToolCallId
    message: str = ""
    fraction: float | None = None
    """0 to 1, when the tool knows."""
    data: Any = None
    step_id: StepId | None = None


class ToolCallFinished(RecordBase):
    """A call has its answer."""

    type: Literal["tool_call_finished"] = "tool_call_finished"
    call_id: ToolCallId
    outcome: ToolOutcome
    result: Any = None
    """Plain JSON; None when it was stored elsewhere."""
    failure: ToolFailure | None = None
    duration_seconds: float = Field(default=0.0, ge=0)
    result_handle: str | None = Field(default=None, max_length=256)
    """Where the whole result can be read when only ``preview`` is shown."""
    preview: str | None = None
    result_bytes: int = Field(default=0, ge=0)
    """Size of the rendered result in UTF-8 bytes."""
    result_blob_key: str | None = None
    """Set when the result is in the blob store."""
    result_content_type: str | None = None
    result_digest: str | None = Field(default=None, max_length=128)
    """Digest of the whole content, when it is not inline."""
    attachments: tuple[ResultAttachment, ...] = ()
    parts: tuple[MediaPart, ...] = ()
    reconciled: bool = False
    """The result was found out by the tool's reconciler."""
    arguments: dict[str, Any] | None = None
    """What the tool was called with, when a person changed the arguments."""
    step_id: StepId | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.result_blob_key is None:
            if self.result_content_type is not None:
                raise ValueError("result_content_type is set without result_blob_key")
        elif self.result_content_type is None:
            raise ValueError("result_blob_key needs result_content_type")
        elif self.result is not None:
            raise ValueError("a result in the blob store is not inline as well")
        if self.attachments:
            handles = [attachment.handle for attachment in self.attachments]
            if len({*handles, self.result_handle}) != len(handles) + 1:
                raise ValueError("attachment handles must differ, also from result_handle")
        return self


class ToolResultLate(RecordBase):
    """A call's result arrived after the call had been settled without it; changes nothing."""

    type: Literal["tool_result_late"] = "tool_result_late"
    call_id: ToolCallId
    outcome: ToolOutcome
    result: Any = None
    failure: ToolFailure | None = None
    duration_seconds: float = Field(default=0.0, ge=0)
    step_id: StepId | None = None


class TaskListUpdated(RecordBase):
    """The agent's plan, whole; replaces the previous one."""

    type: Literal["task_list_updated"] = "task_list_updated"
    tasks: tuple[Task, ...] = ()
    step_id: StepId | None = None


class ComponentShown(RecordBase):
    """The agent showed a structured component."""

    type: Literal["component_shown"] = "component_shown"
    component: Component
    step_id: StepId | None = None

    @field_serializer("component")
    def _with_kind(self, component: Component, info: SerializationInfo) -> dict[str, Any]:
        """Keep ``kind`` where defaults are left out: it says how to read the rest."""
        fields = component.model_dump(mode=info.mode, exclude_defaults=info.exclude_defaults)
        return {"kind": component.kind, **fields}
