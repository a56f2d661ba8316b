"""What the model reads as a tool's result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from psych_runtime.log.records import ToolCallFinished
from psych_runtime.log.values import MediaPart, ResultAttachment, ToolFailure, ToolOutcome
from psych_runtime.reads.tool_text import tool_result_text

NewLog = Callable[..., Any]


@pytest.fixture
def text(new_log: NewLog) -> Callable[..., str]:
    def read(result: Any = None, **fields: Any) -> str:
        record = new_log().begun().start("c1").finish("c1", result, **fields).records[-1]
        assert isinstance(record, ToolCallFinished)
        return tool_result_text(record)

    return read


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ("as it is\n", "as it is\n"),
        ({"b": 1, "a": ["é", None]}, '{"a":["é",null],"b":1}'),
        (None, "null"),
        (3.5, "3.5"),
    ],
)
def test_a_result_is_text_or_compact_sorted_json(
    text: Callable[..., str], result: Any, expected: str
) -> None:
    assert text(result) == expected


def test_an_elided_result_says_how_long_it_is_and_how_to_read_it(
    text: Callable[..., str],
) -> None:
    shown = text(None, result_handle="res_c1", result_bytes=123456, preview="first words")
    for part in ("123456 bytes", "res_c1", "read_tool_output", "first words"):
        assert part in shown


def test_a_failure_carries_guidance_and_only_an_allowed_traceback(
    text: Callable[..., str],
) -> None:
    fields = {"kind": "unknown_tool", "message": "no tool 'x'", "traceback": "Traceback: secret"}
    hidden = text(outcome=ToolOutcome.ERROR, failure=ToolFailure(**fields))
    shown = text(
        outcome=ToolOutcome.ERROR,
        failure=ToolFailure(**fields, traceback_is_for_the_model=True),
    )
    assert "no tool 'x'" in hidden
    assert len(hidden) > len("no tool 'x'")
    assert "secret" not in hidden
    assert "secret" in shown


@pytest.mark.parametrize("outcome", [ToolOutcome.ABORTED, ToolOutcome.UNKNOWN, ToolOutcome.ERROR])
def test_an_outcome_without_a_failure_has_a_sentence_of_its_own(
    text: Callable[..., str], outcome: ToolOutcome
) -> None:
    others = {text(outcome=each) for each in ToolOutcome if each is not outcome}
    assert text(outcome=outcome)
    assert text(outcome=outcome) not in others


def test_parts_and_readable_attachments_are_named(text: Callable[..., str]) -> None:
    readable = ResultAttachment(
        name="stdout",
        handle="h1",
        content_type="text/plain",
        size_bytes=2,
        observed_bytes=9,
        truncated=True,
        data=b"ab",
    )
    hidden = readable.model_copy(update={"name": "execution", "handle": "h2", "readable": False})
    shown = text(
        None,
        parts=(
            MediaPart(kind="text", text="a chart"),
            MediaPart(kind="image", content_type="image/png", handle="h3"),
        ),
        attachments=(readable, hidden),
    )
    assert shown.startswith("a chart\n[image, image/png, handle h3]")
    assert "stdout" in shown
    assert "h1" in shown
    assert "9 bytes" in shown
    assert "h2" not in shown
