"""`LogBuilder`: legal (and, on purpose, illegal) logs in a few lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from typing import Any, Self

from psych_runtime.ids import AttemptId, RunId, VersionHash, WorkerId
from psych_runtime.log import records as r
from psych_runtime.log.codec import encode
from psych_runtime.log.fold import RunStateView, reduce
from psych_runtime.log.records import Record, RecordBase
from psych_runtime.log.values import (
    ModelTimings,
    ModelToolCall,
    QueueKind,
    SuspendReason,
    TerminalState,
    ToolFailure,
    ToolOutcome,
)
from psych_runtime.ports.store import StoredRecord
from psych_runtime.scope import Scope
from psych_runtime.spec.usage import Cost, Usage

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
"""When built logs begin; every record is one second later than the one before it."""

_ORDER_DEPENDENT = frozenset({"head_seq", "abort_seq", "resumed_since_attempt"})


def comparable(state: RunStateView) -> dict[str, Any]:
    """The fields of ``state`` that do not depend on where external records stand among facts.

    Positions are left out; so is ``resumed_since_attempt``, which asks for the order itself.
    """
    return {
        item.name: getattr(state, item.name)
        for item in fields(state)
        if item.name not in _ORDER_DEPENDENT
    }


class LogBuilder:
    """Builds a log record by record; every method returns the builder.

    Numbers (seq, turn, attempt) are counted up; any field can be given by name, also a wrong one:
    nothing is checked before the log is folded.

    Example:
        >>> log = LogBuilder().admitted().attempt().turn().model_started()
        >>> log.model_finished(text="Hello").settled().state().terminal_state.value
        'completed'
    """

    def __init__(
        self,
        run_id: str = "run_test",
        scope: Scope | None = None,
        version_hash: str = "sha256:test",
    ) -> None:
        """Start an empty log of ``run_id`` in ``scope`` (default: tenant ``acme``)."""
        self.records: list[Record] = []
        """What was built so far."""
        self.run_id = RunId(run_id)
        self.scope = scope or Scope(tenant="acme")
        self.version_hash = VersionHash(version_hash)
        self._attempts = 0
        self._attempt_id: AttemptId | None = None
        self._turns = 0
        self._turn_of: dict[str | None, int] = {}
        self._entries = 0

    def add(self, kind: type[RecordBase], /, **fields: Any) -> Self:
        """Append a record of any type; ``run_id``, ``seq``, ``at`` and ``scope`` have defaults."""
        seq = len(self.records) + 1
        common: dict[str, Any] = {
            "run_id": self.run_id,
            "seq": seq,
            "at": EPOCH + timedelta(seconds=seq),
            "scope": self.scope,
        }
        name = kind.model_fields["type"].default
        if name != "run_admitted" and name not in r.EXTERNAL_TYPES:
            common["attempt_id"] = self._attempt_id
        record = kind(**{**common, **fields})
        self.records.append(record)  # type: ignore[arg-type]
        return self

    # -- what became of it --------------------------------------------------------------------

    def state(self) -> RunStateView:
        """Fold the log."""
        return reduce(self.records)

    def stored(self) -> list[StoredRecord]:
        """The log as a store returns it."""
        return [StoredRecord(record.seq, encode(record)) for record in self.records]

    # -- the Run ------------------------------------------------------------------------------

    def admitted(self, **kwargs: Any) -> Self:
        """`RunAdmitted`, with a deadline 15 minutes after `EPOCH`."""
        defaults = {
            "version_hash": self.version_hash,
            "deadline_at": EPOCH + timedelta(minutes=15),
        }
        return self.add(r.RunAdmitted, **{**defaults, **kwargs})

    def attempt(self, *, reclaimed: bool = False, **kwargs: Any) -> Self:
        """`AttemptStarted`, by worker ``wrk_test``."""
        self._attempts += 1
        self._attempt_id = AttemptId(f"att_{self._attempts}")
        defaults = {
            "worker_id": WorkerId("wrk_test"),
            "attempt_number": self._attempts,
            "epoch": self._attempts,
            "reclaimed_expired_lease": reclaimed,
        }
        return self.add(r.AttemptStarted, **{**defaults, **kwargs})

    def settled(self, state: TerminalState = TerminalState.COMPLETED, **kwargs: Any) -> Self:
        """`RunSettled`."""
        return self.add(r.RunSettled, state=state, **kwargs)

    def abort(self, reason: str = "user stopped it", **kwargs: Any) -> Self:
        """`AbortRequested`."""
        return self.add(r.AbortRequested, reason=reason, **kwargs)

    def paused(self, **kwargs: Any) -> Self:
        """`RunPaused`."""
        return self.add(r.RunPaused, **kwargs)

    def unpaused(self, **kwargs: Any) -> Self:
        """`RunUnpaused`."""
        return self.add(r.RunUnpaused, **kwargs)

    # -- turns and model calls ----------------------------------------------------------------

    def turn(self, *, step_id: str | None = None, **kwargs: Any) -> Self:
        """`TurnStarted`, of the Run's own agent or of a step's."""
        self._turns = kwargs.pop("turn", self._turns + 1)
        self._turn_of[step_id] = self._turns
        return self.add(r.TurnStarted, turn=self._turns, step_id=step_id, **kwargs)

    def prompt(self, digest: str = "sha256:prompt", system_prompt: str = "", **kwargs: Any) -> Self:
        """`PromptDefined`."""
        return self.add(r.PromptDefined, digest=digest, system_prompt=system_prompt, **kwargs)

    def model_started(self, model: str = "gpt-4o", **kwargs: Any) -> Self:
        """`ModelCallStarted`, in the current turn."""
        return self._in_turn(r.ModelCallStarted, model=model, **kwargs)

    def model_finished(
        self,
        model: str = "gpt-4o",
        usage: Usage | None = None,
        cost: Cost | None = None,
        calls: Sequence[ModelToolCall | tuple[str, str, Mapping[str, Any]]] = (),
        **kwargs: Any,
    ) -> Self:
        """`ModelCallFinished`; a call may be given as ``(call_id, tool, arguments)``."""
        whole = tuple(
            call
            if isinstance(call, ModelToolCall)
            else ModelToolCall.model_validate(
                {"call_id": call[0], "name": call[1], "arguments": dict(call[2])}
            )
            for call in calls
        )
        defaults = {
            "timings": ModelTimings(),
            "finish_reason": "tool_calls" if whole else "stop",
        }
        return self._in_turn(
            r.ModelCallFinished,
            **{
                **defaults,
                "model": model,
                "usage": usage or Usage(),
                "cost": cost,
                "calls": whole,
                **kwargs,
            },
        )

    def model_failed(self, model: str = "gpt-4o", **kwargs: Any) -> Self:
        """`ModelCallFailed`, with a ``TransientError`` unless another failure is given."""
        kwargs.setdefault("failure", ToolFailure(kind="TransientError", message="try again"))
        return self._in_turn(r.ModelCallFailed, model=model, **kwargs)

    def compacted(self, from_seq: int, to_seq: int, **kwargs: Any) -> Self:
        """`CompactionApplied`."""
        defaults = {"reason": "threshold", "summary": "what happened so far"}
        bounds = {"replaced_from_seq": from_seq, "replaced_to_seq": to_seq}
        return self.add(r.CompactionApplied, **{**defaults, **bounds, **kwargs})

    # -- tool calls ---------------------------------------------------------------------------

    def tool_started(self, call_id: str, tool: str = "refund", **kwargs: Any) -> Self:
        """`ToolCallStarted`, in the current turn."""
        return self._in_turn(r.ToolCallStarted, call_id=call_id, tool=tool, **kwargs)

    def tool_finished(
        self, call_id: str, outcome: ToolOutcome = ToolOutcome.OK, **kwargs: Any
    ) -> Self:
        """`ToolCallFinished`."""
        return self.add(r.ToolCallFinished, call_id=call_id, outcome=outcome, **kwargs)

    def tool_retried(self, call_id: str, attempt_number: int = 2, **kwargs: Any) -> Self:
        """`ToolCallRetried`."""
        return self.add(r.ToolCallRetried, call_id=call_id, attempt_number=attempt_number, **kwargs)

    def tool_reconciled(self, call_id: str, verdict: str = "happened", **kwargs: Any) -> Self:
        """`ToolCallReconciled`."""
        return self.add(r.ToolCallReconciled, call_id=call_id, verdict=verdict, **kwargs)

    def tool_late(self, call_id: str, outcome: ToolOutcome = ToolOutcome.OK, **kwargs: Any) -> Self:
        """`ToolResultLate`."""
        return self.add(r.ToolResultLate, call_id=call_id, outcome=outcome, **kwargs)

    def tool_progress(self, call_id: str, message: str = "working", **kwargs: Any) -> Self:
        """`ToolProgress`."""
        return self.add(r.ToolProgress, call_id=call_id, message=message, **kwargs)

    def policy(self, name: str = "refund", *, allowed: bool = True, **kwargs: Any) -> Self:
        """`PolicyDecided`, about a tool."""
        return self.add(
            r.PolicyDecided, **{"subject": "tool", "name": name, "allowed": allowed, **kwargs}
        )

    # -- steps --------------------------------------------------------------------------------

    def step_started(
        self,
        step_id: str,
        name: str = "step",
        kind: str = "tool",
        attempt_number: int = 1,
        **kwargs: Any,
    ) -> Self:
        """`StepStarted`."""
        given = {"step_id": step_id, "name": name, "kind": kind, "attempt_number": attempt_number}
        return self.add(r.StepStarted, **given, **kwargs)

    def step_completed(self, step_id: str, **kwargs: Any) -> Self:
        """`StepCompleted`."""
        return self.add(r.StepCompleted, step_id=step_id, **kwargs)

    def compensation_started(self, step_id: str, tool: str = "undo", **kwargs: Any) -> Self:
        """`CompensationStarted`."""
        kwargs.setdefault("call_id", f"undo_{step_id}")
        return self.add(r.CompensationStarted, step_id=step_id, tool=tool, **kwargs)

    def compensation_finished(
        self,
        step_id: str,
        outcome: ToolOutcome = ToolOutcome.OK,
        tool: str = "undo",
        **kwargs: Any,
    ) -> Self:
        """`CompensationFinished`."""
        kwargs.setdefault("call_id", f"undo_{step_id}")
        return self.add(
            r.CompensationFinished, step_id=step_id, tool=tool, outcome=outcome, **kwargs
        )

    # -- children -----------------------------------------------------------------------------

    def spawned(self, child_run_id: str, name: str = "researcher", **kwargs: Any) -> Self:
        """`SubagentSpawned`."""
        defaults = {
            "call_id": f"spawn_{child_run_id}",
            "child_version_hash": VersionHash("sha256:child"),
            "purpose": "look into it",
            "task": "find out",
            "deliverable": "a summary",
            "model": "gpt-4o",
            "delegation_depth": 1,
        }
        given = {"child_run_id": child_run_id, "name": name}
        return self.add(r.SubagentSpawned, **{**defaults, **given, **kwargs})

    def messaged_child(self, child_run_id: str, name: str = "researcher", **kwargs: Any) -> Self:
        """`SubagentMessaged`."""
        self._entries += 1
        defaults = {
            "call_id": f"message_{self._entries}",
            "entry_id": f"qe_{self._entries}",
            "message": "hurry",
        }
        given = {"child_run_id": child_run_id, "name": name}
        return self.add(r.SubagentMessaged, **{**defaults, **given, **kwargs})

    def child_finished(self, child_run_id: str, name: str = "researcher", **kwargs: Any) -> Self:
        """`SubagentFinished`, completed."""
        defaults = {"state": TerminalState.COMPLETED, "output": {"text": "done"}}
        given = {"child_run_id": child_run_id, "name": name}
        return self.add(r.SubagentFinished, **{**defaults, **given, **kwargs})

    # -- messages and signals -----------------------------------------------------------------

    def enqueued(self, entry_id: str, queue: QueueKind = QueueKind.STEER, **kwargs: Any) -> Self:
        """`QueueEnqueued`."""
        kwargs.setdefault("payload", {"message": f"message {entry_id}"})
        return self.add(r.QueueEnqueued, entry_id=entry_id, queue=queue, **kwargs)

    def cancelled(self, entry_id: str, **kwargs: Any) -> Self:
        """`QueueCancelled`."""
        return self.add(r.QueueCancelled, entry_id=entry_id, **kwargs)

    def consumed(self, entry_id: str, **kwargs: Any) -> Self:
        """`QueueConsumed`."""
        return self.add(r.QueueConsumed, entry_id=entry_id, **kwargs)

    def signal(self, signal_id: str, name: str = "approved", **kwargs: Any) -> Self:
        """`SignalReceived`."""
        return self.add(r.SignalReceived, signal_id=signal_id, name=name, **kwargs)

    def signal_consumed(self, signal_id: str, **kwargs: Any) -> Self:
        """`SignalConsumed`."""
        return self.add(r.SignalConsumed, signal_id=signal_id, **kwargs)

    # -- waits --------------------------------------------------------------------------------

    def offered(self, call_id: str, tool: str = "refund", **kwargs: Any) -> Self:
        """`ApprovalOffered`, whose wait id is the call id; expires after a day."""
        defaults = {"wait_id": call_id, "expires_at": self._in_a_day()}
        return self.add(
            r.ApprovalOffered, **{**defaults, "call_id": call_id, "tool": tool, **kwargs}
        )

    def decided(self, wait_id: str, approved: bool = True, **kwargs: Any) -> Self:
        """`ApprovalDecided`."""
        return self.add(r.ApprovalDecided, wait_id=wait_id, approved=approved, **kwargs)

    def suspended(self, reason: SuspendReason = SuspendReason.APPROVAL, **kwargs: Any) -> Self:
        """`Suspended`; the wait id is the call's or the step's, or ``wait``; expires in a day."""
        wait_id = kwargs.get("pending_call_id") or kwargs.get("step_id") or "wait"
        defaults = {"wait_id": wait_id, "expires_at": self._in_a_day()}
        return self.add(r.Suspended, **{**defaults, "reason": reason, **kwargs})

    def resumed(self, **kwargs: Any) -> Self:
        """`Resumed`; without ``wait_id`` it ends the oldest wait."""
        return self.add(r.Resumed, **kwargs)

    def wait_expired(
        self,
        wait_id: str,
        reason: SuspendReason = SuspendReason.APPROVAL,
        action: str = "deny",
        **kwargs: Any,
    ) -> Self:
        """`WaitExpired`."""
        return self.add(r.WaitExpired, wait_id=wait_id, reason=reason, action=action, **kwargs)

    # -- shown --------------------------------------------------------------------------------

    def tasks(self, *tasks: Any, **kwargs: Any) -> Self:
        """`TaskListUpdated`."""
        return self.add(r.TaskListUpdated, tasks=tasks, **kwargs)

    def component(self, component: Any, **kwargs: Any) -> Self:
        """`ComponentShown`."""
        return self.add(r.ComponentShown, component=component, **kwargs)

    def _in_turn(self, kind: type[RecordBase], /, **fields: Any) -> Self:
        turn = self._turn_of.get(fields.get("step_id"), self._turns)
        return self.add(kind, **{"turn": max(turn, 1), **fields})

    def _in_a_day(self) -> datetime:
        return EPOCH + timedelta(days=1, seconds=len(self.records) + 1)
