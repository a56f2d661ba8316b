"""The answer, and the work behind it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from psych_runtime.log.values import ToolFailure, ToolOutcome
from psych_runtime.reads.answer import answer_of

NewLog = Callable[..., Any]


def test_one_tool_call_and_one_answer_read_1_turn_1_tool_call(new_log: NewLog) -> None:
    log = new_log().begun().turns("looking", [("c1", "look")]).run_call("c1").turns("A1 shipped")
    view = answer_of(log.run_id, log.records)
    assert view.summary() == "1 turn, 1 tool call"
    assert (view.text, view.finished, view.tool_call_count) == ("A1 shipped", True, 1)
    (turn,) = view.work
    assert (turn.turn, turn.text) == (1, "looking")
    (call,) = turn.tool_calls
    assert (call.tool, call.arguments, call.outcome) == ("look", {"n": "c1"}, ToolOutcome.OK)
    assert (call.result, call.duration_seconds) == ("ok", 1.0)
    assert call.finished_at is not None
    assert call.finished_at > call.started_at


def test_an_answer_without_work_has_no_summary(new_log: NewLog) -> None:
    log = new_log().begun().turns("hi")
    assert answer_of(log.run_id, log.records).summary() == ""


def test_an_unfinished_run_has_work_and_no_answer(new_log: NewLog) -> None:
    log = new_log().begun().turns("", [("c1", "look"), ("c2", "look")]).start("c1")
    view = answer_of(log.run_id, log.records)
    assert not view.finished
    assert view.text == ""
    assert view.summary() == "1 turn, 2 tool calls"
    asked_at = log.records[-2].at
    first, second = view.work[0].tool_calls
    assert first.outcome is None
    assert first.started_at == log.records[-1].at
    assert second.started_at == asked_at


def test_failed_calls_and_earlier_answers_are_work(new_log: NewLog) -> None:
    log = new_log().begun().ask()
    log.model_failed("m", failure=ToolFailure(kind="X", message="busy"), will_retry=True)
    log.turns("first answer").turns("second answer")
    view = answer_of(log.run_id, log.records)
    assert view.text == "second answer"
    assert [(turn.text, turn.failure_message) for turn in view.work] == [
        ("", "busy"), ("first answer", None),
    ]  # fmt: skip


def test_a_failed_tool_call_says_why(new_log: NewLog) -> None:
    log = new_log().begun().turns("", [("c1", "look")]).start("c1")
    log.finish("c1", outcome=ToolOutcome.ERROR, failure=ToolFailure(kind="X", message="no such"))
    (call,) = answer_of(log.run_id, log.records).work[0].tool_calls
    assert (call.outcome, call.failure_message, call.result) == (ToolOutcome.ERROR, "no such", None)
