"""From exceptions to the failures that the log keeps."""

from __future__ import annotations

import traceback

from psych_runtime.log.values import ToolFailure
from psych_runtime.model.transient import is_transient

_GROUP_MEMBERS = 5


def failure_of(error: BaseException) -> ToolFailure:
    """Describe an exception: its class name, its text, and a traceback for operators.

    Never raises. A group with one exception is described as that exception.
    """
    shown = _single(error)
    return ToolFailure(
        kind=type(shown).__name__,
        message=error_text(shown),
        traceback=_traceback(error),
        transient=is_transient(shown),
    )


def error_text(error: BaseException) -> str:
    """Return what the exception says, or its class when it says nothing. Never raises."""
    name = type(error).__name__
    try:
        text = str(error)
        if isinstance(error, BaseExceptionGroup):
            inner = [f"{type(item).__name__}: {item}" for item in error.exceptions]
            text = f"{text}: {'; '.join(inner[:_GROUP_MEMBERS])}"
    except Exception as broken:
        return f"{name} (its text could not be read: {type(broken).__name__})"
    return text if text.strip() else f"{name}, without a message"


def _single(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def _traceback(error: BaseException) -> str:
    try:
        return "".join(traceback.format_exception(error))
    except Exception as broken:
        return f"the traceback could not be formatted: {type(broken).__name__}"
