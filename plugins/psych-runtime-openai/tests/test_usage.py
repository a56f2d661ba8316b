from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from psych_runtime.spec.usage import Usage
from psych_runtime_openai.usage import find_cost, normalise_usage


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ({"prompt_tokens": 10, "completion_tokens": 4}, Usage(input=10, output=4)),
        (
            {"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 7}},
            Usage(input=3, cache_read=7),
        ),
        (
            {
                "prompt_tokens": 100,
                "prompt_tokens_details": {"cached_tokens": 20, "cache_write_tokens": 30},
            },
            Usage(input=50, cache_read=20, cache_write=30),
        ),
        (
            {"prompt_tokens": 80, "cache_creation_input_tokens": 30},
            Usage(input=80, cache_write=30),
        ),
        (
            {
                "input_tokens": 5,
                "output_tokens": 6,
                "cache_read_input_tokens": 7,
                "cache_creation_input_tokens": 8,
                "cache_creation": {"ephemeral_1h_input_tokens": 3},
            },
            Usage(input=5, output=6, cache_read=7, cache_write=8, cache_write_1h=3),
        ),
        (
            {
                "input_tokens": 10,
                "output_tokens": 6,
                "input_tokens_details": {"cached_tokens": 4},
                "output_tokens_details": {"reasoning_tokens": 2},
            },
            Usage(input=6, output=6, cache_read=4, reasoning=2),
        ),
        (
            {"prompt_tokens": 10, "prompt_cache_hit_tokens": 4, "prompt_cache_miss_tokens": 6},
            Usage(input=6, cache_read=4),
        ),
        (
            {"cache_creation": {"ephemeral_1h_input_tokens": 9}, "cache_creation_input_tokens": 2},
            Usage(cache_write=9, cache_write_1h=9),
        ),
        (
            {"prompt_tokens": 3, "prompt_tokens_details": {"cached_tokens": 9}},
            Usage(cache_read=9),
        ),
        (
            {"prompt_tokens": None, "completion_tokens": -1, "prompt_tokens_details": None},
            Usage(),
        ),
        ({"prompt_tokens": "ten", "completion_tokens": True}, Usage()),
    ],
)
def test_every_dialect_gives_disjoint_counters(raw: dict[str, Any], expected: Usage) -> None:
    assert normalise_usage(raw) == expected


@pytest.mark.parametrize(
    ("chunk", "expected"),
    [
        ({"_hidden_params": {"response_cost": 1}, "usage": {"cost": 2}, "cost": 3}, "1"),
        ({"usage": {"response_cost": 2, "cost": 3}}, "2"),
        ({"usage": {"cost": 1e-05}, "cost": 3}, "0.00001"),
        ({"usage": {"cost": -1}, "cost": "0.5"}, "0.5"),
        ({"usage": {"cost": 0}}, "0"),
        ({"usage": {"cost": None}, "cost": "free"}, None),
        ({"cost": True}, None),
        ({"cost": float("nan")}, None),
        ({}, None),
    ],
)
def test_the_first_usable_figure_is_the_cost(chunk: dict[str, Any], expected: str | None) -> None:
    cost = find_cost(chunk, "m")
    assert (None if cost is None else cost.amount) == (expected and Decimal(expected))
