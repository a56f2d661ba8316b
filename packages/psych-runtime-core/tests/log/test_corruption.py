"""Every reason for refusing a log, with the smallest log that shows it."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import pytest
from psych_runtime.log.corruption import CorruptionReason, CorruptLog
from psych_runtime.log.fold import reduce
from psych_runtime.log.values import QueueKind, SuspendReason, ToolFailure, ToolOutcome
from psych_runtime.scope import Scope
from psych_runtime.spec.usage import Cost
from psych_runtime.testing.logs import LogBuilder


def log() -> LogBuilder:
    return LogBuilder().admitted().attempt()


def asking(*call_ids: str) -> LogBuilder:
    calls: list[tuple[str, str, dict[str, object]]] = [
        (call_id, "refund", {}) for call_id in call_ids
    ]
    return log().turn().model_started().model_finished(calls=calls)


def cost(currency: str) -> Cost:
    return Cost(amount=Decimal(1), currency=currency, model="m")


FAILED = ToolFailure(kind="E", message="no")
CASES: list[tuple[str, Callable[[], LogBuilder]]] = [
    # two operations at once
    ("multiple_open_operations", lambda: log().admitted()),
    ("multiple_open_operations", lambda: log().turn().turn()),
    ("multiple_open_operations", lambda: log().turn(step_id="a").turn(step_id="a")),
    ("multiple_open_operations", lambda: log().turn().model_started().model_started()),
    ("multiple_open_operations", lambda: asking("c").offered("c").offered("c")),
    (
        "multiple_open_operations",
        lambda: asking("c").suspended(pending_call_id="c").suspended(pending_call_id="c"),
    ),
    (
        "multiple_open_operations",
        lambda: asking("c").offered("c").suspended(SuspendReason.QUESTION, pending_call_id="c"),
    ),
    ("multiple_open_operations", lambda: log().spawned("run_a", "ann").spawned("run_b", "ann")),
    ("multiple_open_operations", lambda: log().spawned("run_a", "ann").spawned("run_a", "bob")),
    (
        "multiple_open_operations",
        lambda: log().spawned("run_a").child_finished("run_a").child_finished("run_a"),
    ),
    # what never began
    ("unknown_operation", lambda: LogBuilder().attempt()),
    ("unknown_operation", lambda: LogBuilder().abort()),
    ("unknown_operation", lambda: log().model_started()),
    ("unknown_operation", lambda: log().turn().model_started(turn=2)),
    ("unknown_operation", lambda: log().turn(step_id="a").model_started(step_id="b", turn=1)),
    ("unknown_operation", lambda: log().turn().model_started(prompt_digest="sha256:none")),
    ("unknown_operation", lambda: log().turn().model_finished()),
    ("unknown_operation", lambda: log().turn().model_started().model_failed().model_failed()),
    ("unknown_operation", lambda: log().turn().model_started().attempt().model_finished()),
    ("unknown_operation", lambda: log().tool_started("c", turn=2)),
    ("unknown_operation", lambda: asking("c").tool_started("c", turn=2)),
    ("unknown_operation", lambda: log().tool_started("c", parent_call_id="nobody")),
    ("unknown_operation", lambda: log().messaged_child("run_a")),
    ("unknown_operation", lambda: log().child_finished("run_a")),
    ("unknown_operation", lambda: log().resumed()),
    ("unknown_operation", lambda: log().resumed(wait_id="w")),
    ("unknown_operation", lambda: log().decided("w")),
    ("unknown_operation", lambda: log().wait_expired("w")),
    ("unknown_operation", lambda: log().abort(run_id="run_other")),
    ("unknown_operation", lambda: log().abort(scope=Scope(tenant="other"))),
    # the end is the end
    ("record_after_finish", lambda: log().settled().settled()),
    ("record_after_finish", lambda: log().settled().abort()),
    ("record_after_finish", lambda: log().settled().abort(seq=9)),
    # numbers
    ("non_consecutive_seq", lambda: log().abort(seq=4)),
    ("non_consecutive_seq", lambda: log().abort(seq=2)),
    ("non_consecutive_attempt", lambda: log().attempt(attempt_number=3)),
    ("non_consecutive_attempt", lambda: log().attempt(attempt_number=1)),
    ("non_consecutive_attempt", lambda: log().turn(turn=2)),
    ("non_consecutive_attempt", lambda: log().turn(step_id="a").turn(step_id="b", turn=1)),
    ("non_consecutive_attempt", lambda: log().step_started("s", attempt_number=2)),
    ("non_consecutive_attempt", lambda: log().step_started("s").step_started("s")),
    ("non_consecutive_attempt", lambda: log().tool_started("c").tool_retried("c", 3)),
    # messages and signals
    ("queue_after_abort", lambda: log().abort().enqueued("e")),
    ("queue_after_abort", lambda: log().abort().enqueued("e", QueueKind.FOLLOW_UP)),
    ("invalid_queue_cancellation", lambda: log().cancelled("e")),
    ("invalid_queue_cancellation", lambda: log().enqueued("e").cancelled("e").cancelled("e")),
    ("invalid_queue_cancellation", lambda: log().enqueued("e").consumed("e").cancelled("e")),
    ("provisioned_entry_mismatch", lambda: log().consumed("e")),
    ("provisioned_entry_mismatch", lambda: log().enqueued("e").enqueued("e")),
    ("provisioned_entry_mismatch", lambda: log().enqueued("e").consumed("e").enqueued("e")),
    ("provisioned_entry_mismatch", lambda: log().enqueued("e").cancelled("e").consumed("e")),
    ("provisioned_entry_mismatch", lambda: log().signal("s").signal("s")),
    ("provisioned_entry_mismatch", lambda: log().signal_consumed("s")),
    (
        "provisioned_entry_mismatch",
        lambda: log().signal("s").signal_consumed("s").signal_consumed("s"),
    ),
    # steps
    ("inconsistent_step", lambda: log().step_completed("s")),
    ("inconsistent_step", lambda: log().step_started("s").step_completed("s").step_completed("s")),
    (
        "inconsistent_step",
        lambda: log().step_started("s").step_completed("s").step_started("s", attempt_number=2),
    ),
    ("inconsistent_step", lambda: log().step_started("s").compensation_started("s")),
    ("inconsistent_step", lambda: log().step_started("s").compensation_finished("s")),
    (
        "inconsistent_step",
        lambda: (
            log()
            .step_started("s")
            .step_completed("s")
            .compensation_started("s")
            .compensation_finished("s")
            .compensation_started("s")
        ),
    ),
    # tool calls
    ("tool_call_mismatch", lambda: asking("c").tool_finished("c")),
    ("tool_call_mismatch", lambda: log().tool_started("c").tool_finished("c").tool_finished("c")),
    ("tool_call_mismatch", lambda: log().tool_retried("c")),
    ("tool_call_mismatch", lambda: log().tool_reconciled("c")),
    ("tool_call_mismatch", lambda: log().tool_progress("c")),
    ("tool_call_mismatch", lambda: log().tool_late("c")),
    ("tool_call_mismatch", lambda: log().offered("c")),
    ("tool_call_mismatch", lambda: log().suspended(pending_call_id="c")),
    (
        "tool_call_mismatch",
        lambda: log().tool_started("c").tool_finished("c").offered("c", step_id="s"),
    ),
    ("duplicate_tool_invocation", lambda: log().tool_started("c").tool_started("c")),
    (
        "duplicate_tool_invocation",
        lambda: log().tool_started("c").tool_finished("c").tool_started("c"),
    ),
    ("duplicate_tool_invocation", lambda: asking("c", "c")),
    (
        "duplicate_tool_invocation",
        lambda: asking("c").turn().model_started().model_finished(calls=[("c", "refund", {})]),
    ),
    (
        "invalid_deferred_handle",
        lambda: (
            log()
            .tool_started("c", "read_tool_output", arguments={"handle": "res_x"})
            .tool_finished("c")
        ),
    ),
    # compaction and money
    ("invalid_compaction_reason", lambda: log().compacted(2, 1)),
    ("invalid_compaction_reason", lambda: log().compacted(1, 3)),
    ("invalid_compaction_reason", lambda: log().compacted(1, 2).compacted(2, 3)),
    (
        "inconsistent_cost",
        lambda: (
            log()
            .turn()
            .model_started()
            .model_finished(cost=cost("USD"))
            .turn()
            .model_started()
            .model_failed(cost=cost("EUR"), usage={})
        ),
    ),
    (
        "inconsistent_cost",
        lambda: log().compacted(1, 1, cost=cost("USD")).compacted(2, 2, cost=cost("EUR")),
    ),
]


@pytest.mark.parametrize(
    ("reason", "build"), CASES, ids=[f"{n}-{reason}" for n, (reason, _) in enumerate(CASES)]
)
def test_the_last_record_is_refused_with_its_reason(
    reason: str, build: Callable[[], LogBuilder]
) -> None:
    built = build()
    *legal, last = built.records
    prior = reduce(legal) if legal else None
    with pytest.raises(CorruptLog) as caught:
        reduce([last], prior=prior)
    assert caught.value.reason == reason
    assert caught.value.seq == last.seq
    assert last.type in caught.value.detail


def test_every_reason_is_shown() -> None:
    shown = {reason for reason, _ in CASES}
    # A body that cannot be read never reaches the fold: see test_codec.
    assert shown == {*CorruptionReason} - {CorruptionReason.UNREADABLE_RECORD}


def test_what_looks_like_it_and_is_legal() -> None:
    """The other side of the rules above: each of these folds."""
    legal = [
        log().turn(step_id="a").turn(step_id="b").turn(),
        log().turn().attempt().turn(),
        log().turn().model_started().attempt().turn().model_started(),
        log().abort().enqueued("e", QueueKind.NEXT_RUN).abort(),
        log().step_started("s").step_started("s", attempt_number=2),
        log()
        .step_started("s")
        .step_completed("s", failure=FAILED, will_retry=True)
        .step_started("s", attempt_number=2),
        log().spawned("run_a", "ann").child_finished("run_a", "ann").spawned("run_b", "ann"),
        log().spawned("run_a").child_finished("run_a").messaged_child("run_a"),
        log().compacted(1, 1).compacted(2, 2).compacted(1, 3, step_id="s"),
        log().suspended(SuspendReason.TIMER).resumed(wait_id="wait").resumed(wait_id="wait"),
        log().suspended(SuspendReason.TIMER).resumed().suspended(SuspendReason.TIMER),
        asking("c").tool_started("c").tool_finished("c", ToolOutcome.UNKNOWN).tool_progress("c"),
        log().step_started("s").offered("new", step_id="s"),
    ]
    for built in legal:
        built.state()
