"""The text of a tool result, as the model and a conversation view read it."""

from __future__ import annotations

import json
from typing import Any

from psych_runtime.log.records import ToolCallFinished
from psych_runtime.log.values import MediaPart, ToolFailure, ToolOutcome
from psych_runtime.tools.guidance import failure_guidance

ABORTED_TEXT = (
    "This call was stopped before it finished. Treat its effect as not done, and check before "
    "you rely on it."
)
"""What the model reads for outcome ``aborted``."""

UNKNOWN_TEXT = (
    "This call was interrupted and nobody knows whether it took effect. Find out with another "
    "tool, or ask, before you repeat it."
)
"""What the model reads for outcome ``unknown`` when no failure was recorded."""

NO_RESULT_TEXT = "No result has been recorded for this call."
"""Stands in for a result that a log does not hold (yet)."""


def rendered(value: Any) -> str:
    """Return a result as text: a string as it is, anything else as compact, sorted JSON."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=str)


def failure_text(failure: ToolFailure) -> str:
    """Return a failure as the model reads it; the traceback only where the failure allows it."""
    traceback = failure.traceback if failure.traceback_is_for_the_model else None
    return failure_guidance(
        failure.kind, failure.message, transient=failure.transient, traceback=traceback
    )


def tool_result_text(finished: ToolCallFinished) -> str:
    """Return what the model reads as the result of this call."""
    if finished.outcome is ToolOutcome.OK:
        return _with_attachments(_content(finished), finished)
    if finished.failure is not None:
        return _with_attachments(failure_text(finished.failure), finished)
    if finished.outcome is ToolOutcome.ABORTED:
        return ABORTED_TEXT
    if finished.outcome is ToolOutcome.UNKNOWN:
        return UNKNOWN_TEXT
    return "The call failed and recorded no reason."


def _content(finished: ToolCallFinished) -> str:
    if finished.result_handle:
        return _elided(finished)
    if not finished.parts:
        return rendered(finished.result)
    lines = [] if finished.result is None else [rendered(finished.result)]
    lines += [_part_text(part) for part in finished.parts]
    return "\n".join(line for line in lines if line)


def _part_text(part: MediaPart) -> str:
    if part.text is not None:
        return part.text
    words = [part.kind, part.content_type]
    words += [part.name] if part.name else []
    words += [f"at {part.uri}"] if part.uri else []
    words += [f"handle {part.handle}"] if part.handle else []
    return f"[{', '.join(words)}]"


def _elided(finished: ToolCallFinished) -> str:
    handle = finished.result_handle
    head = (
        f"The result is {finished.result_bytes} bytes long and is kept under the handle {handle}. "
        f'Read more of it with read_tool_output(handle="{handle}").'
    )
    return f"{head} It begins:\n{finished.preview}" if finished.preview else head


def _with_attachments(text: str, finished: ToolCallFinished) -> str:
    lines = [
        f"- {item.name}: {item.size_bytes} bytes of {item.content_type}, handle {item.handle}"
        + (f" (cut off: {item.observed_bytes} bytes were produced)" if item.truncated else "")
        for item in finished.attachments
        if item.readable
    ]
    if not lines:
        return text
    listed = "\n".join(lines)
    return f"{text}\n\nAlso kept, readable with read_tool_output:\n{listed}"
