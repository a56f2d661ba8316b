"""The Records: what a log can hold, one class per type."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field, TypeAdapter

from psych_runtime.log.records.base import RecordBase
from psych_runtime.log.records.children import SubagentFinished, SubagentMessaged, SubagentSpawned
from psych_runtime.log.records.model import (
    CompactionApplied,
    ModelCallFailed,
    ModelCallFinished,
    ModelCallStarted,
    PromptDefined,
    TurnStarted,
)
from psych_runtime.log.records.queue import (
    QueueCancelled,
    QueueConsumed,
    QueueEnqueued,
    SignalConsumed,
    SignalReceived,
)
from psych_runtime.log.records.run import (
    AbortRequested,
    AttemptStarted,
    RunAdmitted,
    RunPaused,
    RunSettled,
    RunUnpaused,
)
from psych_runtime.log.records.steps import (
    CompensationFinished,
    CompensationStarted,
    StepCompleted,
    StepStarted,
)
from psych_runtime.log.records.tools import (
    ComponentShown,
    PolicyDecided,
    TaskListUpdated,
    ToolCallFinished,
    ToolCallReconciled,
    ToolCallRetried,
    ToolCallStarted,
    ToolProgress,
    ToolResultLate,
)
from psych_runtime.log.records.waits import (
    ApprovalDecided,
    ApprovalOffered,
    Resumed,
    Suspended,
    WaitExpired,
)

Record = Annotated[
    RunAdmitted
    | AttemptStarted
    | AbortRequested
    | RunPaused
    | RunUnpaused
    | RunSettled
    | PromptDefined
    | TurnStarted
    | ModelCallStarted
    | ModelCallFinished
    | ModelCallFailed
    | CompactionApplied
    | PolicyDecided
    | ToolCallStarted
    | ToolCallRetried
    | ToolCallReconciled
    | ToolProgress
    | ToolCallFinished
    | ToolResultLate
    | TaskListUpdated
    | ComponentShown
    | ApprovalOffered
    | ApprovalDecided
    | Suspended
    | Resumed
    | WaitExpired
    | QueueEnqueued
    | QueueCancelled
    | QueueConsumed
    | SignalReceived
    | SignalConsumed
    | StepStarted
    | StepCompleted
    | CompensationStarted
    | CompensationFinished
    | SubagentSpawned
    | SubagentMessaged
    | SubagentFinished,
    Field(discriminator="type"),
]
"""Any Record, told apart by ``type``."""

RECORD_CLASSES: dict[str, type[RecordBase]] = {
    cls.model_fields["type"].default: cls for cls in RecordBase.__subclasses__()
}
"""Record class by its stored type name."""

EXTERNAL_TYPES: frozenset[str] = frozenset(
    {
        "abort_requested",
        "queue_enqueued",
        "queue_cancelled",
        "resumed",
        "approval_decided",
        "signal_received",
        "run_paused",
        "run_unpaused",
        "subagent_finished",
        "wait_expired",
        "tool_result_late",
    }
)
"""The types that may be written by somebody who does not hold the Run."""

RECORD_ADAPTER: TypeAdapter[Record] = TypeAdapter(Record, config=ConfigDict(defer_build=True))
"""Validates and dumps any Record; built at first use."""

__all__ = [
    "EXTERNAL_TYPES",
    "RECORD_ADAPTER",
    "RECORD_CLASSES",
    "AbortRequested",
    "ApprovalDecided",
    "ApprovalOffered",
    "AttemptStarted",
    "CompactionApplied",
    "CompensationFinished",
    "CompensationStarted",
    "ComponentShown",
    "ModelCallFailed",
    "ModelCallFinished",
    "ModelCallStarted",
    "PolicyDecided",
    "PromptDefined",
    "QueueCancelled",
    "QueueConsumed",
    "QueueEnqueued",
    "Record",
    "RecordBase",
    "Resumed",
    "RunAdmitted",
    "RunPaused",
    "RunSettled",
    "RunUnpaused",
    "SignalConsumed",
    "SignalReceived",
    "StepCompleted",
    "StepStarted",
    "SubagentFinished",
    "SubagentMessaged",
    "SubagentSpawned",
    "Suspended",
    "TaskListUpdated",
    "ToolCallFinished",
    "ToolCallReconciled",
    "ToolCallRetried",
    "ToolCallStarted",
    "ToolProgress",
    "ToolResultLate",
    "TurnStarted",
    "WaitExpired",
]
