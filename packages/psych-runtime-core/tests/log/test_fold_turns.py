from __future__ import annotations

from decimal import Decimal

from psych_runtime.log.values import TerminalState, ToolFailure
from psych_runtime.spec.definitions import ToolDefinition
from psych_runtime.spec.usage import Cost, Usage
from psych_runtime.testing.logs import EPOCH, LogBuilder


def log() -> LogBuilder:
    return LogBuilder().admitted().attempt()


def test_admission_is_copied() -> None:
    state = (
        LogBuilder()
        .admitted(
            name="support",
            input={"message": "hi"},
            priority=3,
            concurrency_key="user-1",
            idempotency_key="k",
            parent_run_id="run_parent",
            delegation_depth=1,
            continues_run_id="run_before",
            forked_from_run_id="run_source",
            forked_at_seq=4,
            replays_run_id="run_old",
            replay_from_step="pay",
            breakpoints=("pay",),
            step_mode=True,
        )
        .state()
    )
    assert (state.admitted, state.version_hash, state.name) == (True, "sha256:test", "support")
    assert (state.run_input, state.priority, state.concurrency_key) == (
        {"message": "hi"},
        3,
        "user-1",
    )
    assert (state.idempotency_key, state.parent_run_id, state.delegation_depth) == (
        "k",
        "run_parent",
        1,
    )
    assert (state.continues_run_id, state.forked_from_run_id, state.forked_at_seq) == (
        "run_before",
        "run_source",
        4,
    )
    assert (state.replays_run_id, state.replay_from_step) == ("run_old", "pay")
    assert (state.breakpoints, state.step_mode) == (("pay",), True)
    assert state.deadline_at == LogBuilder().admitted().records[0].deadline_at  # type: ignore[union-attr]
    assert state.is_runnable


def test_parallel_agent_steps_have_turns_of_their_own() -> None:
    built = log().turn(step_id="a").turn(step_id="b")
    built.model_started(step_id="b").model_started(step_id="a")
    state = built.state()
    assert state.turn == 2
    assert (state.turn_open, state.model_call_open) == (True, True)
    built.model_finished(step_id="a", calls=[("c", "t", {})]).turn(step_id="c")
    built.tool_started("c", "t", step_id="a", turn=1)
    state = built.state()
    assert {key: value.turn for key, value in state.activations.items()} == {
        "a": 1,
        "b": 2,
        "c": 3,
    }
    assert state.activation("a").turns == 1  # type: ignore[arg-type]
    assert not state.activation("a").turn_open  # type: ignore[arg-type]
    assert state.activation("b").model_call_open  # type: ignore[arg-type]
    assert state.activation("never").turns == 0  # type: ignore[arg-type]


def test_a_new_attempt_closes_what_was_open_and_counts_the_unreported_calls() -> None:
    built = log().turn(step_id="a").model_started(step_id="a").turn(step_id="b")
    state = built.attempt(reclaimed=True).state()
    assert (state.turn_open, state.model_call_open) == (False, False)
    assert state.unreported_model_calls == 1
    assert (state.attempt_count, state.current_attempt) == (2, "att_2")


def test_prompts_are_kept_once_by_digest() -> None:
    tool = ToolDefinition(name="lookup", description="Look up", input_schema={"type": "object"})
    built = log().prompt("d", "Be brief.", tools=(tool,)).prompt("d", "ignored")
    state = built.turn().model_started(prompt_digest="d").state()
    assert state.prompts["d"].system_prompt == "Be brief."
    assert state.prompts["d"].tools == (tool,)


def test_usage_cost_and_counters() -> None:
    cost = Cost(amount=Decimal("0.10"), model="m", source="provider")
    usage = Usage(input=10, output=5, cache_read=3, cache_write=2)
    built = log().turn().model_started().model_finished(usage=usage, cost=cost)
    built.turn().model_started().model_failed(will_retry=True)
    built.turn().model_started().model_failed(
        will_retry=True,
        usage=Usage(input=1),
        usage_reported=True,
        cost=Cost(amount=Decimal("0.01"), model="m"),
    )
    built.turn().model_started()
    state = built.state()
    assert state.activation().transient_retries == 2
    state = built.model_finished(usage_reported=False).state()
    assert state.usage == Usage(input=11, output=5, cache_read=3, cache_write=2)
    assert state.cost is not None
    assert (state.cost.amount, state.provider_reported_costs) == (Decimal("0.11"), 1)
    assert (state.model_calls, state.failed_model_calls) == (2, 2)
    assert (state.transient_retries_used, state.activation().transient_retries) == (2, 0)
    assert (state.unreported_usage_calls, state.unpriced_model_calls) == (1, 1)
    assert state.last_prompt_tokens == 0
    assert built.records[4].usage == usage  # type: ignore[union-attr]


def test_the_prompt_size_is_kept_per_activation() -> None:
    usage = Usage(input=10, cache_read=3, cache_write=2, output=99)
    built = log().turn(step_id="a").model_started(step_id="a")
    state = built.model_finished(step_id="a", usage=usage).turn().state()
    assert state.activation("a").last_prompt_tokens == state.last_prompt_tokens == 15  # type: ignore[arg-type]
    assert state.activation().last_prompt_tokens == 0


def test_compaction_has_a_boundary_per_activation() -> None:
    built = log().turn().compacted(1, 2, summary="one", usage=Usage(input=4), usage_reported=True)
    state = built.compacted(3, 4, summary="two").compacted(1, 3, step_id="s").state()
    assert (state.activation().compaction_boundary_seq, state.activation("s").turns) == (4, 0)  # type: ignore[arg-type]
    assert state.activation().compaction_summary == "two"
    assert state.activation("s").compaction_boundary_seq == 3  # type: ignore[arg-type]
    assert state.compaction_boundary_seq == 4
    assert state.compaction_summaries == ["one", "two", "what happened so far"]
    assert (state.compaction_calls, state.usage.input) == (3, 4)


def test_the_end() -> None:
    failure = ToolFailure(kind="E", message="no")
    state = (
        log()
        .settled(
            TerminalState.FORCE_SETTLED,
            output={"text": "x"},
            failure=failure,
            orphaned_attempt_id="att_1",
        )
        .state()
    )
    assert (state.settled, state.terminal_state) == (True, TerminalState.FORCE_SETTLED)
    assert (state.output, state.failure) == ({"text": "x"}, failure)
    assert state.orphaned_attempt_id == "att_1"
    assert not state.is_runnable


def test_the_first_abort_counts_and_a_pause_can_be_taken_back() -> None:
    built = log().abort().abort().paused()
    state = built.state()
    assert (state.aborted, state.abort_seq, state.paused) == (True, 3, True)
    assert not built.unpaused().state().paused


def test_every_record_is_a_second_later() -> None:
    assert [record.at - EPOCH for record in log().records] == sorted(
        record.at - EPOCH for record in log().records
    )
