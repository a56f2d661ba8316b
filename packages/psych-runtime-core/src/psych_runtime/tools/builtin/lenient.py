"""Reading what models write when they half follow a schema. Nothing here raises."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping
from typing import Any


def text(value: Any, limit: int) -> str:
    """Return a scalar as stripped text of at most ``limit`` characters; "" for anything else."""
    if isinstance(value, bool):
        words = "yes" if value else "no"
    elif isinstance(value, str):
        # Half of a surrogate pair is no character, and not accepted as text.
        words = value if value.isascii() else value.encode("utf-8", "replace").decode()
    elif isinstance(value, int | float):
        words = number_text(value)
    else:
        return ""
    words = words.strip()
    return words if len(words) <= limit else words[: limit - 1].rstrip() + "…"


def number_text(value: float) -> str:
    """Return a number as text; "" for one too long to write."""
    try:
        return f"{value:g}" if isinstance(value, float) else str(value)
    except ValueError:
        return ""


def number(value: Any) -> int | float | None:
    """Return a finite number, also from text such as ``"1,250"``; else None."""
    if isinstance(value, str):
        try:
            value = float(value.replace(",", "").replace("_", "").strip().removesuffix("%"))
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def first(source: dict[str, Any], *keys: str) -> Any:
    """Return the value of the first key that is there and is not None; else None."""
    for key in keys:
        if source.get(key) is not None:
            return source[key]
    return None


def items(value: Any) -> list[Any]:
    """Return a list as it is, nothing as an empty list, and anything else as its only item."""
    value = opened(value)
    if value is None or value == "":
        return []
    return value if isinstance(value, list) else [value]


def opened(value: Any) -> Any:
    """Return the object or list inside a text that is JSON; any other value as it is."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            inner = json.loads(value)
        except (ValueError, RecursionError):
            return value
        return inner
    return value


def unwrapped(arguments: Any, key: str) -> Any:
    """Return what is under ``key``, or the arguments themselves when that key is missing."""
    arguments = opened(arguments)
    if isinstance(arguments, dict) and key in arguments:
        return opened(arguments[key])
    return arguments


def flag(value: Any) -> bool:
    """Return whether a value says yes."""
    if isinstance(value, str):
        return value.strip().casefold() in ("true", "yes", "1", "on")
    return value is True or (not isinstance(value, bool) and value == 1)


def word(value: Any, meanings: Mapping[str, Collection[str]]) -> str | None:
    """Return the key of ``meanings`` that the value is, or has as one of its other words."""
    if not isinstance(value, str):
        return None
    said = value.strip().casefold().replace("-", "_").replace(" ", "_")
    for meaning, others in meanings.items():
        if said == meaning or said in others:
            return meaning
    return None
