"""The bundled price catalogue, read on first use."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from decimal import Decimal
from functools import cached_property
from importlib import resources
from typing import Any, Final

from psych_runtime.ports.pricing import ModelPrice

DEFAULT_PRICE_CATALOG_VERSION: Final = "2026-09-10"
"""Date of the bundled catalogue. Prices change and discounts differ: override what you pay."""


class CatalogPrices(Mapping[str, ModelPrice]):
    """The bundled prices by model id. The file is not read before a price is asked for."""

    @cached_property
    def document(self) -> dict[str, Any]:
        """The whole catalogue: ``version``, ``currency`` and ``prices``."""
        text = resources.files(__package__).joinpath("prices.json").read_text("utf-8")
        document: dict[str, Any] = json.loads(text)
        return document

    @cached_property
    def _prices(self) -> dict[str, ModelPrice]:
        currency = self.document["currency"]
        return {
            model: ModelPrice(
                **{name: Decimal(price) for name, price in prices.items()}, currency=currency
            )
            for model, prices in self.document["prices"].items()
        }

    def __getitem__(self, model: str) -> ModelPrice:
        return self._prices[model]

    def __iter__(self) -> Iterator[str]:
        return iter(self._prices)

    def __len__(self) -> int:
        return len(self._prices)
