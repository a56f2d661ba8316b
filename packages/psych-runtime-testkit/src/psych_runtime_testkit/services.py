"""Services that a suite needs, such as a database server."""

from __future__ import annotations

import os

import pytest

REQUIRE_VARIABLE = "PSYCH_REQUIRE_SERVICES"
"""Set it to 1 where every service must be there: an absent one then fails instead of skipping."""


def services_required() -> bool:
    """Whether an absent service is a failure."""
    return os.environ.get(REQUIRE_VARIABLE) == "1"


def require_service(name: str, *, reachable: bool, hint: str = "") -> None:
    """Skip the calling test when a service is absent; fail it where services are required.

    Args:
        name: What is needed, such as ``"PostgreSQL"``.
        reachable: Whether it answered.
        hint: How to provide it, such as the variable that holds its URL.

    Raises:
        pytest.skip.Exception: It is absent and may be.
        pytest.fail.Exception: It is absent and ``PSYCH_REQUIRE_SERVICES`` is 1.
    """
    if reachable:
        return
    text = f"{name} is not reachable" + (f": {hint}" if hint else "")
    if services_required():
        pytest.fail(f"{text} ({REQUIRE_VARIABLE} is 1)", pytrace=False)
    pytest.skip(text)
