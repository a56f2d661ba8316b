from __future__ import annotations

import json
import time
from email.utils import formatdate
from typing import Any

import httpx
import pytest
from psych_runtime_openai.errors import (
    ModelRequestError,
    ModelUnavailable,
    error_from_response,
    retry_after_seconds,
)


def build(status: int, body: Any, **headers: str) -> ModelRequestError | ModelUnavailable:
    raw = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return error_from_response(status, httpx.Headers(named), raw)


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": "the reason", "type": "t", "code": None}},
        [{"error": {"code": 400, "message": "the reason", "status": "INVALID_ARGUMENT"}}],
        {"object": "error", "message": "the reason", "type": "BadRequestError", "code": 400},
        {"detail": [{"loc": ["body"], "msg": "the reason"}]},
        {"error": "the reason"},
        "the reason",
    ],
)
def test_the_reason_is_found_in_every_shape(body: Any) -> None:
    error = build(400, body)
    assert isinstance(error, ModelRequestError)
    assert "answered 400" in str(error)
    assert "the reason" in str(error)
    assert error.status_code == 400


@pytest.mark.parametrize(
    "body", ["", "{}", "[]", "null", "3", '{"error": null}', "<html>no</html>"]
)
def test_a_useless_body_still_makes_an_error(body: str) -> None:
    assert "answered 503" in str(build(503, body))


def test_a_long_body_is_cut() -> None:
    assert len(str(build(500, "x" * 50_000))) < 2100


def test_the_upstream_reason_is_shown() -> None:
    body = {"error": {"code": 429, "message": "Provider error", "metadata": {"raw": "busy"}}}
    assert "Provider error: busy" in str(build(429, body))


def test_the_server_may_decide_about_retries() -> None:
    assert isinstance(build(500, "x", x_should_retry="false"), ModelRequestError)
    assert isinstance(build(409, "x", x_should_retry="true"), ModelUnavailable)


def test_a_failed_sample_is_worth_another() -> None:
    error = build(400, {"error": {"message": "m", "code": "tool_use_failed"}})
    assert isinstance(error, ModelUnavailable)
    assert error.code == "tool_use_failed"


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-4"}, None),
        ({"x-ratelimit-reset-requests": "6s"}, 6),
        ({"x-ratelimit-reset-tokens": "1m2.5s"}, 62.5),
        ({"x-ratelimit-reset-tokens": "20ms"}, 0.02),
        (
            {
                "x-ratelimit-reset-requests": "6m0s",
                "x-ratelimit-remaining-requests": "5",
                "x-ratelimit-reset-tokens": "2s",
                "x-ratelimit-remaining-tokens": "0",
            },
            2,
        ),
        ({"x-ratelimit-reset-tokens": "0", "x-ratelimit-remaining-tokens": "-1"}, None),
    ],
)
def test_the_wait_that_is_asked_for(headers: dict[str, str], expected: float | None) -> None:
    assert retry_after_seconds(httpx.Headers(headers)) == pytest.approx(expected)


def test_a_wait_until_a_date() -> None:
    later = httpx.Headers({"retry-after": formatdate(time.time() + 60, usegmt=True)})
    assert retry_after_seconds(later) == pytest.approx(60, abs=2)
    past = httpx.Headers({"retry-after": formatdate(time.time() - 60, usegmt=True)})
    assert retry_after_seconds(past) == 0
    epoch = httpx.Headers({"x-ratelimit-reset": str(int((time.time() + 30) * 1000))})
    assert retry_after_seconds(epoch) == pytest.approx(30, abs=2)
