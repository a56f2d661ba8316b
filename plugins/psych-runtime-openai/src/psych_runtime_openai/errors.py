"""Error answers to exceptions: worth another try, or not."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any, Final

from psych_runtime.errors import PsychError, TransientError
from psych_runtime.model.transient import is_retryable_status

_MAX_MESSAGE: Final = 2000
_NEVER_RETRY: Final = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
_SAMPLING_FAILURES: Final = frozenset({"tool_use_failed"})
_SPAN: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|h|m|s)")
_SPAN_SECONDS: Final = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_EPOCH_MS: Final = 1e12


class ModelRequestError(PsychError):
    """The provider refused a request in a way that another try would not change.

    Attributes:
        status_code: The HTTP status, or the code of an error sent inside a stream; None when
            there was none.
        code: The provider's error code or type; None when it gave none.
        request_id: The provider's id of the request, for its support; None when it gave none.
    """

    retryable = False
    """Also for a status that usually is, such as 429 for an exhausted quota."""

    def __init__(
        self,
        message: str,
        *,
        status_code: int | None = None,
        code: str | None = None,
        request_id: str | None = None,
    ) -> None:
        self.status_code = status_code
        self.code = code
        self.request_id = request_id
        super().__init__(message)


class ModelUnavailable(TransientError):
    """The provider could not answer now.

    Attributes:
        status_code: The HTTP status, or the code of an error sent inside a stream; None when
            there was none.
        code: The provider's error code or type; None when it gave none.
        request_id: The provider's id of the request; None when it gave none.
    """

    def __init__(
        self,
        message: str,
        *,
        status_code: int | None = None,
        code: str | None = None,
        request_id: str | None = None,
        retry_after_seconds: float | None = None,
    ) -> None:
        self.status_code = status_code
        self.code = code
        self.request_id = request_id
        super().__init__(message, retry_after_seconds)


def error_from_response(
    status: int, headers: Mapping[str, str], body: bytes, *, hide: str | None = None
) -> ModelRequestError | ModelUnavailable:
    """Build the exception for an HTTP status that is not a success.

    Args:
        status: The HTTP status.
        headers: The response headers, case-insensitive.
        body: The (possibly cut) body.
        hide: A secret that must not appear in the message.
    """
    text = body.decode(errors="replace").strip()
    try:
        document = json.loads(text)
    except ValueError:
        document = None
    message, code, _ = _describe(document)
    if not message:
        message = text or "the answer has no body"
    if 300 <= status < 400:
        target = headers.get("location", "an unnamed place")
        message = f"redirected to {target}, which is not followed; correct base_url"
    verdict = headers.get("x-should-retry", "").lower()
    retry = is_retryable_status(status) or code in _SAMPLING_FAILURES
    if verdict in ("true", "false"):
        retry = verdict == "true"
    return _build(
        f"the model provider answered {status}",
        message,
        retry=retry,
        status=status,
        code=code,
        request_id=headers.get("x-request-id"),
        wait=retry_after_seconds(headers) if retry else None,
        hide=hide,
    )


def error_from_chunk(
    document: Any, *, hide: str | None = None
) -> ModelRequestError | ModelUnavailable:
    """Build the exception for an error that arrived inside a stream with status 200."""
    message, code, status = _describe(document)
    retry = status is None or is_retryable_status(status) or code in _SAMPLING_FAILURES
    if status is None and code in ("invalid_request_error", "BadRequestError"):
        retry = False
    return _build(
        "the model provider broke off the answer",
        message or json.dumps(document),
        retry=retry,
        status=status,
        code=code,
        request_id=None,
        wait=None,
        hide=hide,
    )


def _build(
    what: str,
    message: str,
    *,
    retry: bool,
    status: int | None,
    code: str | None,
    request_id: str | None,
    wait: float | None,
    hide: str | None,
) -> ModelRequestError | ModelUnavailable:
    if hide:
        message = message.replace(hide, "***")
    label = f" ({code})" if code and code not in message else ""
    text = f"{what}{label}: {message[:_MAX_MESSAGE]}"
    if retry and code not in _NEVER_RETRY:
        return ModelUnavailable(
            text, status_code=status, code=code, request_id=request_id, retry_after_seconds=wait
        )
    return ModelRequestError(text, status_code=status, code=code, request_id=request_id)


def _describe(document: Any) -> tuple[str, str | None, int | None]:
    """Find message, code and status in any of the shapes that providers use."""
    if isinstance(document, list) and document:
        document = document[0]
    if not isinstance(document, dict):
        return (document if isinstance(document, str) else "", None, None)
    error = document.get("error") or document
    if isinstance(error, str):
        return error, None, None
    if not isinstance(error, dict):
        return "", None, None
    message = error.get("message") or error.get("detail") or ""
    if not isinstance(message, str):
        message = json.dumps(message)
    metadata = error.get("metadata")
    if isinstance(metadata, dict) and metadata.get("raw"):
        message = f"{message}: {metadata['raw']}"
    code, status = error.get("code"), error.get("status_code", error.get("status"))
    for candidate in (code, status):
        if isinstance(candidate, int | str) and str(candidate).isdecimal():
            number = int(candidate)
            if 100 <= number <= 599:
                status = number
                break
    else:
        status = None
    named = code if isinstance(code, str) and not code.isdecimal() else error.get("type")
    return message, named if isinstance(named, str) and named else None, status


def retry_after_seconds(headers: Mapping[str, str]) -> float | None:
    """Return how long the provider asks to wait, or None when it does not say."""
    if (milliseconds := _number(headers.get("retry-after-ms"))) is not None:
        return milliseconds / 1000
    asked = headers.get("retry-after")
    if asked:
        if (seconds := _number(asked)) is not None:
            return seconds
        try:
            return max(0.0, parsedate_to_datetime(asked).timestamp() - time.time())
        except (ValueError, OverflowError):
            pass
    waits = []
    for bucket in ("-requests", "-tokens", ""):
        remaining = _number(headers.get(f"x-ratelimit-remaining{bucket}"))
        if remaining is None or remaining <= 0:
            wait = _span(headers.get(f"x-ratelimit-reset{bucket}"))
            waits += [wait] if wait else []
    return max(waits, default=None)


def _number(text: str | None) -> float | None:
    try:
        number = float(text) if text else None
    except ValueError:
        return None
    return number if number is not None and 0 <= number < float("inf") else None


def _span(text: str | None) -> float | None:
    """Read ``6s``, ``1.57s``, ``6m0s``, ``20ms``, bare seconds, or epoch milliseconds."""
    number = _number(text)
    if number is not None:
        return max(0.0, number / 1000 - time.time()) if number > _EPOCH_MS else number
    parts = _SPAN.findall(text or "")
    return sum(float(value) * _SPAN_SECONDS[unit] for value, unit in parts) if parts else None
