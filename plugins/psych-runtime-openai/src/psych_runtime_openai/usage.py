"""Token counters and costs, from whatever dialect the provider speaks."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Any

from psych_runtime.spec.usage import Cost, Usage


def find_usage(chunk: dict[str, Any]) -> dict[str, Any] | None:
    """Return the usage object of a chunk, or None."""
    usage = chunk.get("usage")
    if not isinstance(usage, dict):
        vendor = chunk.get("x_groq")
        usage = vendor.get("usage") if isinstance(vendor, dict) else None
    return usage if isinstance(usage, dict) and usage else None


def normalise_usage(raw: dict[str, Any]) -> Usage:
    """Return disjoint counters.

    In the chat dialect (``prompt_tokens``) cached tokens are part of the input and are taken out
    of it. In the messages dialect (``input_tokens`` beside ``cache_read_input_tokens``) the input
    leaves them out already.
    """
    details = _object(raw, "prompt_tokens_details") or _object(raw, "input_tokens_details")
    out_details = _object(raw, "completion_tokens_details") or _object(raw, "output_tokens_details")
    prompt = _count(raw, "prompt_tokens", "input_tokens")
    cached_inside = _count(details, "cached_tokens") or _count(raw, "prompt_cache_hit_tokens")
    read = cached_inside or _count(raw, "cache_read_input_tokens")
    written_inside = _count(details, "cache_write_tokens", "cache_creation_tokens")
    hour = _count(_object(raw, "cache_creation"), "ephemeral_1h_input_tokens")
    written = max(written_inside or _count(raw, "cache_creation_input_tokens"), hour)
    inside = cached_inside + written_inside
    if "prompt_tokens" in raw and not cached_inside:
        inside += read
    return Usage(
        input=max(0, prompt - inside),
        output=_count(raw, "completion_tokens", "output_tokens"),
        cache_read=read,
        cache_write=written,
        cache_write_1h=hour,
        reasoning=_count(out_details, "reasoning_tokens"),
    )


def find_cost(chunk: dict[str, Any], model: str) -> Cost | None:
    """Return what the provider says the call cost, if it says a usable figure (US dollars)."""
    hidden, usage = _object(chunk, "_hidden_params"), _object(chunk, "usage")
    for figure in (
        hidden.get("response_cost"),
        usage.get("response_cost"),
        usage.get("cost"),
        chunk.get("cost"),
    ):
        if isinstance(figure, bool) or not isinstance(figure, int | float | str):
            continue
        try:
            amount = Decimal(str(figure))
        except InvalidOperation:
            continue
        if amount.is_finite() and amount >= 0:
            return Cost(amount=amount, model=model, source="provider")
    return None


def _object(raw: dict[str, Any], key: str) -> dict[str, Any]:
    value = raw.get(key)
    return value if isinstance(value, dict) else {}


def _count(raw: dict[str, Any], *keys: str) -> int:
    for key in keys:
        value = raw.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 2**53:
            return int(value)
    return 0
