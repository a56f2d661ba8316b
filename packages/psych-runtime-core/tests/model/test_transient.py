from __future__ import annotations

import asyncio
import errno
import socket

import pytest
from psych_runtime.errors import PsychError, TransientError
from psych_runtime.model.transient import is_context_overflow, is_transient, retry_delay


class WithStatus(PsychError):
    def __init__(self, status_code: int, message: str = "") -> None:
        self.status_code = status_code
        super().__init__(message)


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504, 529, 599])
def test_retryable_statuses(status: int) -> None:
    assert is_transient(WithStatus(status))


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 413, 422])
def test_final_statuses(status: int) -> None:
    assert not is_transient(WithStatus(status))


@pytest.mark.parametrize(
    "error",
    [
        TransientError("x"),
        TimeoutError(),
        ConnectionResetError(),
        socket.gaierror(socket.EAI_AGAIN, "try again"),
        OSError(errno.ENETUNREACH, "unreachable"),
    ],
)
def test_what_the_network_does_is_transient(error: Exception) -> None:
    assert is_transient(error)


@pytest.mark.parametrize(
    "error",
    [ValueError(), PsychError(), OSError(errno.ENOENT, "no file"), asyncio.CancelledError()],
)
def test_anything_else_is_not(error: BaseException) -> None:
    assert not is_transient(error)


def test_an_error_may_decide_itself() -> None:
    error = WithStatus(429)
    error.retryable = False  # type: ignore[attr-defined]
    assert not is_transient(error)
    error = WithStatus(400)
    error.retryable = True  # type: ignore[attr-defined]
    assert is_transient(error)


@pytest.mark.parametrize(
    "message",
    [
        "This model's maximum context length is 8192 tokens",
        "prompt is too long: 250000 tokens > 200000 maximum",
        "code context_length_exceeded",
        "Please reduce the length of the messages",
        "request (6031 tokens) exceeds the available context size (1024 tokens)",
    ],
)
def test_an_overflow_is_recognised(message: str) -> None:
    assert is_context_overflow(WithStatus(400, message))
    assert is_context_overflow(PsychError(message))
    assert not is_transient(WithStatus(400, message))


def test_what_only_sounds_like_an_overflow_is_none() -> None:
    assert not is_context_overflow(WithStatus(401, "context window"))
    assert not is_context_overflow(WithStatus(400, "bad temperature"))
    assert not is_context_overflow(TransientError("too many tokens per minute"))
    assert not is_context_overflow(WithStatus(429, "too many tokens per minute"))


def test_the_wait_doubles_up_to_thirty_seconds_and_is_jittered_from_zero() -> None:
    assert [retry_delay(n, random=lambda: 1.0) for n in (1, 2, 3, 7, 500)] == [0.5, 1, 2, 30, 30]
    assert retry_delay(5, random=lambda: 0.0) == 0
    assert retry_delay(3, random=lambda: 0.25) == 0.5


def test_the_wait_asked_for_is_honoured_and_capped() -> None:
    assert retry_delay(1, TransientError("x", 8), random=lambda: 0.0) == 8
    assert retry_delay(9, TransientError("x", 8), random=lambda: 0.5) == pytest.approx(8.4)
    assert retry_delay(1, TransientError("x", 900), random=lambda: 0.5) == 30
    assert retry_delay(1, TransientError("x", 0), random=lambda: 0.5) == 0


def test_attempts_count_from_one() -> None:
    with pytest.raises(ValueError, match="from 1"):
        retry_delay(0)
