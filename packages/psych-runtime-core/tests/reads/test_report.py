"""The report of a Run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from psych_runtime.ids import RunId
from psych_runtime.log.values import (
    ModelTimings,
    SuspendReason,
    TerminalState,
    ToolFailure,
    ToolOutcome,
)
from psych_runtime.ports.store import RunHeader, RunState
from psych_runtime.reads.report import RunReport, build_report, child_run_ids
from psych_runtime.reads.report.latency import covered_seconds
from psych_runtime.spec.agent import AgentSpec
from psych_runtime.spec.definitions import ToolDefinition
from psych_runtime.spec.limits import Limits
from psych_runtime.spec.model import ModelRef
from psych_runtime.spec.usage import Cost, Usage
from psych_runtime.spec.version import make_version
from psych_runtime.testing.logs import EPOCH

NewLog = Callable[..., Any]
Build = Callable[..., RunReport]


@pytest.fixture
def build() -> Build:
    spec = AgentSpec(
        name="support",
        model=ModelRef(model="m"),
        limits=Limits(failure_streak_threshold=2, failure_streak_hard_stop=6),
    )
    version = make_version(spec)

    def make(log: Any, children: Mapping[RunId, RunReport] | None = None) -> RunReport:
        header = RunHeader(
            run_id=log.run_id,
            scope=log.scope,
            version_hash=version.hash,
            state=RunState.RUNNING,
            created_at=EPOCH,
            deadline_at=EPOCH + timedelta(minutes=15),
            head_seq=len(log.records),
        )
        return build_report(header, log.records, version, children or {})

    return make


def test_a_run_with_a_tool_call(new_log: NewLog, build: Build) -> None:
    log = new_log().admitted(input={"message": "hi"}, continues_run_id="run_0").attempt()
    tool = ToolDefinition(name="look", description="Look.", input_schema={"type": "object"})
    log.prompt("d1", "Be kind.", tools=(tool,))
    log.ask(prompt_digest="d1").say("looking", [("c1", "look")], reasoning="hm").run_call("c1")
    log.turns("done").settle(output={"text": "done"})
    report = build(log)
    assert (report.spec_name, report.continues_run_id) == ("support", "run_0")
    assert report.admitted_at == EPOCH
    assert report.settled_at == log.records[-1].at
    assert (report.terminal_state, report.output) == (TerminalState.COMPLETED, {"text": "done"})
    first, second = report.model_calls
    assert (first.system_prompt, first.tool_names) == ("Be kind.", ("look",))
    assert (first.text, first.reasoning, first.tool_call_ids) == ("looking", "hm", ("c1",))
    assert first.finished_at is not None
    assert first.finished_at - first.started_at == timedelta(seconds=1)
    assert (second.dangling, second.turn) == (False, 2)
    (call,) = report.tool_calls
    assert (call.tool, call.outcome, call.attempts) == ("look", ToolOutcome.OK, 1)
    assert (call.reconciliation, call.late_result) == (None, None)
    totals = report.totals
    assert totals.usage == Usage(input=20, output=10)
    assert totals.cost is not None
    assert totals.cost.amount == Decimal("0.02")
    assert (totals.model_calls, totals.tool_calls, totals.usage_source) == (2, 1, "provider")
    assert report.subtree is None


def test_a_failed_and_a_dangling_model_call(new_log: NewLog, build: Build) -> None:
    failure = ToolFailure(kind="TransientError", message="busy")
    log = new_log().begun().ask().model_failed("m", failure=failure, will_retry=True).ask()
    log.attempt().turns("ok")
    failed, lost, done = build(log).model_calls
    assert (failed.failure, failed.will_retry, failed.dangling) == (failure, True, False)
    assert (lost.dangling, lost.finished_at, lost.usage) == (True, None, None)
    assert not done.dangling


def test_a_call_that_was_executed_again_reconciled_and_reported_late(
    new_log: NewLog, build: Build
) -> None:
    log = new_log().begun().turns("", [("c1", "pay"), ("c2", "pay")]).start("c1").start("c2")
    log.attempt().tool_retried("c1", 2).finish("c1")
    log.tool_reconciled("c2", "unknown", detail="the bank is down")
    log.finish("c2", outcome=ToolOutcome.UNKNOWN)
    log.tool_late("c2", result={"id": 7})
    first, second = build(log).tool_calls
    assert (first.attempts, first.outcome) == (2, ToolOutcome.OK)
    assert (second.reconciliation, second.reconciliation_detail) == ("unknown", "the bank is down")
    assert second.outcome is ToolOutcome.UNKNOWN
    assert second.late_result is not None
    assert second.late_result.result == {"id": 7}
    assert second.late_result.at == log.records[-1].at


def test_the_waits_and_how_they_ended(new_log: NewLog, build: Build) -> None:
    log = new_log().begun().turns("", [(f"c{n}", "pay") for n in range(3)])
    for number in range(3):
        log.offered(f"c{number}", "pay")
    for number in range(3):
        log.suspended(pending_call_id=f"c{number}", question=f"pay {number}?")
    log.decided("c1", False, by="kim").wait_expired("c0")
    log.suspended(pending_call_id="c2", question="pay 2?")
    log.resumed(approved=True, resumed_by="lee", payload={"note": 1})
    log.suspended(SuspendReason.TIMER, step_id="s", wake_at=log.now)
    first, second, third, timer = build(log).suspensions
    assert (first.expiry_action, first.approved, first.resumed_at) == ("deny", None, None)
    assert first.expired_at is not None
    assert (second.approved, second.resumed_by, second.question) == (False, "kim", "pay 1?")
    assert (third.approved, third.resumed_by, third.payload) == (True, "lee", {"note": 1})
    assert (timer.reason, timer.wake_at) == (SuspendReason.TIMER, log.records[-1].wake_at)
    assert timer.resumed_at is None


def test_when_a_tool_reached_the_threshold(new_log: NewLog, build: Build) -> None:
    log = new_log().begun()
    failure = ToolFailure(kind="boom", message="no")
    for number in range(4):
        log.turns("", [(f"c{number}", "look")]).start(f"c{number}")
        if number == 2:
            log.finish(f"c{number}", outcome=ToolOutcome.ABORTED)
        else:
            log.finish(f"c{number}", outcome=ToolOutcome.ERROR, failure=failure)
    (trip,) = build(log).failure_streak_trips
    assert (trip.tool, trip.call_id, trip.streak, trip.threshold) == ("look", "c1", 2, 2)


@pytest.mark.parametrize(
    ("reported", "source"),
    [((True, True), "provider"), ((True, False), "partial"), ((False, False), "unknown")],
)
def test_c90_where_the_counters_come_from(
    new_log: NewLog, build: Build, reported: tuple[bool, bool], source: str
) -> None:
    log = new_log().begun()
    for each in reported:
        log.turns("x", usage=Usage() if not each else Usage(input=1), usage_reported=each)
    totals = build(log).totals
    assert totals.usage_source == source
    assert totals.unreported_usage_calls == reported.count(False)


def test_an_unpriced_call_makes_the_cost_incomplete(new_log: NewLog, build: Build) -> None:
    totals = build(new_log().begun().turns("a").turns("b", cost=None)).totals
    assert totals.cost is not None
    assert totals.cost.amount == Decimal("0.01")
    assert (totals.unpriced_model_calls, totals.cost_is_incomplete) == (1, True)


def test_waiting_is_its_own_time_and_not_unaccounted(new_log: NewLog, build: Build) -> None:
    log = new_log().begun().ask()
    log.say("", [("c1", "pay")], timings=ModelTimings(stream_duration_seconds=1.0))
    log.offered("c1").suspended(pending_call_id="c1")
    log.decided("c1", seconds=3600.0).attempt()
    log.run_call("c1", duration_seconds=1.0)
    latency = build(log).totals.latency
    assert latency.suspended_seconds == 3600.0
    assert latency.model_seconds == 1.0
    assert latency.tool_seconds == 1.0
    assert latency.wall_clock_seconds == 3609.0
    assert latency.unaccounted_seconds == pytest.approx(7.0)


def test_parallel_tools_never_make_the_rest_negative(new_log: NewLog, build: Build) -> None:
    log = new_log().begun().turns("", [(f"c{n}", "look") for n in range(4)])
    for number in range(4):
        log.start(f"c{number}", seconds=0.0)
    for number in range(4):
        log.finish(f"c{number}", seconds=10.0 if number == 0 else 0.0, duration_seconds=10.0)
    latency = build(log).totals.latency
    assert latency.tool_seconds == 40.0
    assert latency.wall_clock_seconds == 14.0
    assert latency.unaccounted_seconds == pytest.approx(3.5)


def test_intervals_are_united_and_cut_to_the_run() -> None:
    def at(seconds: float) -> Any:
        return EPOCH + timedelta(seconds=seconds)

    spans = [(at(1), at(4)), (at(2), at(3)), (at(3), at(5)), (at(-5), at(0.5)), (at(9), at(20))]
    assert covered_seconds(spans, at(0), at(10)) == pytest.approx(0.5 + 4 + 1)
    assert covered_seconds([(at(5), at(4))], at(0), at(10)) == 0.0


def test_step_attempts(new_log: NewLog, build: Build) -> None:
    failure = ToolFailure(kind="x", message="y")
    log = new_log().begun().step_started("s1", "draft", input={"a": 1}, path=("w", 0))
    log.step_completed("s1", failure=failure, will_retry=True)
    log.step_started("s1", "draft", attempt_number=2).step_completed("s1", output={"ok": True})
    log.step_started("s2", "send").step_completed("s2", skipped=True)
    first, second, third = build(log).steps
    assert (first.attempt_number, first.failure, first.will_retry) == (1, failure, True)
    assert (second.attempt_number, second.output, second.completed) == (2, {"ok": True}, True)
    assert (third.skipped, third.output) == (True, None)


def test_a27_children_count_in_the_subtree_as_their_parent_recorded_them(
    new_log: NewLog, build: Build
) -> None:
    log = new_log().begun().turns("a", [("c1", "delegate")]).start("c1")
    log.spawned("kim", "kim", background=False).spawned("lee", "lee").messaged_child("lee", "lee")
    log.child_finished(
        "kim",
        "kim",
        usage=Usage(input=7),
        cost=Cost(amount=Decimal("0.50"), model="m"),
        unreported_usage_calls=2,
        unpriced_model_calls=1,
    )
    report = build(log)
    kim, lee = report.subagents
    assert (kim.background, kim.terminal_state) == (False, TerminalState.COMPLETED)
    assert (kim.usage, kim.unreported_usage_calls) == (Usage(input=7), 2)
    assert (lee.messages_sent, lee.terminal_state) == (1, None)
    assert report.subtree is not None
    assert report.subtree.usage == Usage(input=17, output=5)
    assert report.subtree.cost is not None
    assert report.subtree.cost.amount == Decimal("0.51")
    assert (report.subtree.unreported_usage_calls, report.subtree.unpriced_model_calls) == (2, 1)
    assert (report.subtree.cost_is_incomplete, report.subtree.complete) == (True, False)
    assert report.subtree.runs == 3
    assert report.totals.usage == Usage(input=10, output=5)
    assert child_run_ids(log.records) == ("kim", "lee")


def test_a_childs_own_report_takes_the_place_of_what_its_parent_knows(
    new_log: NewLog, build: Build
) -> None:
    child = build(new_log("kim").begun().turns("x").turns("y"))
    log = new_log().begun().turns("a").spawned("kim", "kim").settle()
    report = build(log, {RunId("kim"): child})
    (kim,) = report.subagents
    assert kim.report == child
    assert kim.usage == Usage(input=20, output=10)
    assert report.subtree is not None
    assert report.subtree.usage == Usage(input=30, output=15)
    assert not report.subtree.complete


def test_costs_in_another_currency_are_left_out_and_said_to_be(
    new_log: NewLog, build: Build
) -> None:
    log = new_log().begun().turns("a").spawned("kim", "kim")
    euros = Cost(amount=Decimal("9"), currency="EUR", model="m")
    log.child_finished("kim", "kim", cost=euros).settle()
    subtree = build(log).subtree
    assert subtree is not None
    assert subtree.cost is not None
    assert (subtree.cost.currency, subtree.cost.amount) == ("USD", Decimal("0.01"))
    assert subtree.cost_is_incomplete


def test_summaries_are_reported_and_paid_for(new_log: NewLog, build: Build) -> None:
    log = new_log().begun().turns("a")
    log.compacted(
        1, 3, summary="s", usage=Usage(input=3), usage_reported=True,
        timings=ModelTimings(stream_duration_seconds=0.25),
    )  # fmt: skip
    report = build(log)
    (row,) = report.compactions
    assert (row.summary, row.replaced_to_seq, row.seq) == ("s", 3, len(log.records))
    assert report.totals.usage == Usage(input=13, output=5)
    assert (report.totals.compaction_calls, report.totals.model_calls) == (1, 1)
    assert report.totals.latency.compaction_seconds == 0.25


def test_a_report_survives_json(new_log: NewLog, build: Build) -> None:
    child = build(new_log("kim").begun().turns("x"))
    log = new_log().begun().turns("a", [("c1", "look")]).run_call("c1").spawned("kim", "kim")
    report = build(log, {RunId("kim"): child})
    assert RunReport.model_validate_json(report.model_dump_json()) == report


def test_a_subtree_is_complete_once_every_run_in_it_has_ended(
    new_log: NewLog, build: Build
) -> None:
    log = new_log().begun().spawned("kim", "kim").child_finished("kim", "kim")
    log.step_started("s1").step_completed("s1", child_run_id="lee")

    def complete(children: Mapping[RunId, RunReport] | None = None) -> bool:
        subtree = build(log, children).subtree
        assert subtree is not None
        return subtree.complete

    lee = build(new_log("lee").begun().settle())
    assert not complete({RunId("lee"): lee})
    log.settle()
    assert complete({RunId("lee"): lee})
    assert not complete()
