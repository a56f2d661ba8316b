"""When a tool that keeps failing, or a call that keeps repeating, is stopped."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StreakVerdict:
    """What to do about a tool that failed several times in a row.

    Attributes:
        tool: The tool.
        streak: How often it failed in a row.
        withhold: The tool is no longer offered in this Run.
        fail_turn: The Run fails with ``failure_streak``.
        advisory: What the model is told; empty when there is nothing to say.
    """

    tool: str
    streak: int
    withhold: bool
    fail_turn: bool
    advisory: str


@dataclass(frozen=True, slots=True)
class RepetitionVerdict:
    """What to do about a call that was already made, with the same result.

    Attributes:
        digest: Stands for the tool and its arguments.
        repeats: How many times in a row the call gave the same result, this one included.
        refuse: The call is answered with ``repeated_call`` and not made.
        fail_turn: The rest of the turn's calls is dropped.
        advisory: What the model is told; empty when there is nothing to say.
    """

    digest: str
    repeats: int
    refuse: bool
    fail_turn: bool
    advisory: str


def assess_streak(
    tool: str, streak: int, *, threshold: int = 3, hard_stop: int = 6
) -> StreakVerdict:
    """Judge a failure streak.

    Args:
        tool: The tool.
        streak: Failures since its last success, from the log.
        threshold: From here on the tool is withheld.
        hard_stop: From here on the Run fails.
    """
    withhold, fail = streak >= threshold, streak >= hard_stop
    advisory = ""
    if withhold:
        advisory = (
            f"The tool {tool} failed {streak} times in a row and cannot be called any more in "
            "this conversation. Go on without it, and say what could not be done."
        )
    return StreakVerdict(tool, streak, withhold, fail, advisory)


def assess_repetition(
    digest: str, repeats: int, *, threshold: int = 3, hard_stop: int = 6
) -> RepetitionVerdict:
    """Judge a call that would be made again.

    Args:
        digest: Stands for the tool and its arguments.
        repeats: 1 + how many times in a row the same call gave the same result.
        threshold: From here on the call is refused.
        hard_stop: From here on the rest of the turn is dropped as well.
    """
    refuse, fail = repeats >= threshold, repeats >= hard_stop
    advisory = ""
    if refuse:
        advisory = (
            f"This call was already made {repeats - 1} times in a row with these arguments, and "
            "returned the same every time."
        )
    return RepetitionVerdict(digest, repeats, refuse, fail, advisory)
