"""What a model call costs: a price table, the arithmetic, and which figure wins."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import Final

from psych_runtime.model.catalog import DEFAULT_PRICE_CATALOG_VERSION, CatalogPrices
from psych_runtime.ports.pricing import CostPolicy, ModelPrice, PriceResolver
from psych_runtime.spec.usage import Cost, Usage

__all__ = [
    "DEFAULT_PRICES",
    "DEFAULT_PRICE_CATALOG_VERSION",
    "StaticPriceTable",
    "compute_cost",
    "resolve_cost",
]

_BOUNDARY = re.compile(r"[-:@]")
_ANOTHER_MODEL = re.compile(
    r"[-:@](mini|nano|micro|tiny|small|medium|large|lite|flash|fast|turbo|plus|pro|max|ultra"
    r"|audio|realtime|image|vision|tts|transcribe|search|codex|deep|embed\w*|free|batch"
    r"|\d+[bkm])\b"
    r"|^[-:](\d|\d\d(?!-\d\d(\d\d)?\b))\b"
)
_MILLION = Decimal(1_000_000)
_PLACES = Decimal("0.00000001")
_WIDE = Context(prec=100, rounding=ROUND_HALF_EVEN)


class StaticPriceTable:
    """A `PriceResolver` over fixed prices.

    A model id is looked up exactly first. An id with a suffix (a date, a revision, a tag) is
    priced by the longest id in the table that it starts with and that ends at a ``-``, ``:`` or
    ``@``: ``gpt-4o`` prices ``gpt-4o-2024-08-06``, and never ``gpt-4o1``. A suffix that names
    another size, kind or version (``-mini``, ``-32k``, ``:free``, ``-5`` ...) means another model,
    whose price is not known.

    Overrides are asked before prices, exactly and then by prefix; since an override is the
    host's own statement, its prefix applies to every suffix.

    Args:
        prices: Price per model id.
        overrides: Prices that win over ``prices``.
    """

    def __init__(
        self,
        prices: Mapping[str, ModelPrice],
        *,
        overrides: Mapping[str, ModelPrice] | None = None,
    ) -> None:
        lazy = isinstance(prices, CatalogPrices)
        self._prices: Mapping[str, ModelPrice] = prices if lazy else dict(prices)
        self._overrides = dict(overrides or {})

    def price_for(self, model: str) -> ModelPrice | None:
        """Return the price of ``model``, or None."""
        if self._overrides:
            if (price := self._overrides.get(model)) is not None:
                return price
            for prefix, _ in _prefixes(model):
                if (price := self._overrides.get(prefix)) is not None:
                    return price
        if (price := self._prices.get(model)) is not None:
            return price
        for prefix, suffix in _prefixes(model):
            if (price := self._prices.get(prefix)) is not None:
                return None if _ANOTHER_MODEL.search(suffix) else price
        return None

    def with_overrides(self, overrides: Mapping[str, ModelPrice]) -> StaticPriceTable:
        """Return a new table with these overrides on top of the present ones."""
        return StaticPriceTable(self._prices, overrides={**self._overrides, **overrides})


def _prefixes(model: str) -> Iterator[tuple[str, str]]:
    """Yield ``(prefix, suffix)`` at every boundary of ``model``, longest prefix first."""
    for at in reversed([found.start() for found in _BOUNDARY.finditer(model)]):
        yield model[:at], model[at:]


DEFAULT_PRICES: Final = StaticPriceTable(CatalogPrices())
"""Public list prices of well-known models, as of `DEFAULT_PRICE_CATALOG_VERSION`. Read when the
first price is asked for. Replace what you pay differently with ``with_overrides``."""


def compute_cost(model: str, usage: Usage, price: ModelPrice) -> Cost:
    """Multiply counters by prices, in Decimal, rounded half-even to 8 decimals."""
    write_1h = price.cache_write if price.cache_write_1h is None else price.cache_write_1h
    parts = (
        usage.input * price.input,
        usage.output * price.output,
        usage.cache_read * price.cache_read,
        (usage.cache_write - usage.cache_write_1h) * price.cache_write
        + usage.cache_write_1h * write_1h,
    )
    read, written, cached, stored = (_round(part) for part in parts)
    return Cost(
        amount=_round(sum(parts, Decimal(0))),
        currency=price.currency,
        model=model,
        source="computed",
        input_amount=read,
        output_amount=written,
        cache_read_amount=cached,
        cache_write_amount=stored,
    )


def _round(per_million: Decimal) -> Decimal:
    return _WIDE.divide(per_million, _MILLION).quantize(_PLACES, context=_WIDE)


def resolve_cost(
    model: str,
    usage: Usage,
    resolver: PriceResolver | None,
    reported: Cost | None,
    policy: CostPolicy = "prefer_provider",
    *,
    usage_reported: bool = True,
) -> Cost | None:
    """Decide what one model call cost.

    Args:
        model: The model id that was called.
        usage: Its counters.
        resolver: Where prices come from; None knows none.
        reported: What the provider said, if anything.
        policy: Which figure wins.
        usage_reported: False: the counters mean nothing, so nothing is computed.

    Returns:
        The cost, or None when it is not known. An unknown cost is never 0.
    """
    if policy == "provider_only":
        return reported
    if policy == "prefer_provider" and reported is not None:
        return reported
    if resolver is None or not usage_reported:
        return None
    price = resolver.price_for(model)
    return None if price is None else compute_cost(model, usage, price)
