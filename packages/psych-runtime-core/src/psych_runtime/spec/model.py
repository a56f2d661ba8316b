"""Which model an agent uses."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from psych_runtime.spec.base import SpecModel


class ModelRef(SpecModel):
    """A model and its sampling settings; None leaves a setting to the provider."""

    model: str = Field(min_length=1, max_length=256)
    """The model's id, handed to the `ModelClient` as it is."""
    temperature: float | None = Field(default=None, ge=0, le=2)
    top_p: float | None = Field(default=None, gt=0, le=1)
    max_output_tokens: int | None = Field(default=None, gt=0)
    """Limit of one answer, in tokens."""
    reasoning_effort: Literal["low", "medium", "high"] | None = None
    fallbacks: tuple[str, ...] = ()
    """Models to try, in this order, when the first one fails for a passing reason."""
