"""The gate before a tool call: policy, selectors, and approvals that were asked for or given."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime, timedelta

from psych_runtime.engine.agent.activation import Activation
from psych_runtime.engine.signals import Stopped, until_aborted
from psych_runtime.ids import ToolCallId
from psych_runtime.log.fold.entries import Approval
from psych_runtime.log.records import ApprovalOffered, PolicyDecided
from psych_runtime.log.values import ModelToolCall, ToolFailure
from psych_runtime.ports.policy import Decision
from psych_runtime.tools.classification import approval_required, classify
from psych_runtime.tools.registered import RegisteredTool


@dataclass(frozen=True, slots=True)
class WaitingCall:
    """A call that a person has to decide on."""

    wait_id: str
    call_id: ToolCallId
    expires_at: datetime
    question: str


async def gate(
    on: Activation, call: ModelToolCall, tool: RegisteredTool
) -> WaitingCall | ToolFailure | None:
    """Say whether ``call`` may run: None if so, else what it waits for or why it must not."""
    state = on.journal.state
    decided = state.approval_decisions.get(call.call_id)
    if decided is not None:
        return None if decided else _refusal(state.approvals.get(call.call_id))
    waiting = state.waits.get(call.call_id)
    if waiting is not None:
        return WaitingCall(
            wait_id=call.call_id,
            call_id=call.call_id,
            expires_at=waiting.expires_at,
            question=_question(call),
        )
    decision = await _ask_policy(on, call)
    if decision is not None and not decision.allowed and not decision.requires_approval:
        return ToolFailure(kind="access_denied", message=decision.reason or "refused by policy")
    by_policy = decision is not None and decision.requires_approval
    selectors = on.runtime.approval_selectors
    by_class = bool(selectors) and approval_required(
        tool.definition, selectors=selectors, always=(), never=()
    )
    if not by_policy and not by_class:
        return None
    return _offer(on, call, tool, decision.reason if by_policy and decision else "")


def _refusal(approval: Approval | None) -> ToolFailure:
    if approval is not None and approval.expired:
        return ToolFailure(kind="approval_expired", message="nobody decided in time")
    return ToolFailure(kind="denied", message="a person said no")


async def _ask_policy(on: Activation, call: ModelToolCall) -> Decision | None:
    policy = on.runtime.policy
    if policy is None:
        return None

    async def ask() -> Decision:
        return await policy.allow_tool(on.journal.header.scope, call.name, call.arguments)

    try:
        decision = await until_aborted(ask(), on.abort)
    except Stopped:
        raise
    except Exception as error:
        # A policy that cannot answer must not let a call through.
        decision = Decision.deny(f"the policy failed: {type(error).__name__}: {error}")
    if not decision.allowed or decision.requires_approval:
        on.journal.write(
            PolicyDecided,
            subject="tool",
            name=call.name,
            call_id=call.call_id,
            allowed=decision.allowed,
            reason=decision.reason,
            requires_approval=decision.requires_approval,
            step_id=on.step_id,
        )
    return decision


def _offer(on: Activation, call: ModelToolCall, tool: RegisteredTool, reason: str) -> WaitingCall:
    seconds = on.spec.suspension.approval_expires_seconds
    expires_at = on.journal.now() + timedelta(seconds=seconds)
    tool_class = classify(tool.definition)
    on.journal.write(
        ApprovalOffered,
        wait_id=call.call_id,
        call_id=call.call_id,
        tool=call.name,
        arguments=call.arguments,
        tool_class=tool_class.value,
        reason=reason or f"{call.name} is {tool_class.value}",
        digest=approval_digest(on, call, tool),
        expires_at=expires_at,
        step_id=on.step_id,
    )
    return WaitingCall(
        wait_id=call.call_id,
        call_id=call.call_id,
        expires_at=expires_at,
        question=_question(call),
    )


def approval_digest(on: Activation, call: ModelToolCall, tool: RegisteredTool) -> str:
    """Digest over what a person agrees to: tool, its schema, the arguments and the Version."""
    agreed = [call.name, tool.input_schema, call.arguments, on.journal.header.version_hash]
    text = json.dumps(agreed, sort_keys=True, separators=(",", ":"))
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def _question(call: ModelToolCall) -> str:
    arguments = json.dumps(call.arguments, sort_keys=True, ensure_ascii=False)
    return f"Approve calling '{call.name}' with {arguments}?"[:8192]
