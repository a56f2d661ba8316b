import pytest
from psych_runtime.tools.guards import assess_repetition, assess_streak


@pytest.mark.parametrize(
    ("streak", "withhold", "fail"),
    [(0, False, False), (2, False, False), (3, True, False), (5, True, False), (6, True, True)],
)
def test_streak(streak: int, withhold: bool, fail: bool) -> None:
    verdict = assess_streak("lookup", streak)
    assert (verdict.tool, verdict.streak) == ("lookup", streak)
    assert (verdict.withhold, verdict.fail_turn) == (withhold, fail)
    assert ("lookup" in verdict.advisory) == withhold


@pytest.mark.parametrize(
    ("repeats", "refuse", "fail"),
    [(1, False, False), (2, False, False), (3, True, False), (6, True, True)],
)
def test_repetition(repeats: int, refuse: bool, fail: bool) -> None:
    verdict = assess_repetition("abc", repeats)
    assert (verdict.digest, verdict.repeats) == ("abc", repeats)
    assert (verdict.refuse, verdict.fail_turn) == (refuse, fail)
    assert bool(verdict.advisory) == refuse


def test_limits_are_the_caller_s() -> None:
    assert assess_streak("t", 1, threshold=1, hard_stop=1).fail_turn
    assert not assess_repetition("d", 9, threshold=10, hard_stop=10).refuse
    assert "2 times" in assess_repetition("d", 3).advisory
