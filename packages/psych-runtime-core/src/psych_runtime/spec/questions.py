"""Questions that an agent or a workflow asks a person."""

from __future__ import annotations

from pydantic import Field

from psych_runtime.spec.base import FrozenValue

MAX_QUESTIONS = 4
"""How many questions may be asked at once."""

MAX_OPTIONS = 4
"""How many options one question may suggest."""


class QuestionOption(FrozenValue):
    """A suggested answer; the person may answer something else."""

    label: str = Field(min_length=1, max_length=80)
    description: str = Field(default="", max_length=400)
    """What choosing it means."""


class AskedQuestion(FrozenValue):
    """One question."""

    question: str = Field(min_length=1, max_length=2000)
    header: str = Field(default="", max_length=24)
    """A short label for it."""
    options: tuple[QuestionOption, ...] = Field(default=(), max_length=MAX_OPTIONS)
    multi_select: bool = False
    """Whether several options may apply."""
