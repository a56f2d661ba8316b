"""Random legal logs, for property tests of the fold and of whatever reads logs."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import timedelta
from typing import Any, Literal

from psych_runtime.ids import RunId
from psych_runtime.log import records as r
from psych_runtime.log.fold import fold, initial_state
from psych_runtime.log.fold.state import RunStateView
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
from psych_runtime.scope import Scope
from psych_runtime.spec.usage import Usage
from psych_runtime.testing.logs import EPOCH

Move = tuple[type[RecordBase], dict[str, Any]]
Family = Literal["facts", "decisions", "externals"]

_FAILURE = ToolFailure(kind="ValueError", message="no")


class LegalLog:
    """Extends a log by one legal record at a time, chosen by a random number generator.

    Three families of moves are told apart: what the Run's holder reports (``facts``), what it
    decides at a head it knows (``decisions``), and what others write (``externals``).
    """

    def __init__(self, rng: random.Random, *, length: int = 0, run_id: str = "run_random") -> None:
        """Admit a Run and make ``length`` moves."""
        self.rng = rng
        self.records: list[Record] = []
        self.state: RunStateView = initial_state(RunId(run_id), Scope(tenant="acme"))
        self._add(
            r.RunAdmitted,
            {"version_hash": "sha256:random", "deadline_at": EPOCH + timedelta(minutes=15)},
        )
        for _ in range(length):
            self.move()

    def move(self, *families: Family) -> Record:
        """Make one legal move of ``families`` (default: any) and return its record."""
        return self._add(*self.rng.choice(self.moves(*families)))

    def moves(self, *families: Family) -> list[Move]:
        """Every kind of legal move, with one random choice of its fields each."""
        chosen = families or ("facts", "decisions", "externals")
        return [move for family in chosen for move in getattr(self, f"_{family}")()]

    def build(self, kind: type[RecordBase], fields: dict[str, Any], **common: Any) -> Record:
        """Make a record at the next seq, without adding it to the log."""
        seq = self.state.head_seq + 1
        defaults = {
            "run_id": self.state.run_id,
            "seq": seq,
            "at": EPOCH + timedelta(seconds=seq),
            "scope": self.state.scope,
        }
        return kind(**{**defaults, **common, **fields})  # type: ignore[return-value]

    def settle(self) -> Record:
        """End the Run."""
        return self._add(r.RunSettled, {"state": TerminalState.COMPLETED})

    def _add(self, kind: type[RecordBase], fields: dict[str, Any]) -> Record:
        record = self.build(kind, fields)
        fold(self.state, record)
        self.records.append(record)
        return record

    def _new(self, prefix: str) -> str:
        return f"{prefix}{self.state.head_seq}_{self.rng.randrange(1_000_000)}"

    def _outcome(self) -> ToolOutcome:
        return self.rng.choice(list(ToolOutcome))

    # -- facts --------------------------------------------------------------------------------

    def _facts(self) -> Iterator[Move]:
        state = self.state
        number = state.attempt_count + 1
        yield (
            r.AttemptStarted,
            {"attempt_id": f"att_{number}", "attempt_number": number, "worker_id": "wrk_1"},
        )
        yield r.PolicyDecided, {"subject": "run", "allowed": True}
        yield r.PromptDefined, {"digest": self.rng.choice("ab"), "system_prompt": "Be brief."}
        yield from self._turn_facts()
        yield from self._call_facts()
        yield from self._step_facts()
        name = self.rng.choice(["ann", "bob"])
        if name not in state.live_child_names:
            yield (
                r.SubagentSpawned,
                {
                    "child_run_id": self._new("run_child"),
                    "name": name,
                    "call_id": self._new("call"),
                    "child_version_hash": "sha256:child",
                    "purpose": "p",
                    "task": "t",
                    "deliverable": "d",
                    "model": "m",
                    "delegation_depth": 1,
                },
            )
        if state.children:
            child = self.rng.choice(list(state.children.values()))
            yield (
                r.SubagentMessaged,
                {
                    "child_run_id": child.run_id,
                    "name": child.name,
                    "call_id": self._new("call"),
                    "entry_id": self._new("qe"),
                    "message": "hurry",
                },
            )

    def _turn_facts(self) -> Iterator[Move]:
        state = self.state
        open_steps = [
            step.step_id
            for step in state.steps.values()
            if step.kind == "agent" and not step.completed
        ]
        step_id = self.rng.choice([None, *open_steps])
        activation = state.activation(step_id)
        common = {"step_id": step_id, "turn": activation.turn}
        if activation.model_call_open:
            calls = tuple(
                ModelToolCall(
                    call_id=self._new(f"c{index}_"),
                    name=self.rng.choice(["refund", "lookup", "run_code"]),
                    arguments={"id": self.rng.randrange(2)},
                )
                for index in range(self.rng.randrange(4))
            )
            yield (
                r.ModelCallFinished,
                {
                    **common,
                    "model": "m",
                    "usage": Usage(input=self.rng.randrange(100), output=1),
                    "usage_reported": self.rng.random() < 0.8,
                    "cost": None,
                    "timings": ModelTimings(),
                    "finish_reason": "stop",
                    "calls": calls,
                },
            )
            yield (
                r.ModelCallFailed,
                {
                    **common,
                    "model": "m",
                    "failure": _FAILURE,
                    "will_retry": self.rng.random() < 0.5,
                },
            )
        elif activation.turn_open:
            digest = self.rng.choice([None, *state.prompts])
            yield r.ModelCallStarted, {**common, "model": "m", "prompt_digest": digest}
        elif not any(
            call.step_id == step_id
            for calls in (state.unanswered_calls, state.open_tool_calls)
            for call in calls.values()
        ):
            yield r.TurnStarted, {"step_id": step_id, "turn": state.turn + 1}

    def _call_facts(self) -> Iterator[Move]:
        state = self.state
        asked = [
            call
            for call in state.unanswered_calls.values()
            if call.call_id not in state.open_tool_calls
        ]
        if asked:
            call = self.rng.choice(asked)
            yield (
                r.ToolCallStarted,
                {
                    "call_id": call.call_id,
                    "tool": call.name,
                    "arguments": call.arguments,
                    "turn": call.turn,
                    "step_id": call.step_id,
                },
            )
            if call.call_id not in state.waits and call.call_id not in state.approvals:
                yield (
                    r.ApprovalOffered,
                    {
                        "wait_id": call.call_id,
                        "call_id": call.call_id,
                        "tool": call.name,
                        "expires_at": EPOCH + timedelta(days=1),
                        "step_id": call.step_id,
                    },
                )
        if not state.open_tool_calls:
            return
        running = self.rng.choice(list(state.open_tool_calls.values()))
        if running.tool == "run_code" and running.parent_call_id is None:
            yield (
                r.ToolCallStarted,
                {
                    "call_id": self._new("inner"),
                    "tool": "lookup",
                    "turn": running.turn,
                    "step_id": running.step_id,
                    "parent_call_id": running.call_id,
                },
            )
        about = {"call_id": running.call_id, "step_id": running.step_id}
        again = running.attempt_number + 1
        yield r.ToolCallRetried, {**about, "attempt_number": again}
        yield r.ToolCallReconciled, {**about, "verdict": "unknown"}
        yield r.ToolProgress, {**about, "message": "half", "fraction": 0.5}
        outcome = self._outcome()
        failed = outcome is not ToolOutcome.OK
        kind = self.rng.choice(["ValueError", "denied", "not_executed"])
        yield (
            r.ToolCallFinished,
            {
                **about,
                "outcome": outcome,
                "result": None if failed else {"n": self.rng.randrange(2)},
                "failure": ToolFailure(kind=kind, message="no") if failed else None,
            },
        )

    def _step_facts(self) -> Iterator[Move]:
        state = self.state
        kind = self.rng.choice(["agent", "tool", "set_state"])
        yield r.StepStarted, {"step_id": self._new("stp"), "name": "s", "kind": kind}
        if not state.steps:
            return
        step = self.rng.choice(list(state.steps.values()))
        about = {"step_id": step.step_id}
        if not step.settled:
            again = step.attempt_number + 1
            yield (
                r.StepStarted,
                {**about, "name": step.name, "kind": step.kind, "attempt_number": again},
            )
        if not step.completed:
            retry = self.rng.random() < 0.3
            yield (
                r.StepCompleted,
                {
                    **about,
                    "output": None if retry else {"value": self.rng.randrange(9)},
                    "failure": _FAILURE if retry else None,
                    "will_retry": retry,
                },
            )
            return
        undoing = state.compensations.get(step.step_id)
        undo = {**about, "tool": "undo", "call_id": f"undo_{step.step_id}"}
        if undoing is None:
            yield r.CompensationStarted, undo
        elif undoing.outcome is None:
            yield r.CompensationFinished, {**undo, "outcome": self._outcome()}

    # -- decisions ----------------------------------------------------------------------------

    def _decisions(self) -> Iterator[Move]:
        state = self.state
        reason = self.rng.choice(list(SuspendReason))
        wait: dict[str, Any] = {"wait_id": self._new("w"), "reason": reason}
        steps = [step.step_id for step in state.steps.values() if not step.completed]
        if steps and self.rng.random() < 0.5:
            wait["step_id"] = self.rng.choice(steps)
        offered = [wait for wait in state.waits.values() if wait.offered_only]
        if offered and self.rng.random() < 0.5:
            chosen = self.rng.choice(offered)
            if chosen.call_id not in state.result_positions:
                wait = {
                    "wait_id": chosen.wait_id,
                    "reason": SuspendReason.APPROVAL,
                    "pending_call_id": chosen.call_id,
                    "step_id": chosen.step_id,
                }
        yield r.Suspended, {**wait, "expires_at": EPOCH + timedelta(days=1)}
        if state.pending_queue:
            yield r.QueueConsumed, {"entry_id": self.rng.choice(list(state.pending_queue))}
        if state.signals:
            yield r.SignalConsumed, {"signal_id": self.rng.choice(list(state.signals))}
        boundary = state.activation(None).compaction_boundary_seq
        if boundary < state.head_seq:
            last = self.rng.randint(boundary + 1, state.head_seq)
            yield (
                r.CompactionApplied,
                {
                    "reason": "threshold",
                    "replaced_from_seq": boundary + 1,
                    "replaced_to_seq": last,
                    "summary": "so far",
                },
            )

    # -- externals ----------------------------------------------------------------------------

    def _externals(self) -> Iterator[Move]:
        state = self.state
        yield r.AbortRequested, {"reason": "stop"}
        yield r.RunPaused, {}
        yield r.RunUnpaused, {}
        yield r.SignalReceived, {"name": "go", "signal_id": self._new("sig")}
        queue = QueueKind.NEXT_RUN if state.aborted else self.rng.choice(list(QueueKind))
        yield r.QueueEnqueued, {"queue": queue, "entry_id": self._new("qe")}
        if state.pending_queue:
            yield r.QueueCancelled, {"entry_id": self.rng.choice(list(state.pending_queue))}
        waits = [*state.waits, *sorted(state.closed_waits)]
        if waits:
            wait_id = self.rng.choice(waits)
            yield r.Resumed, {"wait_id": wait_id, "payload": {"step_mode": True}}
            yield r.ApprovalDecided, {"wait_id": wait_id, "approved": self.rng.random() < 0.5}
            yield (
                r.WaitExpired,
                {"wait_id": wait_id, "reason": SuspendReason.APPROVAL, "action": "deny"},
            )
        if state.waits:
            yield r.Resumed, {"approved": True}
        if state.live_child_names:
            name, child_id = self.rng.choice(list(state.live_child_names.items()))
            yield (
                r.SubagentFinished,
                {"child_run_id": child_id, "name": name, "state": TerminalState.COMPLETED},
            )
        if state.tool_results:
            late = self.rng.choice(state.tool_results)
            yield r.ToolResultLate, {"call_id": late.call_id, "outcome": self._outcome()}
