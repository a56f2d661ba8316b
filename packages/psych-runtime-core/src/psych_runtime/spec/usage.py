"""What model calls used and what they cost."""

from __future__ import annotations

from decimal import Decimal
from typing import Literal, Self

from pydantic import Field, model_validator

from psych_runtime.spec.base import FrozenValue

MIXED_MODEL = "<mixed>"
"""`Cost.model` of a sum over several models."""


class Usage(FrozenValue):
    """Token counts; ``+`` adds field by field."""

    input: int = Field(default=0, ge=0)
    """Prompt tokens that were neither read from nor written to the provider's cache."""
    output: int = Field(default=0, ge=0)
    """Generated tokens, reasoning included."""
    cache_read: int = Field(default=0, ge=0)
    """Prompt tokens read from the cache."""
    cache_write: int = Field(default=0, ge=0)
    """Prompt tokens written to the cache."""
    cache_write_1h: int = Field(default=0, ge=0)
    """The part of ``cache_write`` that is kept for an hour."""
    reasoning: int = Field(default=0, ge=0)
    """The part of ``output`` spent on reasoning; for information."""

    @model_validator(mode="after")
    def _part_of_cache_write(self) -> Self:
        if self.cache_write_1h > self.cache_write:
            raise ValueError(
                f"cache_write_1h is {self.cache_write_1h}, more than the cache_write of "
                f"{self.cache_write} that it is a part of"
            )
        return self

    @property
    def total_billable(self) -> int:
        """All tokens that are paid for: input, output, cache reads and cache writes."""
        return self.input + self.output + self.cache_read + self.cache_write

    def __add__(self, other: Usage) -> Usage:
        if not isinstance(other, Usage):
            return NotImplemented
        return Usage(
            input=self.input + other.input,
            output=self.output + other.output,
            cache_read=self.cache_read + other.cache_read,
            cache_write=self.cache_write + other.cache_write,
            cache_write_1h=self.cache_write_1h + other.cache_write_1h,
            reasoning=self.reasoning + other.reasoning,
        )


class Cost(FrozenValue):
    """An amount of money for one model call or for a sum of them.

    Adding two costs of different currencies raises `ValueError`. A part that one of them lacks is
    None in the sum.
    """

    amount: Decimal = Field(ge=0)
    """The total, exact."""
    currency: str = Field(default="USD", min_length=3, max_length=3, pattern=r"^[A-Z]{3}$")
    """ISO 4217 code."""
    model: str = Field(min_length=1)
    """The model's id, or ``<mixed>`` in a sum over several."""
    source: Literal["computed", "provider", "mixed"] = "computed"
    """Computed from a price table, stated by the provider, or a sum of both."""
    input_amount: Decimal | None = Field(default=None, ge=0)
    output_amount: Decimal | None = Field(default=None, ge=0)
    cache_read_amount: Decimal | None = Field(default=None, ge=0)
    cache_write_amount: Decimal | None = Field(default=None, ge=0)

    @property
    def has_breakdown(self) -> bool:
        """Whether all four parts are known."""
        return None not in (
            self.input_amount,
            self.output_amount,
            self.cache_read_amount,
            self.cache_write_amount,
        )

    def __add__(self, other: Cost) -> Cost:
        if not isinstance(other, Cost):
            return NotImplemented
        if self.currency != other.currency:
            raise ValueError(
                f"cannot add {self.amount} {self.currency} and {other.amount} {other.currency}: "
                "convert one of them first"
            )
        return Cost(
            amount=self.amount + other.amount,
            currency=self.currency,
            model=self.model if self.model == other.model else MIXED_MODEL,
            source=self.source if self.source == other.source else "mixed",
            input_amount=_sum(self.input_amount, other.input_amount),
            output_amount=_sum(self.output_amount, other.output_amount),
            cache_read_amount=_sum(self.cache_read_amount, other.cache_read_amount),
            cache_write_amount=_sum(self.cache_write_amount, other.cache_write_amount),
        )


def _sum(one: Decimal | None, other: Decimal | None) -> Decimal | None:
    return None if one is None or other is None else one + other
