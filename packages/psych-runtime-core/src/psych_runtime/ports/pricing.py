"""The price port: what a model costs."""

from __future__ import annotations

from decimal import Decimal
from typing import Literal, Protocol, runtime_checkable

from pydantic import BaseModel, ConfigDict, Field

CostPolicy = Literal["prefer_provider", "computed", "provider_only"]
"""Which figure becomes a call's cost: the provider's and else a computed one (the usual), only
the computed one, or only the provider's."""


class ModelPrice(BaseModel):
    """Prices of one model, per million tokens."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    input: Decimal = Field(ge=0)
    """Input tokens that no cache served."""
    output: Decimal = Field(ge=0)
    """Output tokens, reasoning included."""
    cache_read: Decimal = Field(ge=0)
    cache_write: Decimal = Field(ge=0)
    cache_write_1h: Decimal | None = Field(default=None, ge=0)
    """Tokens written to the one-hour cache; None: the same as ``cache_write``."""
    currency: str = Field(default="USD", pattern=r"^[A-Z]{3}$")
    """ISO 4217 code."""


@runtime_checkable
class PriceResolver(Protocol):
    """Knows prices. Called once per model call, so it must be fast and do no I/O."""

    def price_for(self, model: str) -> ModelPrice | None:
        """Return the price of a model id, or None when it is not known. Never guess."""
        ...
