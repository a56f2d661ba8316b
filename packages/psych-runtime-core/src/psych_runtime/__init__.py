"""Psych Runtime: run AI agents inside your own application, durably.

Everything a consumer calls or holds is on this module. Names load on first access, so that
importing it stays cheap; what sits behind a submodule path may move without notice.
"""

from __future__ import annotations

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from psych_runtime.builder.agent import AgentBuilder as AgentBuilder, agent as agent
    from psych_runtime.builder.values import all_of as all_of, any_of as any_of, lit as lit, ref as ref, when as when
    from psych_runtime.builder.workflow import WorkflowBuilder as WorkflowBuilder, workflow as workflow
    from psych_runtime.egress.transport import HttpTransport as HttpTransport
    from psych_runtime.engine.admission import Dispatched as Dispatched, dispatch as dispatch
    from psych_runtime.engine.control import interrupt as interrupt, resume as resume, send as send
    from psych_runtime.engine.journal import Journal as Journal
    from psych_runtime.engine.publishing import publish as publish
    from psych_runtime.engine.runtime import Runtime as Runtime
    from psych_runtime.engine.signals import AbortReason as AbortReason, AbortSignal as AbortSignal
    from psych_runtime.engine.worker.worker import Worker as Worker
    from psych_runtime.errors import AccessDenied as AccessDenied, BuilderError as BuilderError, CredentialNotFound as CredentialNotFound, DeadlineExceeded as DeadlineExceeded, InvalidInput as InvalidInput, LeaseLost as LeaseLost, PluginConflictError as PluginConflictError, PluginError as PluginError, PluginIncompatibleError as PluginIncompatibleError, PluginLoadError as PluginLoadError, PluginNotInstalledError as PluginNotInstalledError, PsychError as PsychError, ResponseTooLarge as ResponseTooLarge, RunAborted as RunAborted, RunAlreadySettled as RunAlreadySettled, RunEndedWithoutAnswer as RunEndedWithoutAnswer, RunFailed as RunFailed, RunNotFound as RunNotFound, RunNotSuspended as RunNotSuspended, RunPurged as RunPurged, SeqConflict as SeqConflict, SpecValidationError as SpecValidationError, StoreError as StoreError, StoreUnavailable as StoreUnavailable, SuspensionExpired as SuspensionExpired, TransientError as TransientError, UnknownAdapterError as UnknownAdapterError, UnstorableValueError as UnstorableValueError, UnsupportedCapabilityError as UnsupportedCapabilityError, ValidationIssue as ValidationIssue, VersionNotFound as VersionNotFound, WorkflowRequired as WorkflowRequired
    from psych_runtime.ids import AttemptId as AttemptId, RunId as RunId, StepId as StepId, ToolCallId as ToolCallId, VersionHash as VersionHash, WorkerId as WorkerId
    from psych_runtime.log.corruption import CorruptLog as CorruptLog, CorruptionReason as CorruptionReason
    from psych_runtime.log.fold.state import RunStateView as RunStateView
    from psych_runtime.log.records import Record as Record
    from psych_runtime.log.values import MediaPart as MediaPart, ModelTimings as ModelTimings, ModelToolCall as ModelToolCall, QueueKind as QueueKind, ResultAttachment as ResultAttachment, SuspendReason as SuspendReason, TerminalState as TerminalState, ToolFailure as ToolFailure, ToolOutcome as ToolOutcome
    from psych_runtime.model.catalog import DEFAULT_PRICE_CATALOG_VERSION as DEFAULT_PRICE_CATALOG_VERSION
    from psych_runtime.model.pricing import DEFAULT_PRICES as DEFAULT_PRICES, StaticPriceTable as StaticPriceTable
    from psych_runtime.ports.egress import EgressPolicy as EgressPolicy
    from psych_runtime.ports.messages import AssistantMessage as AssistantMessage, Message as Message, SystemMessage as SystemMessage, ToolCall as ToolCall, ToolResultMessage as ToolResultMessage, UserMessage as UserMessage
    from psych_runtime.ports.model import ModelClient as ModelClient, ModelRequest as ModelRequest, ReasoningDelta as ReasoningDelta, StreamDone as StreamDone, StreamEvent as StreamEvent, TextDelta as TextDelta, ToolCallDelta as ToolCallDelta
    from psych_runtime.ports.policy import AllowAll as AllowAll, Decision as Decision, Policy as Policy, ToolClass as ToolClass
    from psych_runtime.ports.pricing import CostPolicy as CostPolicy, ModelPrice as ModelPrice, PriceResolver as PriceResolver
    from psych_runtime.ports.secrets import ResolvedCredential as ResolvedCredential, SecretResolver as SecretResolver
    from psych_runtime.ports.store import RunHeader as RunHeader, RunPage as RunPage, RunState as RunState, Store as Store
    from psych_runtime.reads.answer import AnswerView as AnswerView, ToolCallView as ToolCallView, WorkTurn as WorkTurn
    from psych_runtime.reads.calls import answer as answer, explain as explain, records as records, report as report, runs as runs, state as state, status as status, thread as thread
    from psych_runtime.reads.explain import Explanation as Explanation
    from psych_runtime.reads.lifecycle import Lifecycle as Lifecycle
    from psych_runtime.reads.listing import RunSummary as RunSummary
    from psych_runtime.reads.pending import PendingApproval as PendingApproval, PendingQuestion as PendingQuestion, PendingWait as PendingWait
    from psych_runtime.reads.report.compactions import CompactionReport as CompactionReport
    from psych_runtime.reads.report.latency import LatencyReport as LatencyReport
    from psych_runtime.reads.report.model_calls import ModelCallReport as ModelCallReport
    from psych_runtime.reads.report.run_report import RunReport as RunReport, StepReport as StepReport, SubagentReport as SubagentReport
    from psych_runtime.reads.report.streaks import FailureStreakTrip as FailureStreakTrip
    from psych_runtime.reads.report.suspensions import SuspensionReport as SuspensionReport
    from psych_runtime.reads.report.tool_calls import ToolCallReport as ToolCallReport
    from psych_runtime.reads.report.totals import SubtreeTotals as SubtreeTotals, TotalsReport as TotalsReport
    from psych_runtime.reads.status import RunStatus as RunStatus
    from psych_runtime.reads.stream import stream as stream, stream_text as stream_text
    from psych_runtime.reads.thread import MessageView as MessageView, ThreadView as ThreadView
    from psych_runtime.scope import Scope as Scope
    from psych_runtime.session.session import Session as Session, session as session
    from psych_runtime.spec.agent import AgentSpec as AgentSpec, CompactionPolicy as CompactionPolicy, SpawnEnvelope as SpawnEnvelope, SubagentRef as SubagentRef
    from psych_runtime.spec.code_execution import ArtifactCollection as ArtifactCollection, ArtifactPolicy as ArtifactPolicy, CodeExecution as CodeExecution, CodeExecutionLimits as CodeExecutionLimits, Enforcement as Enforcement, IsolationLevel as IsolationLevel, NetworkAccess as NetworkAccess, OutputPolicy as OutputPolicy, OutputPreservation as OutputPreservation, WorkspacePolicy as WorkspacePolicy
    from psych_runtime.spec.components import Component as Component
    from psych_runtime.spec.conditions import Condition as Condition, LiteralValue as LiteralValue, ValuePath as ValuePath
    from psych_runtime.spec.definitions import ToolDefinition as ToolDefinition
    from psych_runtime.spec.limits import Limits as Limits, SuspensionPolicy as SuspensionPolicy
    from psych_runtime.spec.model import ModelRef as ModelRef
    from psych_runtime.spec.questions import AskedQuestion as AskedQuestion, QuestionOption as QuestionOption
    from psych_runtime.spec.skills import Skill as Skill
    from psych_runtime.spec.steps import AgentStep as AgentStep, HumanStep as HumanStep, MapStep as MapStep, RetryPolicy as RetryPolicy, SetStateStep as SetStateStep, SleepStep as SleepStep, ToolStep as ToolStep, WaitStep as WaitStep
    from psych_runtime.spec.tasks import Task as Task, TaskStatus as TaskStatus
    from psych_runtime.spec.tools import A2APeer as A2APeer, CodeTool as CodeTool, HttpTool as HttpTool, McpOAuth as McpOAuth, McpServer as McpServer
    from psych_runtime.spec.usage import Cost as Cost, Usage as Usage
    from psych_runtime.spec.validation import ValidationContext as ValidationContext
    from psych_runtime.spec.version import Spec as Spec, Version as Version
    from psych_runtime.spec.workflow import BranchCase as BranchCase, BranchStep as BranchStep, ForEachStep as ForEachStep, LoopStep as LoopStep, ParallelStep as ParallelStep, WorkflowSpec as WorkflowSpec, WorkflowStepRef as WorkflowStepRef
    from psych_runtime.store.memory import InMemoryStore as InMemoryStore
    from psych_runtime.store.url import model_from_url as model_from_url, store_from_url as store_from_url
    from psych_runtime.tools.context import ToolContext as ToolContext
    from psych_runtime.tools.reconciliation import Reconciliation as Reconciliation
    from psych_runtime.tools.registered import RegisteredTool as RegisteredTool
    from psych_runtime.tools.registry import ToolRegistry as ToolRegistry
    from psych_runtime_openai.client import OpenAICompatibleClient as OpenAICompatibleClient

__version__ = "0.2.0"

_WHERE = {
    "A2APeer": "psych_runtime.spec.tools",
    "AbortReason": "psych_runtime.engine.signals",
    "AbortSignal": "psych_runtime.engine.signals",
    "AccessDenied": "psych_runtime.errors",
    "AgentBuilder": "psych_runtime.builder.agent",
    "AgentSpec": "psych_runtime.spec.agent",
    "AgentStep": "psych_runtime.spec.steps",
    "AllowAll": "psych_runtime.ports.policy",
    "AnswerView": "psych_runtime.reads.answer",
    "ArtifactCollection": "psych_runtime.spec.code_execution",
    "ArtifactPolicy": "psych_runtime.spec.code_execution",
    "AskedQuestion": "psych_runtime.spec.questions",
    "AssistantMessage": "psych_runtime.ports.messages",
    "AttemptId": "psych_runtime.ids",
    "BranchCase": "psych_runtime.spec.workflow",
    "BranchStep": "psych_runtime.spec.workflow",
    "BuilderError": "psych_runtime.errors",
    "CodeExecution": "psych_runtime.spec.code_execution",
    "CodeExecutionLimits": "psych_runtime.spec.code_execution",
    "CodeTool": "psych_runtime.spec.tools",
    "CompactionPolicy": "psych_runtime.spec.agent",
    "CompactionReport": "psych_runtime.reads.report.compactions",
    "Component": "psych_runtime.spec.components",
    "Condition": "psych_runtime.spec.conditions",
    "CorruptLog": "psych_runtime.log.corruption",
    "CorruptionReason": "psych_runtime.log.corruption",
    "Cost": "psych_runtime.spec.usage",
    "CostPolicy": "psych_runtime.ports.pricing",
    "CredentialNotFound": "psych_runtime.errors",
    "DEFAULT_PRICES": "psych_runtime.model.pricing",
    "DEFAULT_PRICE_CATALOG_VERSION": "psych_runtime.model.catalog",
    "DeadlineExceeded": "psych_runtime.errors",
    "Decision": "psych_runtime.ports.policy",
    "Dispatched": "psych_runtime.engine.admission",
    "EgressPolicy": "psych_runtime.ports.egress",
    "Enforcement": "psych_runtime.spec.code_execution",
    "Explanation": "psych_runtime.reads.explain",
    "FailureStreakTrip": "psych_runtime.reads.report.streaks",
    "ForEachStep": "psych_runtime.spec.workflow",
    "HttpTool": "psych_runtime.spec.tools",
    "HttpTransport": "psych_runtime.egress.transport",
    "HumanStep": "psych_runtime.spec.steps",
    "InMemoryStore": "psych_runtime.store.memory",
    "InvalidInput": "psych_runtime.errors",
    "IsolationLevel": "psych_runtime.spec.code_execution",
    "Journal": "psych_runtime.engine.journal",
    "LatencyReport": "psych_runtime.reads.report.latency",
    "LeaseLost": "psych_runtime.errors",
    "Lifecycle": "psych_runtime.reads.lifecycle",
    "Limits": "psych_runtime.spec.limits",
    "LiteralValue": "psych_runtime.spec.conditions",
    "LoopStep": "psych_runtime.spec.workflow",
    "MapStep": "psych_runtime.spec.steps",
    "McpOAuth": "psych_runtime.spec.tools",
    "McpServer": "psych_runtime.spec.tools",
    "MediaPart": "psych_runtime.log.values",
    "Message": "psych_runtime.ports.messages",
    "MessageView": "psych_runtime.reads.thread",
    "ModelCallReport": "psych_runtime.reads.report.model_calls",
    "ModelClient": "psych_runtime.ports.model",
    "ModelPrice": "psych_runtime.ports.pricing",
    "ModelRef": "psych_runtime.spec.model",
    "ModelRequest": "psych_runtime.ports.model",
    "ModelTimings": "psych_runtime.log.values",
    "ModelToolCall": "psych_runtime.log.values",
    "NetworkAccess": "psych_runtime.spec.code_execution",
    "OutputPolicy": "psych_runtime.spec.code_execution",
    "OutputPreservation": "psych_runtime.spec.code_execution",
    "ParallelStep": "psych_runtime.spec.workflow",
    "PendingApproval": "psych_runtime.reads.pending",
    "PendingQuestion": "psych_runtime.reads.pending",
    "PendingWait": "psych_runtime.reads.pending",
    "PluginConflictError": "psych_runtime.errors",
    "PluginError": "psych_runtime.errors",
    "PluginIncompatibleError": "psych_runtime.errors",
    "PluginLoadError": "psych_runtime.errors",
    "PluginNotInstalledError": "psych_runtime.errors",
    "Policy": "psych_runtime.ports.policy",
    "PriceResolver": "psych_runtime.ports.pricing",
    "PsychError": "psych_runtime.errors",
    "QuestionOption": "psych_runtime.spec.questions",
    "QueueKind": "psych_runtime.log.values",
    "ReasoningDelta": "psych_runtime.ports.model",
    "Reconciliation": "psych_runtime.tools.reconciliation",
    "Record": "psych_runtime.log.records",
    "RegisteredTool": "psych_runtime.tools.registered",
    "ResolvedCredential": "psych_runtime.ports.secrets",
    "ResponseTooLarge": "psych_runtime.errors",
    "ResultAttachment": "psych_runtime.log.values",
    "RetryPolicy": "psych_runtime.spec.steps",
    "RunAborted": "psych_runtime.errors",
    "RunAlreadySettled": "psych_runtime.errors",
    "RunEndedWithoutAnswer": "psych_runtime.errors",
    "RunFailed": "psych_runtime.errors",
    "RunHeader": "psych_runtime.ports.store",
    "RunId": "psych_runtime.ids",
    "RunNotFound": "psych_runtime.errors",
    "RunNotSuspended": "psych_runtime.errors",
    "RunPage": "psych_runtime.ports.store",
    "RunPurged": "psych_runtime.errors",
    "RunReport": "psych_runtime.reads.report.run_report",
    "RunState": "psych_runtime.ports.store",
    "RunStateView": "psych_runtime.log.fold.state",
    "RunStatus": "psych_runtime.reads.status",
    "RunSummary": "psych_runtime.reads.listing",
    "Runtime": "psych_runtime.engine.runtime",
    "Scope": "psych_runtime.scope",
    "SecretResolver": "psych_runtime.ports.secrets",
    "SeqConflict": "psych_runtime.errors",
    "Session": "psych_runtime.session.session",
    "SetStateStep": "psych_runtime.spec.steps",
    "Skill": "psych_runtime.spec.skills",
    "SleepStep": "psych_runtime.spec.steps",
    "SpawnEnvelope": "psych_runtime.spec.agent",
    "Spec": "psych_runtime.spec.version",
    "SpecValidationError": "psych_runtime.errors",
    "StaticPriceTable": "psych_runtime.model.pricing",
    "StepId": "psych_runtime.ids",
    "StepReport": "psych_runtime.reads.report.run_report",
    "Store": "psych_runtime.ports.store",
    "StoreError": "psych_runtime.errors",
    "StoreUnavailable": "psych_runtime.errors",
    "StreamDone": "psych_runtime.ports.model",
    "StreamEvent": "psych_runtime.ports.model",
    "SubagentRef": "psych_runtime.spec.agent",
    "SubagentReport": "psych_runtime.reads.report.run_report",
    "SubtreeTotals": "psych_runtime.reads.report.totals",
    "SuspendReason": "psych_runtime.log.values",
    "SuspensionExpired": "psych_runtime.errors",
    "SuspensionPolicy": "psych_runtime.spec.limits",
    "SuspensionReport": "psych_runtime.reads.report.suspensions",
    "SystemMessage": "psych_runtime.ports.messages",
    "Task": "psych_runtime.spec.tasks",
    "TaskStatus": "psych_runtime.spec.tasks",
    "TerminalState": "psych_runtime.log.values",
    "TextDelta": "psych_runtime.ports.model",
    "ThreadView": "psych_runtime.reads.thread",
    "ToolCall": "psych_runtime.ports.messages",
    "ToolCallDelta": "psych_runtime.ports.model",
    "ToolCallId": "psych_runtime.ids",
    "ToolCallReport": "psych_runtime.reads.report.tool_calls",
    "ToolCallView": "psych_runtime.reads.answer",
    "ToolClass": "psych_runtime.ports.policy",
    "ToolContext": "psych_runtime.tools.context",
    "ToolDefinition": "psych_runtime.spec.definitions",
    "ToolFailure": "psych_runtime.log.values",
    "ToolOutcome": "psych_runtime.log.values",
    "ToolRegistry": "psych_runtime.tools.registry",
    "ToolResultMessage": "psych_runtime.ports.messages",
    "ToolStep": "psych_runtime.spec.steps",
    "TotalsReport": "psych_runtime.reads.report.totals",
    "TransientError": "psych_runtime.errors",
    "UnknownAdapterError": "psych_runtime.errors",
    "UnstorableValueError": "psych_runtime.errors",
    "UnsupportedCapabilityError": "psych_runtime.errors",
    "Usage": "psych_runtime.spec.usage",
    "UserMessage": "psych_runtime.ports.messages",
    "ValidationContext": "psych_runtime.spec.validation",
    "ValidationIssue": "psych_runtime.errors",
    "ValuePath": "psych_runtime.spec.conditions",
    "Version": "psych_runtime.spec.version",
    "VersionHash": "psych_runtime.ids",
    "VersionNotFound": "psych_runtime.errors",
    "WaitStep": "psych_runtime.spec.steps",
    "WorkTurn": "psych_runtime.reads.answer",
    "Worker": "psych_runtime.engine.worker.worker",
    "WorkerId": "psych_runtime.ids",
    "WorkflowBuilder": "psych_runtime.builder.workflow",
    "WorkflowRequired": "psych_runtime.errors",
    "WorkflowSpec": "psych_runtime.spec.workflow",
    "WorkflowStepRef": "psych_runtime.spec.workflow",
    "WorkspacePolicy": "psych_runtime.spec.code_execution",
    "agent": "psych_runtime.builder.agent",
    "all_of": "psych_runtime.builder.values",
    "answer": "psych_runtime.reads.calls",
    "any_of": "psych_runtime.builder.values",
    "dispatch": "psych_runtime.engine.admission",
    "explain": "psych_runtime.reads.calls",
    "interrupt": "psych_runtime.engine.control",
    "lit": "psych_runtime.builder.values",
    "model_from_url": "psych_runtime.store.url",
    "publish": "psych_runtime.engine.publishing",
    "records": "psych_runtime.reads.calls",
    "ref": "psych_runtime.builder.values",
    "report": "psych_runtime.reads.calls",
    "resume": "psych_runtime.engine.control",
    "runs": "psych_runtime.reads.calls",
    "send": "psych_runtime.engine.control",
    "session": "psych_runtime.session.session",
    "state": "psych_runtime.reads.calls",
    "status": "psych_runtime.reads.calls",
    "store_from_url": "psych_runtime.store.url",
    "stream": "psych_runtime.reads.stream",
    "stream_text": "psych_runtime.reads.stream",
    "thread": "psych_runtime.reads.calls",
    "when": "psych_runtime.builder.values",
    "workflow": "psych_runtime.builder.workflow",
}

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
    "HttpTransport",
    "HumanStep",
    "InMemoryStore",
    "interrupt",
    "InvalidInput",
    "IsolationLevel",
    "Journal",
    "LatencyReport",
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
    "OpenAICompatibleClient",
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
    where = _WHERE.get(name)
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
