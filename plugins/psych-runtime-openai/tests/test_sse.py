from __future__ import annotations

import time

import pytest
from psych_runtime_openai.sse import SseEvent, SseParser


def parse(*chunks: bytes) -> list[SseEvent]:
    parser = SseParser()
    events = [event for chunk in chunks for event in parser.feed(chunk)]
    return [*events, *parser.flush()]


def data(*chunks: bytes) -> list[str]:
    return [event.data for event in parse(*chunks)]


STREAM = (
    "\ufeffdata: ä1\n\n: note\ndata:2\ndata:  3\nid: 7\nretry: 1\n\nevent: e\ndata: 4\n\n".encode()
)
EXPECTED = [SseEvent("", "ä1"), SseEvent("", "2\n 3"), SseEvent("e", "4")]


@pytest.mark.parametrize("newline", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_any_line_ending_and_any_cut(newline: bytes, size: int) -> None:
    stream = STREAM.replace(b"\n", newline)
    assert parse(*(stream[at : at + size] for at in range(0, len(stream), size))) == EXPECTED


def test_an_event_arrives_as_soon_as_its_blank_line_does() -> None:
    parser = SseParser()
    assert parser.feed(b"data: 1\n") == []
    assert parser.feed(b"\n") == [SseEvent("", "1")]
    assert parser.feed(b"data: 2\r\n\r") == [SseEvent("", "2")]
    assert parser.feed(b"\ndata: 3\r\n\r\n") == [SseEvent("", "3")]


def test_the_end_completes_the_last_event() -> None:
    assert data(b"data: 1\n\ndata: [DONE]") == ["1", "[DONE]"]


def test_an_event_without_data_is_none() -> None:
    assert data(b"event: ping\n\ndata:\n\n: only a comment\n\n") == []


def test_an_error_line_is_an_event() -> None:
    assert parse(b'error: {"code":400}\n\n') == [SseEvent("error", '{"code":400}')]


def test_a_long_line_in_small_pieces_takes_linear_time() -> None:
    line = b"data: " + b"x" * 2_000_000
    started = time.perf_counter()
    assert data(*(line[at : at + 100] for at in range(0, len(line), 100))) == ["x" * 2_000_000]
    assert time.perf_counter() - started < 3
