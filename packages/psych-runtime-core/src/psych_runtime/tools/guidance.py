"""What a model reads about a failure: what happened, and what to do about it."""

from __future__ import annotations

from typing import Final

_FIX_ARGUMENTS: Final = (
    "Nothing was executed. Correct what is named above and call the tool again; what is not "
    "named can stay as it is."
)
_RUN_OVER: Final = "That ended the run: no further tool call or turn belongs to it."
_MAYBE_DONE: Final = (
    "Whether it took effect is not known: it may have, and it may not. Do not repeat it blindly: "
    "look at the current state with another tool first, or tell the user and let them decide."
)
_PERMISSION: Final = (
    "This is a question of permission and not a mistake in the call, so other arguments or another "
    "try will not help. Find another way, or tell the user what is missing."
)

ADVICE: Final[dict[str, str]] = {
    "malformed_arguments": (
        "Nothing was executed. Call the tool again with one complete JSON object as arguments."
    ),
    "invalid_arguments": _FIX_ARGUMENTS,
    "unknown_tool": (
        "Nothing was executed. Call only tools that are offered in this conversation, by exactly "
        "their names."
    ),
    "denied": (
        "A person decided against this call, and it was not executed. Do not ask for it again in "
        "other words; ask the user how they want to go on."
    ),
    "approval_expired": (
        "Nobody decided on this call in time, and it was not executed. Say that it still waits "
        "for approval; ask for it again only when the user wants it."
    ),
    "access_denied": f"It was not executed. {_PERMISSION}",
    "repeated_call": (
        "It was not executed again. Use the result that is already there, change the arguments, "
        "or take another approach."
    ),
    "failure_streak": (f"The same tool failed too often in a row. {_RUN_OVER}"),
    "budget_exhausted": f"A limit on the work of one run was reached. {_RUN_OVER}",
    "duplicate_call_id": (
        "Nothing was executed, because two calls of one turn had the same id. Make the call again "
        "in a turn of its own."
    ),
    "not_executed": (
        "Nothing was executed and nothing changed, so the call can safely be made again if it is "
        "still needed."
    ),
    "too_many_calls": (
        "This call was not executed; the earlier ones of the turn were. Make it again in the next "
        "turn, and ask for fewer calls at once."
    ),
    "truncated": (
        "Nothing was executed, because the answer reached its length limit before the call was "
        "complete. Make the call again with shorter arguments, or split the work over several calls."
    ),
    "approval_required_in_program": (
        "It was not executed: a program cannot wait for a person. Call this tool directly, outside "
        "of the program."
    ),
    "binding_handle_not_yours": (
        "A program can read only results of its own run. Use a handle that was given to you here."
    ),
    "suspension_expired": f"The answer that was waited for did not come in time. {_RUN_OVER}",
    "orphaned": _MAYBE_DONE,
    "unknown": _MAYBE_DONE,
    "aborted": (
        "The call was stopped on request while it ran, so part of its effect may be there. Look "
        "before you repeat it, and repeat it only if it is still wanted."
    ),
    "attempts_exhausted": f"The process working on it ended too many times. {_RUN_OVER}",
    "attempt_failed": f"The runtime itself failed while working on it. {_RUN_OVER}",
    "tool_resolution": f"The tools that this agent is to have could not be set up. {_RUN_OVER}",
    "force_settled": _MAYBE_DONE,
    "deadline": (
        "The time for this run is over, and the call was stopped in an orderly way. Say what is "
        "done and what is left."
    ),
    "blob_store_required": (
        "The tool ran, but there is no place to keep a result of this size; another try ends the "
        "same way. Ask for less at once, with a filter, a page or a smaller range."
    ),
    "unstorable_result": (
        "The tool ran and its effect is there, but what it returned could not be recorded. Another "
        "try ends the same way and would repeat the effect: read the outcome with another tool."
    ),
    "compaction_failed": f"The conversation could not be shortened to fit the model. {_RUN_OVER}",
    "McpServerUnreachable": (
        "The system behind this tool does not answer. Try once more; if that fails too, go on "
        "without it and say so."
    ),
    "TimeoutError": (
        "It took too long and was given up, but it may still have taken effect. Check that before "
        "you try again, and ask for less at once if you can."
    ),
    "CancelledError": (
        "Something inside the tool was cancelled before it finished. Check what it did before you "
        "try again."
    ),
}
"""The advice per failure kind."""

_SAME_AS: Final = {
    "AccessDenied": "access_denied",
    "PermissionError": "access_denied",
    "CredentialNotFound": "access_denied",
    "DeadlineExceeded": "deadline",
    "SuspensionExpired": "suspension_expired",
}
_TRANSIENT: Final = (
    "This may pass: try once more, and if it fails again, go on without it and say so."
)
_LASTING: Final = (
    "The same call would fail the same way. Change the arguments if the message says what is "
    "wrong with them; otherwise find another way, or tell the user."
)


def failure_guidance(
    kind: str, message: str, *, transient: bool = False, traceback: str | None = None
) -> str:
    """Return what the model reads about a failure: the message, then advice for its kind.

    Args:
        kind: The failure's kind; one that is not known gets general advice.
        message: What happened.
        transient: Whether another try may help; decides the general advice.
        traceback: Added after the message; only for errors of a program the model wrote.
    """
    advice = ADVICE.get(_SAME_AS.get(kind, kind))
    if advice is None:
        advice = _TRANSIENT if transient else _LASTING
    parts = [f"{kind}: {message.strip()}" if message.strip() else kind]
    if traceback and traceback.strip():
        parts.append(traceback.strip())
    parts.append(advice)
    return "\n\n".join(parts)
