from __future__ import annotations

import subprocess
import sys
from decimal import Decimal

import pytest
from psych_runtime.model.catalog import CatalogPrices
from psych_runtime.model.pricing import (
    DEFAULT_PRICE_CATALOG_VERSION,
    DEFAULT_PRICES,
    StaticPriceTable,
    compute_cost,
    resolve_cost,
)
from psych_runtime.ports.pricing import ModelPrice, PriceResolver
from psych_runtime.spec.usage import Cost, Usage


def price(amount: int, **more: object) -> ModelPrice:
    unit = Decimal(amount)
    return ModelPrice(input=unit, output=unit, cache_read=unit, cache_write=unit, **more)


A, B, C, D = price(1), price(2), price(3), price(4)


def test_exact_override_then_override_prefix_then_exact_then_prefix() -> None:
    table = StaticPriceTable({"m": A, "m-2024": B}, overrides={"m-2024-08": C, "m-x": D})
    assert table.price_for("m-2024-08") is C
    assert table.price_for("m-2024-08-06") is C
    assert table.price_for("m-x") is D
    assert table.price_for("m-2024") is B
    assert table.price_for("m-2024-11-20") is B
    assert table.price_for("m-2025-01-01") is A
    assert table.price_for("other") is None


def test_an_override_prefix_wins_over_an_exact_price() -> None:
    assert StaticPriceTable({"m-mini": A}, overrides={"m": B}).price_for("m-mini") is B


@pytest.mark.parametrize("model", ["gpt-4o", "gpt-4.1", "gpt-45", "gpt-4-turbo", "gpt-4-mini-2025"])
def test_a_shorter_id_never_prices_another_model(model: str) -> None:
    assert StaticPriceTable({"gpt-4": A}).price_for(model) is None


@pytest.mark.parametrize(
    "model",
    [
        "m-20240229",
        "m@20240229",
        "m-2024-08-06",
        "m:latest",
        "m-latest",
        "m-preview-05",
        "m-001",
        "m-09-2025",
    ],
)
def test_a_dated_or_tagged_id_is_priced_by_its_base(model: str) -> None:
    assert StaticPriceTable({"m": A}).price_for(model) is A


@pytest.mark.parametrize("model", ["m-5", "m-4-20250929", "m-32k", "m:free", "m:8b", "m-pro"])
def test_another_size_or_version_is_not_priced(model: str) -> None:
    assert StaticPriceTable({"m": A}).price_for(model) is None


def test_with_overrides_leaves_the_first_table_alone() -> None:
    table = StaticPriceTable({"m": A}, overrides={"x": B})
    more = table.with_overrides({"m": C})
    assert (table.price_for("m"), more.price_for("m"), more.price_for("x")) == (A, C, B)


def test_the_bundled_catalogue_is_dated_and_every_price_is_usable() -> None:
    catalogue = CatalogPrices()
    assert catalogue.document["version"] == DEFAULT_PRICE_CATALOG_VERSION
    assert len(catalogue) >= 40
    for model, listed in catalogue.items():
        assert listed.input > 0, model
        assert listed.cache_read <= listed.input <= listed.output, model
        assert DEFAULT_PRICES.price_for(model) == listed
    assert isinstance(DEFAULT_PRICES, PriceResolver)
    mini = DEFAULT_PRICES.price_for("gpt-4o-mini-2024-07-18")
    assert mini is not None
    assert mini.input == Decimal("0.15")
    assert DEFAULT_PRICES.price_for("claude-opus-4-99") is None


def test_the_catalogue_is_not_read_at_import() -> None:
    code = (
        "from psych_runtime.model.pricing import DEFAULT_PRICES as p;"
        "assert '_prices' not in vars(p._prices); assert p.price_for('gpt-4o');"
        "assert '_prices' in vars(p._prices)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_counter_is_multiplied_by_its_own_price() -> None:
    listed = ModelPrice(
        input=Decimal(1),
        output=Decimal(10),
        cache_read=Decimal(100),
        cache_write=Decimal(1000),
        cache_write_1h=Decimal(10000),
        currency="EUR",
    )
    usage = Usage(input=1, output=2, cache_read=3, cache_write=5, cache_write_1h=1, reasoning=2)
    cost = compute_cost("m", usage, listed)
    assert cost.input_amount == Decimal("0.000001")
    assert cost.output_amount == Decimal("0.00002")
    assert cost.cache_read_amount == Decimal("0.0003")
    assert cost.cache_write_amount == Decimal("0.014")
    assert cost.amount == Decimal("0.01432100")
    assert (cost.currency, cost.source, cost.model) == ("EUR", "computed", "m")


def test_the_one_hour_price_falls_back_to_the_cache_write_price() -> None:
    cost = compute_cost("m", Usage(cache_write=2_000_000, cache_write_1h=1_000_000), price(3))
    assert cost.amount == Decimal("6.00000000")


def test_rounding_is_half_even_at_eight_decimals() -> None:
    half = ModelPrice(
        input=Decimal("0.005"), output=Decimal(0), cache_read=Decimal(0), cache_write=Decimal(0)
    )
    assert compute_cost("m", Usage(input=1), half).amount == Decimal("0E-8")
    assert compute_cost("m", Usage(input=3), half).amount == Decimal("2E-8")


REPORTED = Cost(amount=Decimal("7"), model="m", source="provider")
TABLE = StaticPriceTable({"m": A})
MILLION = Usage(input=1_000_000)


@pytest.mark.parametrize(
    ("policy", "reported", "expected"),
    [
        ("prefer_provider", REPORTED, 7),
        ("prefer_provider", None, 1),
        ("computed", REPORTED, 1),
        ("provider_only", REPORTED, 7),
        ("provider_only", None, None),
    ],
)
def test_the_policy_decides(policy: str, reported: Cost | None, expected: int | None) -> None:
    cost = resolve_cost("m", MILLION, TABLE, reported, policy)  # type: ignore[arg-type]
    assert (None if cost is None else cost.amount) == expected


def test_an_unknown_cost_is_none_and_never_zero() -> None:
    assert resolve_cost("other", MILLION, TABLE, None) is None
    assert resolve_cost("m", MILLION, None, None) is None
    assert resolve_cost("m", Usage(), TABLE, None, usage_reported=False) is None
    assert resolve_cost("m", Usage(), TABLE, REPORTED, usage_reported=False) is REPORTED
