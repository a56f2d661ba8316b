"""An incremental parser for server-sent events."""

from __future__ import annotations

from dataclasses import dataclass

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class SseEvent:
    """One event.

    Attributes:
        event: Its name; empty when it has none. A bare ``error:`` line makes an event ``error``.
        data: Its data lines, joined by newlines.
    """

    event: str
    data: str


class SseParser:
    """Turns chunks of bytes into events, wherever the chunks were cut.

    Accepts every line ending of the format, also mixed and split, and a byte order mark.
    Comments and unknown fields are skipped; an event without data is none.
    """

    def __init__(self) -> None:
        self._line: list[bytes] = []
        self._skip_newline = False
        self._first_line = True
        self._data: list[bytes] = []
        self._event = b""

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """Return the events that ``chunk`` completes."""
        if self._skip_newline and chunk:
            chunk = chunk.removeprefix(b"\n")
            self._skip_newline = False
        if chunk.endswith(b"\r"):
            self._skip_newline = True
        first, *rest = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        self._line.append(first)
        events: list[SseEvent] = []
        for part in rest:
            self._end_line(events)
            self._line.append(part)
        return events

    def flush(self) -> list[SseEvent]:
        """Return the event that the end of the stream completes, if any."""
        events: list[SseEvent] = []
        self._end_line(events)
        self._dispatch(events)
        return events

    def _end_line(self, events: list[SseEvent]) -> None:
        line = b"".join(self._line)
        self._line.clear()
        if self._first_line:
            line = line.removeprefix(_BOM)
            self._first_line = False
        if not line:
            self._dispatch(events)
            return
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
        elif name == b"event":
            self._event = value
        elif name == b"error":
            self._event = b"error"
            self._data.append(value)

    def _dispatch(self, events: list[SseEvent]) -> None:
        data = b"\n".join(self._data)
        if data:
            events.append(
                SseEvent(self._event.decode(errors="replace"), data.decode(errors="replace"))
            )
        self._data.clear()
        self._event = b""
