"""Free-form parts of a Spec: plain JSON, the same whether it came from Python, a dict or a file."""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import Enum
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator

MAX_DEPTH = 100
"""How deep lists and objects may be nested in one free-form value."""

MAX_INT_DIGITS = 4300
"""The longest integer, in decimal digits; what JSON readers accept."""

_INT_LIMIT: int = 10**MAX_INT_DIGITS


def plain_json(value: Any) -> Any:
    """Copy a value as None, bool, int, finite float, text, list and dict with text keys.

    Tuples become lists and enum members their values.

    Raises:
        ValueError: It holds anything else; the message names the place.
    """
    return _plain(value, "", 0, False)


def sorted_json(value: Any) -> Any:
    """Like `plain_json`, with the keys of every object in order."""
    return _plain(value, "", 0, True)


JsonValue = Annotated[Any, BeforeValidator(plain_json)]
JsonObject = Annotated[dict[str, Any], BeforeValidator(plain_json)]


def _plain(value: Any, path: str, depth: int, in_order: bool) -> Any:
    if isinstance(value, Enum):
        value = value.value
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return checked_text(str.__str__(value), path)
    if isinstance(value, int):
        if not -_INT_LIMIT < value < _INT_LIMIT:
            raise ValueError(f"{_at(path)} is an integer of more than {MAX_INT_DIGITS} digits")
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{_at(path)} is {value}: JSON has no such number")
        return float(value)
    if depth >= MAX_DEPTH:
        raise ValueError(f"{_at(path[:60])} is nested more than {MAX_DEPTH} levels deep")
    if isinstance(value, list | tuple):
        return [_plain(item, f"{path}[{i}]", depth + 1, in_order) for i, item in enumerate(value)]
    if isinstance(value, Mapping):
        return _object(value, path, depth, in_order)
    kind = type(value)
    hint = "call .model_dump(mode='json') on it" if isinstance(value, BaseModel) else "use JSON"
    raise ValueError(
        f"{_at(path)} is a {kind.__module__}.{kind.__qualname__}, which is not JSON: {hint} "
        "(None, bool, number, text, list or dict)"
    )


def _object(value: Mapping[Any, Any], path: str, depth: int, in_order: bool) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, item in value.items():
        if isinstance(key, Enum):
            key = key.value
        if not isinstance(key, str):
            raise ValueError(f"{_at(path)} has the key {key!r}: keys must be text")
        text = checked_text(str.__str__(key), f"{path} (a key)")
        where = f"{path}.{text}" if path else text
        result[text] = _plain(item, where, depth + 1, in_order)
    return dict(sorted(result.items())) if in_order else result


def checked_text(text: str, path: str) -> str:
    """Return ``text`` if it can be stored as UTF-8.

    Raises:
        ValueError: It holds half of a surrogate pair.
    """
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"{_at(path)} has the lone surrogate U+{ord(text[error.start]):04X} at position "
            f"{error.start}: it is no character and cannot be stored as UTF-8. Remove it"
        ) from None
    return text


def _at(path: str) -> str:
    return path or "the value"
