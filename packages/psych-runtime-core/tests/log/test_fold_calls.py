from __future__ import annotations

from typing import Any

import pytest
from psych_runtime.log.fold.entries import RepeatTally
from psych_runtime.log.values import (
    MediaPart,
    ModelToolCall,
    ResultAttachment,
    ToolFailure,
    ToolOutcome,
)
from psych_runtime.testing.logs import LogBuilder


def asking(*calls: tuple[str, str, dict[str, Any]]) -> LogBuilder:
    log = LogBuilder().admitted().attempt().turn().model_started()
    return log.model_finished(calls=calls)


def one_more(log: LogBuilder, call_id: str, result: Any = None, **finished: Any) -> LogBuilder:
    outcome = finished.pop("outcome", ToolOutcome.OK)
    log.tool_started(call_id, "lookup", arguments={"b": 1, "a": {"y": 1, "x": 2}})
    return log.tool_finished(call_id, outcome, result=result, **finished)


def attachment(handle: str, sha256: str) -> ResultAttachment:
    return ResultAttachment(
        name="stdout",
        handle=handle,
        content_type="text/plain",
        size_bytes=10,
        observed_bytes=10,
        stored="blob",
        sha256=sha256 * 64,
    )


def test_a_requested_call_is_unanswered_until_it_has_a_result_in_the_models_order() -> None:
    log = asking(("a", "x", {"n": 1}), ("b", "y", {}), ("c", "z", {}))
    state = log.state()
    assert list(state.unanswered_calls) == ["a", "b", "c"]
    assert state.unanswered_calls["a"].arguments == {"n": 1}  # type: ignore[index]
    state = log.tool_started("b", "y").tool_started("a", "x").state()
    assert list(state.unanswered_calls) == ["a", "b", "c"]
    assert list(state.open_tool_calls) == ["b", "a"]
    state = log.tool_finished("b", result=[1]).state()
    assert list(state.unanswered_calls) == ["a", "c"]
    result = state.result_of("b")  # type: ignore[arg-type]
    assert result is not None
    assert (result.tool, result.result, result.turn) == ("y", [1], 1)
    assert result.result is log.records[-1].result  # type: ignore[union-attr]
    assert state.result_of("a") is None  # type: ignore[arg-type]
    assert state.has_dangling_tool_calls


def test_a_call_with_a_problem_stays_in_the_state_whole() -> None:
    call = ModelToolCall(
        call_id="a",
        name="x",
        raw_arguments="{",
        problem="malformed_arguments",
        wire_id="call_0",
    )
    log = LogBuilder().admitted().attempt().turn().model_started().model_finished(calls=[call])
    asked = log.state().unanswered_calls["a"]  # type: ignore[index]
    assert asked.call == call
    assert asked.problem == "malformed_arguments"


def test_a_crash_right_after_the_models_answer_loses_no_call() -> None:
    state = asking(("a", "x", {})).attempt(reclaimed=True).state()
    assert list(state.unanswered_calls) == ["a"]
    assert not state.open_tool_calls


def test_an_open_call_knows_what_recovery_needs() -> None:
    log = asking(("a", "x", {}))
    log.tool_started("a", "x", safe_to_retry=True, read_only=True, interruptible=False)
    log.attempt(reclaimed=True)
    call = log.state().open_tool_calls["a"]  # type: ignore[index]
    assert (call.safe_to_retry, call.read_only, call.interruptible) == (True, True, False)
    assert (call.attempt_number, call.attempt_count, call.verdict) == (1, 1, None)
    log.tool_reconciled("a", "did_not_happen").tool_retried("a", 2)
    call = log.state().open_tool_calls["a"]  # type: ignore[index]
    assert (call.attempt_number, call.attempt_count) == (2, 2)
    assert call.verdict == "did_not_happen"


def test_a_late_result_is_kept_and_does_not_reopen_the_call() -> None:
    log = asking(("a", "x", {})).tool_started("a", "x").tool_finished("a", ToolOutcome.UNKNOWN)
    before = log.state()
    state = log.tool_late("a", result={"n": 1}).tool_late("a", result={"n": 2}).state()
    assert state.late_results["a"].result == {"n": 1}  # type: ignore[index]
    assert not state.open_tool_calls
    assert state.tool_results == before.tool_results
    assert state.failure_streaks == before.failure_streaks == {"x": 1}


def test_progress_is_kept_while_the_call_runs() -> None:
    log = asking(("a", "x", {})).tool_started("a", "x").tool_progress("a", "half", fraction=0.5)
    progress = log.state().tool_progress["a"]  # type: ignore[index]
    assert (progress.message, progress.fraction) == ("half", 0.5)
    assert not log.tool_finished("a").tool_progress("a").state().tool_progress


@pytest.mark.parametrize(
    ("outcome", "kind", "streak"),
    [
        (ToolOutcome.OK, None, {}),
        (ToolOutcome.ERROR, "ValueError", {"lookup": 2}),
        (ToolOutcome.ERROR, None, {"lookup": 2}),
        (ToolOutcome.UNKNOWN, "orphaned", {"lookup": 2}),
        (ToolOutcome.ABORTED, "aborted", {"lookup": 1}),
        (ToolOutcome.ERROR, "not_executed", {"lookup": 1}),
        (ToolOutcome.ERROR, "denied", {"lookup": 1}),
        (ToolOutcome.ERROR, "approval_expired", {"lookup": 1}),
        (ToolOutcome.ERROR, "duplicate_call_id", {"lookup": 1}),
    ],
)
def test_the_failure_streak_counts_what_the_tool_did(
    outcome: ToolOutcome, kind: str | None, streak: dict[str, int]
) -> None:
    log = one_more(LogBuilder().admitted().attempt(), "a", outcome=ToolOutcome.ERROR)
    failure = ToolFailure(kind=kind, message="no") if kind else None
    assert one_more(log, "b", outcome=outcome, failure=failure).state().failure_streaks == streak


def tally(log: LogBuilder) -> RepeatTally:
    (only,) = log.state().repeat_counts.values()
    return only


def test_repetition_counts_the_same_result_in_a_row() -> None:
    log = LogBuilder().admitted().attempt()
    one_more(one_more(log, "a", {"n": 1}), "b", {"n": 1})
    assert tally(log).count == 2
    assert tally(one_more(log, "c", outcome=ToolOutcome.ERROR)).count == 2
    assert tally(one_more(log, "d", {"n": 2})).count == 1
    # The order in which the model wrote the arguments does not matter.
    log.tool_started("e", "lookup", arguments={"a": {"x": 2, "y": 1}, "b": 1})
    assert tally(log.tool_finished("e", result={"n": 2})).count == 2
    # What a person changed is what the tool was called with.
    log.tool_started("f", "lookup", arguments={"b": 1, "a": {"y": 1, "x": 2}})
    log.tool_finished("f", result={"n": 2}, arguments={"b": 9})
    assert len(log.state().repeat_counts) == 2


def test_repetition_sees_through_handles_and_blob_keys() -> None:
    def offloaded(call_id: str, digest: str) -> dict[str, Any]:
        return {
            "result_handle": f"res_{call_id}",
            "preview": "same beginning",
            "result_bytes": 100_000,
            "result_blob_key": f"acme/run_test/{call_id}",
            "result_content_type": "text/plain",
            "result_digest": digest,
        }

    log = LogBuilder().admitted().attempt()
    for call_id in ("a", "b"):
        one_more(log, call_id, **offloaded(call_id, "sha256:one"))
    assert tally(log).count == 2
    assert tally(one_more(log, "c", **offloaded("c", "sha256:two"))).count == 1

    files = LogBuilder().admitted().attempt()
    for call_id in ("a", "b"):
        one_more(files, call_id, attachments=(attachment(f"res_{call_id}", "0"),))
    assert tally(files).count == 2
    assert tally(one_more(files, "c", attachments=(attachment("res_c", "1"),))).count == 1

    parts = LogBuilder().admitted().attempt()
    for call_id in ("a", "b"):
        part = MediaPart(kind="image", content_type="image/png", handle=call_id, data=b"png")
        one_more(parts, call_id, parts=(part,))
    assert tally(parts).count == 2


def test_odd_text_does_not_stop_the_fold() -> None:
    log = LogBuilder().admitted().attempt()
    for call_id in ("a", "b"):
        log.tool_started(call_id, "t", arguments={"\ud800": float("nan")})
        part = MediaPart(kind="text", text="\ud800", name="\udc00", data=b"\xff")
        log.tool_finished(call_id, result="\udfff", parts=(part,))
    assert tally(log).count == 2


def test_handles_are_known_and_may_be_read() -> None:
    log = LogBuilder().admitted().attempt()
    one_more(log, "a", result_handle="res_a", attachments=(attachment("res_a_out", "0"),))
    assert log.state().result_handles == {"res_a": "a", "res_a_out": "a"}
    for call_id, handle in (("b", "res_a"), ("c", "res_a_out")):
        log.tool_started(call_id, "read_tool_output", arguments={"handle": handle})
        log.tool_finished(call_id)
    # A model that makes a handle up gets an error, which is no corruption.
    log.tool_started("d", "read_tool_output", arguments={"handle": "made up"})
    log.tool_finished("d", ToolOutcome.ERROR).state()


def test_programs_and_their_calls_are_told_apart() -> None:
    log = asking(("p", "run_code", {})).tool_started("p", "run_code")
    log.tool_started("p1", "lookup", parent_call_id="p")
    state = log.state()
    assert state.program_call_ids == {"p"}
    assert state.program_binding_call_ids == {"p1"}
    log.tool_finished("p1", result_handle="res_p1", result_bytes=500)
    log.tool_finished("p", attachments=(attachment("res_p", "0"),), result_bytes=7)
    state = log.state()
    assert state.program_binding_call_ids == set()
    assert state.program_tool_calls == 1
    assert state.program_preserved_bytes == 510
    assert state.result_of("p1").parent_call_id == "p"  # type: ignore[arg-type, union-attr]
