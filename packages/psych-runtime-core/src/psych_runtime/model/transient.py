"""Which failures are worth another try, and how long to wait before it."""

from __future__ import annotations

import asyncio
import errno
import random
import socket
from collections.abc import Callable
from typing import Final

from psych_runtime.errors import TransientError

BASE_DELAY_SECONDS: Final = 0.5
MAX_DELAY_SECONDS: Final = 30.0

_RETRYABLE_STATUS: Final = frozenset({408, 425, 429})
_RETRYABLE_ERRNO: Final = frozenset(
    {
        errno.ECONNABORTED,
        errno.ECONNREFUSED,
        errno.ECONNRESET,
        errno.EHOSTDOWN,
        errno.EHOSTUNREACH,
        errno.ENETDOWN,
        errno.ENETRESET,
        errno.ENETUNREACH,
        errno.EPIPE,
        errno.ETIMEDOUT,
        errno.EAGAIN,
        errno.EMFILE,
        errno.ENFILE,
        errno.ENOBUFS,
    }
)
_OVERFLOW_STATUS: Final = frozenset({400, 413, 422})
_OVERFLOW_WORDS: Final = (
    "context length",
    "context window",
    "context size",
    "context_length_exceeded",
    "exceed_context_size",
    "maximum context",
    "prompt is too long",
    "reduce the length of the messages",
    "too many input tokens",
    "too many tokens",
)


def is_retryable_status(status: int) -> bool:
    """Say whether an HTTP status means that the same request may succeed later."""
    return status in _RETRYABLE_STATUS or status >= 500


def is_transient(error: BaseException) -> bool:
    """Say whether the same call may succeed later.

    True for `TransientError`, timeouts, broken or refused connections, failed name resolution,
    and an error whose ``status_code`` is retryable. An error with a ``retryable`` attribute of
    True or False has decided itself. Never for a cancellation.
    """
    if not isinstance(error, Exception) or isinstance(error, asyncio.CancelledError):
        return False
    decided = getattr(error, "retryable", None)
    if isinstance(decided, bool):
        return decided
    if isinstance(error, TransientError | TimeoutError | ConnectionError | socket.gaierror):
        return True
    status = _status(error)
    if status is not None:
        return is_retryable_status(status)
    return isinstance(error, OSError) and error.errno in _RETRYABLE_ERRNO


def is_context_overflow(error: BaseException) -> bool:
    """Say whether a model refused a prompt because it is too long for its context window.

    The conversation must then be made shorter; another try with the same prompt fails again.
    """
    if not isinstance(error, Exception) or is_transient(error):
        return False
    status = _status(error)
    if status is not None and status not in _OVERFLOW_STATUS:
        return False
    message = str(error).lower()
    return any(words in message for words in _OVERFLOW_WORDS)


def retry_delay(
    attempt: int,
    error: BaseException | None = None,
    *,
    random: Callable[[], float] = random.random,
) -> float:
    """Return how many seconds to wait before another try.

    Args:
        attempt: How many tries have failed so far, from 1.
        error: The failure. When it carries ``retry_after_seconds`` that wait is honoured, up to
            `MAX_DELAY_SECONDS`, with up to a tenth more so that waiting callers do not return
            all at once.
        random: Returns a number from 0 up to 1.

    Returns:
        Without a wait asked for: anything from 0 to 0.5, 1, 2, 4 ... 30 seconds ("full jitter").

    Raises:
        ValueError: ``attempt`` is lower than 1.
    """
    if attempt < 1:
        raise ValueError(f"attempt counts failed tries from 1, got {attempt}")
    asked = getattr(error, "retry_after_seconds", None)
    if asked is not None:
        wait = min(max(float(asked), 0.0), MAX_DELAY_SECONDS)
        return min(wait * (1 + random() / 10), MAX_DELAY_SECONDS)
    ceiling = min(BASE_DELAY_SECONDS * 2.0 ** min(attempt - 1, 30), MAX_DELAY_SECONDS)
    return ceiling * random()


def _status(error: BaseException) -> int | None:
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) and not isinstance(status, bool) else None
