"""The calls, under the names users know them by."""

from psych_runtime.engine.admission import Dispatched, dispatch
from psych_runtime.engine.control import interrupt, resume, send
from psych_runtime.engine.publishing import publish
from psych_runtime.reads.calls import (
    answer,
    explain,
    records,
    report,
    runs,
    state,
    status,
    thread,
)
from psych_runtime.reads.stream import stream, stream_text

__all__ = [
    "Dispatched",
    "answer",
    "dispatch",
    "explain",
    "interrupt",
    "publish",
    "records",
    "report",
    "resume",
    "runs",
    "send",
    "state",
    "status",
    "stream",
    "stream_text",
    "thread",
]
