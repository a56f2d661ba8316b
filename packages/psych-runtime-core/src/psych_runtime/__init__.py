"""Psych Runtime: run AI agents inside your own application, durably.

Everything a consumer calls or holds is on this module. Names load on first access, so that
importing it stays cheap; what sits behind a submodule path may move without notice.
"""

from __future__ import annotations

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from psych_runtime_openai.client import OpenAICompatibleClient

    from psych_runtime.api.session import Session, session
    from psych_runtime.builder.agent import AgentBuilder, agent
    from psych_runtime.builder.values import all_of, any_of, lit, ref, when
    from psych_runtime.builder.workflow import WorkflowBuilder, workflow
    from psych_runtime.egress.transport import HttpTransport
    from psych_runtime.engine.admission import Dispatched, dispatch
    from psych_runtime.engine.control import interrupt, resume, send
    from psych_runtime.engine.journal import Journal
    from psych_runtime.engine.publishing import publish
    from psych_runtime.engine.runtime import Runtime
    from psych_runtime.engine.signals import AbortReason, AbortSignal
    from psych_runtime.engine.worker.worker import Worker
    from psych_runtime.errors import (
        AccessDenied,
        BuilderError,
        CredentialNotFound,
        DeadlineExceeded,
        InvalidInput,
        LeaseLost,
        PluginConflictError,
        PluginError,
        PluginIncompatibleError,
        PluginLoadError,
        PluginNotInstalledError,
        PsychError,
        ResponseTooLarge,
        RunAborted,
        RunAlreadySettled,
        RunEndedWithoutAnswer,
        RunFailed,
        RunNotFound,
        RunNotSuspended,
        RunPurged,
        SeqConflict,
        SpecValidationError,
        StoreError,
        StoreUnavailable,
        SuspensionExpired,
        TransientError,
        UnknownAdapterError,
        UnstorableValueError,
        UnsupportedCapabilityError,
        ValidationIssue,
        VersionNotFound,
        WorkflowRequired,
    )
    from psych_runtime.ids import AttemptId, RunId, StepId, ToolCallId, VersionHash, WorkerId
    from psych_runtime.log.corruption import CorruptionReason, CorruptLog
    from psych_runtime.log.fold.state import RunStateView
    from psych_runtime.log.records import Record
    from psych_runtime.log.values import (
        MediaPart,
        ModelTimings,
        ModelToolCall,
        QueueKind,
        ResultAttachment,
        SuspendReason,
        TerminalState,
        ToolFailure,
        ToolOutcome,
    )
    from psych_runtime.model.catalog import DEFAULT_PRICE_CATALOG_VERSION
    from psych_runtime.model.pricing import DEFAULT_PRICES, StaticPriceTable
    from psych_runtime.ports.egress import EgressPolicy
    from psych_runtime.ports.messages import (
        AssistantMessage,
        Message,
        SystemMessage,
        ToolCall,
        ToolResultMessage,
        UserMessage,
    )
    from psych_runtime.ports.model import (
        ModelClient,
        ModelRequest,
        ReasoningDelta,
        StreamDone,
        StreamEvent,
        TextDelta,
        ToolCallDelta,
    )
    from psych_runtime.ports.policy import AllowAll, Decision, Policy, ToolClass
    from psych_runtime.ports.pricing import CostPolicy, ModelPrice, PriceResolver
    from psych_runtime.ports.secrets import ResolvedCredential, SecretResolver
    from psych_runtime.ports.store import OpenWait, OutboxEntry, RunHeader, RunPage, RunState, Store
    from psych_runtime.reads.answer import AnswerView, ToolCallView, WorkTurn
    from psych_runtime.reads.calls import (
        answer,
        explain,
        records,
        report,
        runs,
        state,
        status,
        thread,
    )
    from psych_runtime.reads.explain import Explanation, NextDue, WaitExplanation
    from psych_runtime.reads.lifecycle import Lifecycle
    from psych_runtime.reads.listing import RunsPage, RunSummary
    from psych_runtime.reads.pending import PendingApproval, PendingQuestion, PendingWait
    from psych_runtime.reads.report.compactions import CompactionReport
    from psych_runtime.reads.report.latency import LatencyReport
    from psych_runtime.reads.report.model_calls import ModelCallReport
    from psych_runtime.reads.report.run_report import RunReport, StepReport, SubagentReport
    from psych_runtime.reads.report.streaks import FailureStreakTrip
    from psych_runtime.reads.report.suspensions import SuspensionReport
    from psych_runtime.reads.report.tool_calls import LateResult, ToolCallReport
    from psych_runtime.reads.report.totals import SubtreeTotals, TotalsReport
    from psych_runtime.reads.status import RunStatus
    from psych_runtime.reads.stream import stream, stream_text
    from psych_runtime.reads.thread import MessageView, ThreadView
    from psych_runtime.scope import Scope
    from psych_runtime.spec.agent import AgentSpec, CompactionPolicy, SpawnEnvelope, SubagentRef
    from psych_runtime.spec.code_execution import (
        ArtifactCollection,
        ArtifactPolicy,
        CodeExecution,
        CodeExecutionLimits,
        Enforcement,
        IsolationLevel,
        NetworkAccess,
        OutputPolicy,
        OutputPreservation,
        WorkspacePolicy,
    )
    from psych_runtime.spec.components import Component
    from psych_runtime.spec.conditions import Condition, LiteralValue, ValuePath
    from psych_runtime.spec.definitions import ToolDefinition
    from psych_runtime.spec.limits import Limits, SuspensionPolicy
    from psych_runtime.spec.model import ModelRef
    from psych_runtime.spec.questions import AskedQuestion, QuestionOption
    from psych_runtime.spec.skills import Skill
    from psych_runtime.spec.steps import (
        AgentStep,
        HumanStep,
        MapStep,
        RetryPolicy,
        SetStateStep,
        SleepStep,
        ToolStep,
        WaitStep,
    )
    from psych_runtime.spec.tasks import Task, TaskStatus
    from psych_runtime.spec.tools import A2APeer, CodeTool, HttpTool, McpOAuth, McpServer
    from psych_runtime.spec.usage import Cost, Usage
    from psych_runtime.spec.validation import ValidationContext
    from psych_runtime.spec.version import Spec, Version
    from psych_runtime.spec.workflow import (
        BranchCase,
        BranchStep,
        ForEachStep,
        LoopStep,
        ParallelStep,
        WorkflowSpec,
        WorkflowStepRef,
    )
    from psych_runtime.store.memory import InMemoryStore
    from psych_runtime.store.url import model_from_url, store_from_url
    from psych_runtime.tools.cancellation import CancelSignal
    from psych_runtime.tools.context import ToolContext
    from psych_runtime.tools.http import HttpToolExecutor
    from psych_runtime.tools.reconciliation import Reconciliation
    from psych_runtime.tools.registered import RegisteredTool
    from psych_runtime.tools.registry import ToolRegistry

__version__ = "0.2.0"
"""The release of `psych-runtime-core`."""

__all__ = [
    "__version__",
    "A2APeer",
    "AbortReason",
    "AbortSignal",
    "AccessDenied",
    "agent",
    "AgentBuilder",
    "AgentSpec",
    "AgentStep",
    "all_of",
    "AllowAll",
    "answer",
    "AnswerView",
    "any_of",
    "ArtifactCollection",
    "ArtifactPolicy",
    "AskedQuestion",
    "AssistantMessage",
    "AttemptId",
    "BranchCase",
    "BranchStep",
    "BuilderError",
    "CancelSignal",
    "CodeExecution",
    "CodeExecutionLimits",
    "CodeTool",
    "CompactionPolicy",
    "CompactionReport",
    "Component",
    "Condition",
    "CorruptionReason",
    "CorruptLog",
    "Cost",
    "CostPolicy",
    "CredentialNotFound",
    "DeadlineExceeded",
    "Decision",
    "DEFAULT_PRICE_CATALOG_VERSION",
    "DEFAULT_PRICES",
    "dispatch",
    "Dispatched",
    "EgressPolicy",
    "Enforcement",
    "explain",
    "Explanation",
    "FailureStreakTrip",
    "ForEachStep",
    "HttpTool",
    "HttpToolExecutor",
    "HttpTransport",
    "HumanStep",
    "InMemoryStore",
    "interrupt",
    "InvalidInput",
    "IsolationLevel",
    "Journal",
    "LatencyReport",
    "LateResult",
    "LeaseLost",
    "Lifecycle",
    "Limits",
    "lit",
    "LiteralValue",
    "LoopStep",
    "MapStep",
    "McpOAuth",
    "McpServer",
    "MediaPart",
    "Message",
    "MessageView",
    "model_from_url",
    "ModelCallReport",
    "ModelClient",
    "ModelPrice",
    "ModelRef",
    "ModelRequest",
    "ModelTimings",
    "ModelToolCall",
    "NetworkAccess",
    "NextDue",
    "OpenAICompatibleClient",
    "OpenWait",
    "OutboxEntry",
    "OutputPolicy",
    "OutputPreservation",
    "ParallelStep",
    "PendingApproval",
    "PendingQuestion",
    "PendingWait",
    "PluginConflictError",
    "PluginError",
    "PluginIncompatibleError",
    "PluginLoadError",
    "PluginNotInstalledError",
    "Policy",
    "PriceResolver",
    "PsychError",
    "publish",
    "QuestionOption",
    "QueueKind",
    "ReasoningDelta",
    "Reconciliation",
    "Record",
    "records",
    "ref",
    "RegisteredTool",
    "report",
    "ResolvedCredential",
    "ResponseTooLarge",
    "ResultAttachment",
    "resume",
    "RetryPolicy",
    "RunAborted",
    "RunAlreadySettled",
    "RunEndedWithoutAnswer",
    "RunFailed",
    "RunHeader",
    "RunId",
    "RunNotFound",
    "RunNotSuspended",
    "RunPage",
    "RunPurged",
    "RunReport",
    "runs",
    "RunsPage",
    "RunState",
    "RunStateView",
    "RunStatus",
    "RunSummary",
    "Runtime",
    "Scope",
    "SecretResolver",
    "send",
    "SeqConflict",
    "Session",
    "session",
    "SetStateStep",
    "Skill",
    "SleepStep",
    "SpawnEnvelope",
    "Spec",
    "SpecValidationError",
    "state",
    "StaticPriceTable",
    "status",
    "StepId",
    "StepReport",
    "Store",
    "store_from_url",
    "StoreError",
    "StoreUnavailable",
    "stream",
    "stream_text",
    "StreamDone",
    "StreamEvent",
    "SubagentRef",
    "SubagentReport",
    "SubtreeTotals",
    "SuspendReason",
    "SuspensionExpired",
    "SuspensionPolicy",
    "SuspensionReport",
    "SystemMessage",
    "Task",
    "TaskStatus",
    "TerminalState",
    "TextDelta",
    "thread",
    "ThreadView",
    "ToolCall",
    "ToolCallDelta",
    "ToolCallId",
    "ToolCallReport",
    "ToolCallView",
    "ToolClass",
    "ToolContext",
    "ToolDefinition",
    "ToolFailure",
    "ToolOutcome",
    "ToolRegistry",
    "ToolResultMessage",
    "ToolStep",
    "TotalsReport",
    "TransientError",
    "UnknownAdapterError",
    "UnstorableValueError",
    "UnsupportedCapabilityError",
    "Usage",
    "UserMessage",
    "ValidationContext",
    "ValidationIssue",
    "ValuePath",
    "Version",
    "VersionHash",
    "VersionNotFound",
    "WaitExplanation",
    "WaitStep",
    "when",
    "Worker",
    "WorkerId",
    "workflow",
    "WorkflowBuilder",
    "WorkflowRequired",
    "WorkflowSpec",
    "WorkflowStepRef",
    "WorkspacePolicy",
    "WorkTurn",
]

logging.getLogger("psych_runtime").addHandler(logging.NullHandler())


def __getattr__(name: str) -> Any:
    from psych_runtime.exports import WHERE

    where = WHERE.get(name)
    if where is not None:
        value = getattr(import_module(where), name)
    elif name == "OpenAICompatibleClient":
        from psych_runtime.plugins.shim import provided_by

        with provided_by("openai"):
            value = import_module("psych_runtime_openai.client").OpenAICompatibleClient
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
