"""The conversation: order, validity at every prefix, and growth turn by turn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from psych_runtime.ids import RunId, StepId, ToolCallId, VersionHash
from psych_runtime.log.records import (
    CompactionApplied,
    ModelCallFailed,
    QueueCancelled,
    StepCompleted,
    StepStarted,
    SubagentFinished,
    SubagentSpawned,
    ToolResultLate,
)
from psych_runtime.log.values import ModelToolCall, TerminalState, ToolFailure, ToolOutcome
from psych_runtime.ports.messages import (
    AssistantMessage,
    Message,
    ToolResultMessage,
    UserMessage,
)
from psych_runtime.reads.conversation import Conversation, build_conversation
from psych_runtime.reads.inputs import first_user_message

NewLog = Callable[..., Any]


def shape(messages: tuple[Message, ...]) -> list[str]:
    """One word per message: ``u:text``, ``a:text[ids]``, ``t:id=content``."""
    words = []
    for message in messages:
        if isinstance(message, UserMessage):
            words.append(f"u:{message.content}")
        elif isinstance(message, AssistantMessage):
            ids = ",".join(call.id for call in message.tool_calls)
            words.append(f"a:{message.content}[{ids}]")
        elif isinstance(message, ToolResultMessage):
            words.append(f"t:{message.tool_call_id}={message.content}")
    return words


def test_results_stand_in_the_models_order_whatever_order_they_finished_in(
    new_log: NewLog,
) -> None:
    log = new_log().begun().turns("look", [("c1", "look"), ("c2", "look"), ("c3", "look")])
    log.start("c1").start("c2").start("c3")
    log.finish("c3", "three").finish("c1", "one").finish("c2", "two").turns("done")
    assert shape(build_conversation(log.records)) == [
        "u:hello",
        "a:look[c1,c2,c3]",
        "t:c1=one",
        "t:c2=two",
        "t:c3=three",
        "a:done[]",
    ]


def test_a_user_message_never_lands_between_a_call_and_its_result(new_log: NewLog) -> None:
    log = new_log().begun().turns("", [("c1", "look"), ("c2", "look")])
    log.enqueue("e1", "wait!").run_call("c1").consume("e1").run_call("c2")
    assert shape(build_conversation(log.records)) == [
        "u:hello", "a:[c1,c2]", "t:c1=ok", "t:c2=ok", "u:wait!",
    ]  # fmt: skip


def test_a_message_that_arrives_while_the_model_is_asked_follows_its_answer(
    new_log: NewLog,
) -> None:
    log = new_log().begun().enqueue("e1", "more").ask().consume("e1")
    assert shape(build_conversation(log.records)) == ["u:hello", "u:more"]
    log.say("answer")
    assert shape(build_conversation(log.records)) == ["u:hello", "a:answer[]", "u:more"]


def test_a_failed_call_lets_in_what_waited_behind_it(new_log: NewLog) -> None:
    log = new_log().begun().enqueue("e1", "more").ask().consume("e1")
    failure = ToolFailure(kind="TransientError", message="busy")
    log.add(ModelCallFailed, turn=1, model="m", failure=failure, will_retry=True)
    log.turns("answer")
    assert shape(build_conversation(log.records)) == ["u:hello", "u:more", "a:answer[]"]


def test_a_cancelled_queue_entry_says_nothing(new_log: NewLog) -> None:
    log = new_log().begun().enqueue("e1", "one").enqueue("e2", "two")
    log.add(QueueCancelled, entry_id="e1")
    log.consume("e2")
    assert shape(build_conversation(log.records)) == ["u:hello", "u:two"]


def test_c54_a_call_without_a_result_gets_a_stand_in_until_the_result_comes(
    new_log: NewLog,
) -> None:
    log = new_log().begun().turns("", [("c1", "look"), ("c2", "look")]).run_call("c2")
    conversation = Conversation()
    for record in log.records:
        conversation.add(record)
    before = conversation.messages()
    assert [type(each) for each in before[1:]] == [
        AssistantMessage, ToolResultMessage, ToolResultMessage,
    ]  # fmt: skip
    assert before[2].is_error  # type: ignore[union-attr]
    log.attempt().turns("on")
    conversation = Conversation()
    for record in log.records:
        conversation.add(record)
    log.start("c1", turn=2).finish("c1", "late")
    for record in log.records[-2:]:
        conversation.add(record)
    assert shape(conversation.messages())[2] == "t:c1=late"
    assert conversation.messages()[4] == AssistantMessage(content="on")


def test_c96_malformed_arguments_are_an_empty_object_in_the_history(new_log: NewLog) -> None:
    call = ModelToolCall(
        call_id=ToolCallId("c1"),
        name="look",
        raw_arguments='{"n": ',
        problem="malformed_arguments",
        arguments={"partly": "parsed"},
    )
    log = new_log().begun().turns("", [call]).start("c1", arguments={})
    log.finish(
        "c1",
        outcome=ToolOutcome.ERROR,
        failure=ToolFailure(kind="malformed_arguments", message="not JSON: line 1"),
    )
    assistant, result = build_conversation(log.records)[1:]
    assert isinstance(assistant, AssistantMessage)
    assert assistant.tool_calls[0].arguments == {}
    assert isinstance(result, ToolResultMessage)
    assert result.is_error
    assert "not JSON: line 1" in result.content


def test_a_call_without_a_name_is_kept(new_log: NewLog) -> None:
    call = ModelToolCall(call_id=ToolCallId("c1"), name="", problem="unknown_tool")
    log = new_log().begun().turns("", [call])
    assistant = build_conversation(log.records)[1]
    assert isinstance(assistant, AssistantMessage)
    assert assistant.tool_calls[0].name == "<unnamed>"


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ([("c1", "w1"), ("c2", "w2")], ["w1", "w2"]),
        ([("c1", "same"), ("c2", "same"), ("c3", "w3")], ["c1", "c2", "w3"]),
        ([("c1", None), ("c2", "")], ["c1", "c2"]),
        ([("c1", "c2"), ("c2", "w")], ["c1", "w"]),
    ],
    ids=["own ids", "one id for several", "none", "another call's id"],
)
def test_c82_wire_ids_are_used_where_they_tell_the_calls_of_a_turn_apart(
    new_log: NewLog, calls: list[tuple[str, str | None]], expected: list[str]
) -> None:
    whole = [
        ModelToolCall(call_id=ToolCallId(call_id), name="look", wire_id=wire)
        for call_id, wire in calls
    ]
    log = new_log().begun().turns("", whole)
    for call_id, _ in calls:
        log.run_call(call_id, result=call_id)
    assistant, *results = build_conversation(log.records)[1:]
    assert isinstance(assistant, AssistantMessage)
    assert [call.id for call in assistant.tool_calls] == expected
    assert [each.tool_call_id for each in results] == expected  # type: ignore[union-attr]


def test_reasoning_and_provider_extras_go_back_to_the_model(new_log: NewLog) -> None:
    call = ModelToolCall(call_id=ToolCallId("c1"), name="look", extra={"sig": "x"})
    log = (
        new_log()
        .begun()
        .turns(
            "t", [call], reasoning="why", reasoning_blocks=({"b": 1},), provider_extra={"id": "r"}
        )
    )
    assistant = build_conversation(log.records)[1]
    assert isinstance(assistant, AssistantMessage)
    assert assistant.reasoning == "why"
    assert assistant.reasoning_blocks == ({"b": 1},)
    assert assistant.provider_extra == {"id": "r"}
    assert assistant.tool_calls[0].extra == {"sig": "x"}


def test_a30_calls_made_by_a_program_are_not_shown(new_log: NewLog) -> None:
    log = new_log().begun().turns("", [("c1", "run_code")]).start("c1", "run_code")
    log.start("p1", parent_call_id="c1").finish("p1", "inner").finish("c1", "outer").turns("done")
    words = shape(build_conversation(log.records))
    assert words == ["u:hello", "a:[c1]", "t:c1=outer", "a:done[]"]


def test_c51_the_model_sees_the_arguments_that_a_person_put_in_place(new_log: NewLog) -> None:
    log = new_log().begun().turns("", [("c1", "pay"), ("c2", "pay")])
    log.start("c1", "pay").finish("c1", "paid", arguments={"amount": 5}).run_call("c2", "pay")
    assistant = build_conversation(log.records)[1]
    assert isinstance(assistant, AssistantMessage)
    assert [call.arguments for call in assistant.tool_calls] == [{"amount": 5}, {"n": "c2"}]


def test_b12_only_the_latest_summary_leads_a_compacted_conversation(new_log: NewLog) -> None:
    log = new_log().begun().turns("one", [("c1", "look")]).run_call("c1")
    log.add(
        CompactionApplied,
        reason="threshold",
        replaced_from_seq=1,
        replaced_to_seq=len(log.records),
        summary="first summary",
    )
    log.turns("two", [("c2", "look")]).run_call("c2")
    cut = len(log.records)
    log.turns("three")
    log.add(
        CompactionApplied,
        reason="threshold",
        replaced_from_seq=cut,
        replaced_to_seq=cut,
        summary="second summary",
    )
    messages = build_conversation(log.records)
    assert len(messages) == 2
    assert isinstance(messages[0], UserMessage)
    assert "second summary" in messages[0].content
    assert "first summary" not in messages[0].content
    assert messages[1] == AssistantMessage(content="three")


def test_a_late_result_is_a_later_note(new_log: NewLog) -> None:
    log = new_log().begun().turns("", [("c1", "charge")]).start("c1", "charge").attempt()
    log.finish(
        "c1",
        outcome=ToolOutcome.UNKNOWN,
        failure=ToolFailure(kind="orphaned", message="the worker died"),
    )
    log.turns("hm")
    log.add(ToolResultLate, call_id="c1", outcome=ToolOutcome.OK, result={"id": 7})
    note = build_conversation(log.records)[-1]
    assert isinstance(note, UserMessage)
    assert "charge" in note.content
    assert '{"id":7}' in note.content


def spawn(log: Any, child: str, *, background: bool) -> None:
    log.add(
        SubagentSpawned,
        child_run_id=RunId(child),
        name=child,
        call_id=ToolCallId("c1"),
        child_version_hash=VersionHash("v" * 64),
        purpose="p",
        task="t",
        deliverable="d",
        model="m",
        delegation_depth=1,
        background=background,
    )


def finished(log: Any, child: str, **fields: Any) -> None:
    log.add(
        SubagentFinished,
        child_run_id=RunId(child),
        name=child,
        **{"state": TerminalState.COMPLETED, **fields},
    )


def test_a_background_child_reports_in_a_user_message_and_a_blocking_one_does_not(
    new_log: NewLog,
) -> None:
    log = new_log().begun()
    spawn(log, "kim", background=True)
    spawn(log, "lee", background=False)
    finished(log, "kim", output={"text": "found it"})
    finished(log, "lee", output={"text": "hidden"})
    words = shape(build_conversation(log.records))
    assert words == ["u:hello", "u:Subagent 'kim' (kim) finished: completed.\nfound it"]


def step(log: Any, number: int = 1, **fields: Any) -> None:
    log.add(
        StepStarted,
        step_id=StepId("s1"),
        name="draft",
        kind="agent",
        attempt_number=number,
        **fields,
    )


def test_an_agent_step_has_a_conversation_of_its_own(new_log: NewLog) -> None:
    log = new_log().begun("the run's input")
    step(log, input={"input": {"message": "write"}})
    log.turns("draft", step_id="s1")
    log.turns("other", step_id="s2")
    assert shape(build_conversation(log.records, step_id=StepId("s1"))) == ["u:write", "a:draft[]"]
    assert shape(build_conversation(log.records)) == ["u:the run's input"]


def test_an_agent_step_without_mapped_input_gets_the_runs(new_log: NewLog) -> None:
    log = new_log().begun("the run's input")
    step(log, input={"prior": {"x": 1}})
    assert shape(build_conversation(log.records, step_id=StepId("s1"))) == ["u:the run's input"]


def test_a_step_goes_on_after_a_crash_and_starts_afresh_after_a_failure(new_log: NewLog) -> None:
    log = new_log().begun()
    step(log)
    log.turns("first", step_id="s1").attempt()
    step(log, 2)
    log.turns("second", step_id="s1")
    one = StepId("s1")
    assert shape(build_conversation(log.records, step_id=one)) == [
        "u:hello", "a:first[]", "a:second[]",
    ]  # fmt: skip
    log.add(
        StepCompleted,
        step_id=one,
        failure=ToolFailure(kind="x", message="y"),
        will_retry=True,
    )
    step(log, 3)
    assert shape(build_conversation(log.records, step_id=one)) == ["u:hello"]


def test_b3_a_turn_is_appended_and_nothing_before_it_is_built_again(new_log: NewLog) -> None:
    conversation = Conversation()
    log = new_log().begun()
    seen = 0
    before: tuple[Message, ...] = ()
    for number in range(300):
        log.turns(f"turn {number}", [(f"c{number}", "look")]).run_call(f"c{number}")
        for record in log.records[seen:]:
            conversation.add(record)
        seen = len(log.records)
        after = conversation.messages()
        assert len(after) == len(before) + (3 if not before else 2)
        assert all(old is new for old, new in zip(before, after, strict=False))
        before = after


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"message": "  ", "input": "b", "text": "c"}, "b"),
        ({"prompt": "p"}, "p"),
        ({"message": 5, "b": 1, "a": "é"}, '{"a": "é", "b": 1, "message": 5}'),
        ({}, None),
    ],
)
def test_the_first_user_message(value: dict[str, Any], expected: str | None) -> None:
    assert first_user_message(value) == expected


def test_a_crash_while_the_model_is_asked_lets_in_what_waited(new_log: NewLog) -> None:
    log = new_log().begun().enqueue("e1", "more").ask().consume("e1").attempt().turns("answer")
    assert shape(build_conversation(log.records)) == ["u:hello", "u:more", "a:answer[]"]


def test_a_result_that_comes_after_the_next_turn_takes_its_place(new_log: NewLog) -> None:
    log = new_log().begun().turns("", [("c1", "pay"), ("c2", "pay")]).turns("on").turns("and on")
    log.compacted(1, 2)
    log.start("c2").finish("c2", "paid", arguments={"amount": 5})
    assert shape(build_conversation(log.records))[1:] == [
        "a:[c1,c2]",
        "t:c1=No result has been recorded for this call.",
        "t:c2=paid",
        "a:on[]",
        "a:and on[]",
    ]
    assistant = build_conversation(log.records)[1]
    assert isinstance(assistant, AssistantMessage)
    assert [call.arguments for call in assistant.tool_calls] == [{"n": "c1"}, {"amount": 5}]
