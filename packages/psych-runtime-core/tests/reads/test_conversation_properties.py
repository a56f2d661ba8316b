"""Properties of the conversation over random logs that the protocol allows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psych_runtime.log.fold import reduce
from psych_runtime.log.records import CompactionApplied, ModelCallFailed, Record
from psych_runtime.log.values import ToolFailure, ToolOutcome
from psych_runtime.ports.messages import AssistantMessage, Message, ToolResultMessage, UserMessage
from psych_runtime.reads.conversation import Conversation, build_conversation

NewLog = Callable[..., Any]
RELAXED = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def check_valid(messages: tuple[Message, ...]) -> None:
    """What every provider asks: each call is answered at once, once, in order, and nothing is
    answered that was not asked."""
    index = 0
    while index < len(messages):
        message = messages[index]
        assert not isinstance(message, ToolResultMessage), "a result without its call"
        index += 1
        if isinstance(message, AssistantMessage):
            ids = [call.id for call in message.tool_calls]
            assert len(set(ids)) == len(ids)
            for call in message.tool_calls:
                answer = messages[index] if index < len(messages) else None
                assert isinstance(answer, ToolResultMessage), f"no result for {call.id}"
                assert (answer.tool_call_id, answer.name) == (call.id, call.name)
                index += 1
    assert not messages or isinstance(messages[0], UserMessage)


@st.composite
def logs(draw: st.DrawFn, new_log: NewLog) -> Any:
    """A log of turns with parallel calls, crashes, steering and compactions."""
    log = new_log().begun()
    calls = entries = 0
    boundary = 0
    waiting: list[str] = []
    for _ in range(draw(st.integers(1, 5))):
        kind = draw(st.sampled_from(["turn", "turn", "turn", "fail", "crash", "compact"]))
        if kind == "crash":
            log.attempt()
        elif kind == "fail":
            log.ask()
            failure = ToolFailure(kind="TransientError", message="busy")
            log.add(ModelCallFailed, turn=log._turns, model="m", failure=failure, will_retry=True)
        elif kind == "compact" and len(log.records) > boundary + 1:
            cut = draw(st.integers(boundary + 1, len(log.records)))
            log.add(
                CompactionApplied,
                reason="threshold",
                replaced_from_seq=boundary + 1,
                replaced_to_seq=cut,
                summary=f"summary up to {cut}",
            )
            boundary = cut
        elif kind == "turn":
            names = [f"c{calls + offset}" for offset in range(draw(st.integers(0, 4)))]
            calls += len(names)
            log.turns(draw(st.sampled_from(["", "text"])), [(name, "look") for name in names])
            pending = draw(st.permutations([*names, *names]))
            started: set[str] = set()
            for name in pending:
                noise = draw(st.integers(0, 5))
                if noise == 0:
                    entries += 1
                    log.enqueue(f"e{entries}", f"message {entries}")
                    waiting.append(f"e{entries}")
                elif noise == 1 and waiting:
                    log.consume(waiting.pop(0))
                elif noise == 2:
                    log.attempt()
                if name not in started:
                    started.add(name)
                    log.start(name)
                elif draw(st.booleans()):
                    log.finish(name, f"result of {name}")
                else:
                    failure = ToolFailure(kind="boom", message="no")
                    log.finish(name, outcome=ToolOutcome.ERROR, failure=failure)
    return log


def built(records: list[Record], splits: list[int]) -> tuple[Message, ...]:
    """Add record by record, and look at the messages now and then."""
    conversation = Conversation()
    for number, record in enumerate(records):
        conversation.add(record)
        if number in splits:
            conversation.messages()
    return conversation.messages()


@RELAXED
@given(data=st.data())
def test_built_in_pieces_is_built_at_once(data: st.DataObject, new_log: NewLog) -> None:
    log = data.draw(logs(new_log))
    splits = data.draw(st.lists(st.integers(0, len(log.records))))
    assert built(log.records, splits) == build_conversation(log.records)


@RELAXED
@given(data=st.data())
def test_c102_every_prefix_of_a_legal_log_is_a_valid_conversation(
    data: st.DataObject, new_log: NewLog
) -> None:
    log = data.draw(logs(new_log))
    reduce(log.records)
    conversation = Conversation()
    for record in log.records:
        conversation.add(record)
        check_valid(conversation.messages())


def test_c101_compaction_at_every_index_of_a_history_with_parallel_calls(
    new_log: NewLog,
) -> None:
    log = new_log().begun()
    for turn in range(3):
        names = [f"c{turn}{number}" for number in range(3)]
        log.turns("t", [(name, "look") for name in names])
        for name in names:
            log.start(name)
        for name in reversed(names):
            log.finish(name)
    whole = len(build_conversation(log.records))
    length = len(log.records)
    for cut in range(1, length + 1):
        twin = new_log()
        twin.records, twin.now, twin._turns = list(log.records), log.now, log._turns
        twin.add(
            CompactionApplied,
            reason="threshold",
            replaced_from_seq=1,
            replaced_to_seq=cut,
            summary="s",
        )
        messages = build_conversation(twin.records)
        check_valid(messages)
        assert len(messages) <= whole
        twin.turns("after")
        assert build_conversation(twin.records)[-1] == AssistantMessage(content="after")
