import pytest
from psych_runtime.tools.guidance import ADVICE, failure_guidance

KINDS = [
    "malformed_arguments",
    "invalid_arguments",
    "unknown_tool",
    "denied",
    "access_denied",
    "repeated_call",
    "failure_streak",
    "budget_exhausted",
    "duplicate_call_id",
    "not_executed",
    "approval_required_in_program",
    "binding_handle_not_yours",
    "suspension_expired",
    "orphaned",
    "attempts_exhausted",
    "attempt_failed",
    "tool_resolution",
    "force_settled",
    "deadline",
    "blob_store_required",
    "compaction_failed",
    "McpServerUnreachable",
    "TimeoutError",
    "approval_expired",
    "truncated",
    "unstorable_result",
    "too_many_calls",
    "aborted",
    "unknown",
]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_advice_of_its_own(kind: str) -> None:
    text = failure_guidance(kind, "what happened")
    assert text.startswith(f"{kind}: what happened\n\n")
    assert text.endswith(ADVICE[kind])
    assert failure_guidance(kind, "what happened", transient=True) == text


def test_other_kinds_get_general_advice() -> None:
    once = failure_guidance("KeyError", "k")
    maybe = failure_guidance("ConnectError", "refused", transient=True)
    assert "same way" in once
    assert "try once more" in maybe


def test_an_error_class_is_advised_like_its_kind() -> None:
    assert failure_guidance("AccessDenied", "no").endswith(ADVICE["access_denied"])


def test_what_may_have_happened_is_said_to_be_unknown() -> None:
    for kind in ("orphaned", "unknown", "force_settled"):
        assert "not known" in failure_guidance(kind, "x")
    for kind in ("not_executed", "truncated", "malformed_arguments", "duplicate_call_id"):
        assert "Nothing was executed" in failure_guidance(kind, "x")


def test_a_traceback_stands_before_the_advice() -> None:
    text = failure_guidance("KeyError", "k", traceback="Traceback: line 3\n")
    assert text.split("\n\n")[1] == "Traceback: line 3"


def test_an_empty_message_is_left_out() -> None:
    assert failure_guidance("KeyError", " ").startswith("KeyError\n\n")
