from __future__ import annotations

from psych_runtime.log.values import QueueKind, TerminalState, ToolFailure, ToolOutcome
from psych_runtime.spec.components import Metric
from psych_runtime.spec.tasks import Task
from psych_runtime.spec.usage import Usage
from psych_runtime.testing.logs import LogBuilder


def log() -> LogBuilder:
    return LogBuilder().admitted().attempt()


def test_messages_wait_in_order_until_they_are_delivered_or_taken_back() -> None:
    built = log().enqueued("1").enqueued("2", QueueKind.FOLLOW_UP).enqueued("3")
    built.enqueued("4", QueueKind.NEXT_RUN).enqueued("5")
    state = built.state()
    assert [entry.entry_id for entry in state.pending_steer] == ["1", "3", "5"]
    assert [entry.entry_id for entry in state.pending_follow_up] == ["2"]
    assert [entry.entry_id for entry in state.pending_next_run] == ["4"]
    assert state.pending_steer[0].payload == {"message": "message 1"}
    assert state.pending_steer[0].enqueued_seq == 3
    state = built.consumed("1").cancelled("3").cancelled("2").state()
    assert [entry.entry_id for entry in state.pending_steer] == ["5"]
    assert state.pending_follow_up == []


def test_signals_wait_until_a_step_takes_them() -> None:
    built = log().signal("1", "paid", payload={"sum": 3}, by="ann").signal("2")
    state = built.state()
    assert (state.signals["1"].name, state.signals["1"].payload) == ("paid", {"sum": 3})
    assert list(built.signal_consumed("1").state().signals) == ["2"]


def test_a_step_is_remembered_with_its_latest_attempt() -> None:
    failure = ToolFailure(kind="E", message="no")
    built = log().step_started("s", "pay", "tool", path=("pay",), input={"sum": 1}, iteration=2)
    state = built.state()
    assert not state.steps["s"].completed  # type: ignore[index]
    built.step_completed("s", failure=failure, will_retry=True)
    step = built.state().steps["s"]  # type: ignore[index]
    assert (step.completed, step.settled, step.failure) == (True, False, failure)
    built.step_started("s", "pay", attempt_number=2).step_completed("s", output={"ok": True})
    state = built.state()
    step = state.steps["s"]  # type: ignore[index]
    assert (step.attempt_number, step.settled, step.output) == (2, True, {"ok": True})
    assert (step.failure, step.started_seq, step.completed_seq) == (None, 5, 6)
    assert state.step_starts == 2


def test_only_set_state_updates_the_workflow_state() -> None:
    failure = ToolFailure(kind="E", message="no")
    built = log()
    for step_id, kind, done in (
        ("1", "set_state", {"output": {"a": 1, "b": 1}}),
        ("2", "tool", {"output": {"a": 2}}),
        ("3", "set_state", {"output": {"a": 3}}),
        ("4", "set_state", {"skipped": True}),
        ("5", "set_state", {"failure": failure}),
    ):
        built.step_started(step_id, kind=kind).step_completed(step_id, **done)
    assert built.state().workflow_state_updates == {"a": 3, "b": 1}


def test_compensation_is_started_again_after_a_crash() -> None:
    built = log().step_started("s").step_completed("s").compensation_started("s", "refund")
    undoing = built.state().compensations["s"]  # type: ignore[index]
    assert (undoing.tool, undoing.outcome) == ("refund", None)
    built.attempt(reclaimed=True).compensation_started("s", "refund")
    built.compensation_finished("s", ToolOutcome.ERROR, "refund")
    assert built.state().compensations["s"].outcome is ToolOutcome.ERROR  # type: ignore[index]


def test_children_are_alive_until_they_report() -> None:
    built = log().spawned("run_a", "ann", background=False).spawned("run_b", "bob")
    built.messaged_child("run_a", "ann").messaged_child("run_a", "ann")
    state = built.state()
    assert [child.name for child in state.live_children] == ["ann", "bob"]
    assert state.children["run_a"].messages_sent == 2  # type: ignore[index]
    assert not state.children["run_a"].background  # type: ignore[index]
    built.child_finished(
        "run_a", "ann", usage=Usage(input=3), unreported_usage_calls=1, unpriced_model_calls=2
    )
    state = built.state()
    ann = state.children["run_a"]  # type: ignore[index]
    assert (ann.alive, ann.terminal_state) == (False, TerminalState.COMPLETED)
    assert (ann.usage, ann.unreported_usage_calls) == (Usage(input=3), 1)
    assert (ann.unpriced_model_calls, ann.output) == (2, {"text": "done"})
    assert [child.name for child in state.live_children] == ["bob"]
    assert state.usage == Usage()


def test_the_plan_is_replaced_and_components_pile_up() -> None:
    one, two = Task(title="one"), Task(title="two")
    shown = Metric(kind="metric", label="Orders", value=3)
    built = log().tasks(one).tasks(one, two).component(shown).component(shown)
    state = built.policy(allowed=False).state()
    assert state.tasks == (one, two)
    assert state.components == [shown, shown]
