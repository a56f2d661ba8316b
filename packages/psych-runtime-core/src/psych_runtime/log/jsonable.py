"""Turning what tools and callers hand over into plain JSON values, the same on every store."""

from __future__ import annotations

import base64
import dataclasses
import ipaddress
from collections.abc import Mapping, Set
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any
from uuid import UUID

from pydantic import BaseModel

from psych_runtime.errors import UnstorableValueError

MAX_DEPTH = 150
"""How many lists and objects may be nested in one value."""

MAX_INT_DIGITS = 4300
"""The longest integer, in decimal digits, that every JSON reader in the runtime accepts."""

_INT_LIMIT: int = 10**MAX_INT_DIGITS
_BY_TEXT = (
    Decimal,
    UUID,
    PurePath,
    ipaddress.IPv4Address,
    ipaddress.IPv6Address,
    ipaddress.IPv4Network,
    ipaddress.IPv6Network,
)


def to_json_value(value: Any) -> Any:
    """Return ``value`` as None, bool, int, float, str, list and dict with str keys, only.

    Containers are copied, so a later change of ``value`` does not reach the log. Pydantic models
    and dataclasses become objects; sets and tuples lists (a set is sorted where it can be, so the
    same set gives the same log); enums their values; bytes base64 text; Decimal, UUID, paths and
    dates text; a timedelta its seconds. NaN and infinities stay floats.

    Raises:
        UnstorableValueError: The value holds something else, contains itself, is nested deeper
            than `MAX_DEPTH`, has an integer over `MAX_INT_DIGITS` digits, or two keys that are
            the same text. The message names the path and the type.
    """
    kind = type(value)
    if kind is str or value is None or kind is bool or kind is float:
        return value
    try:
        return _copy(value, 0)
    except _NeedsCare:
        return _convert(value, (), [])


class _NeedsCare(Exception):
    """The value is not plain JSON already, or too deep: take the way that can say where."""


def _copy(value: Any, depth: int) -> Any:
    """Copy plain JSON, which nearly every value is, without keeping track of where we are."""
    kind = type(value)
    if kind is str or value is None or kind is bool or kind is float:
        return value
    if kind is int and -_INT_LIMIT < value < _INT_LIMIT:
        return value
    if depth >= MAX_DEPTH:
        raise _NeedsCare
    if kind is dict:
        copy = {}
        for key, item in value.items():
            if type(key) is not str:
                raise _NeedsCare
            copy[key] = _copy(item, depth + 1)
        return copy
    if kind is list:
        return [_copy(item, depth + 1) for item in value]
    raise _NeedsCare


def _convert(value: Any, path: tuple[object, ...], parents: list[int]) -> Any:
    kind = type(value)
    if kind is str or value is None or kind is bool or kind is float:
        return value
    if kind is int:
        return _checked_int(value, path)
    if kind is dict:
        _enter(value, path, parents)
        result = {
            (key if type(key) is str else _key(key, path)): _convert(item, (*path, key), parents)
            for key, item in value.items()
        }
        if len(result) != len(value):
            raise _refused(path, "two keys that are the same text once they are JSON keys")
        parents.pop()
        return result
    if kind is list or kind is tuple:
        _enter(value, path, parents)
        items = [_convert(item, (*path, index), parents) for index, item in enumerate(value)]
        parents.pop()
        return items
    return _convert_other(value, path, parents)


def _convert_other(value: Any, path: tuple[object, ...], parents: list[int]) -> Any:
    if isinstance(value, Enum):
        return _convert(value.value, path, parents)
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return _checked_int(int(value), path)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, _BY_TEXT) or _is_pydantic_text(value):
        return str(value)
    inner = _opened(value, path)
    _enter(value, path, parents)
    plain = _convert(inner, path, parents)
    parents.pop()
    return plain


def _opened(value: Any, path: tuple[object, ...]) -> Any:
    """The dict or list that stands for a container that is neither."""
    if isinstance(value, BaseModel):
        return value.model_dump()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {item.name: getattr(value, item.name) for item in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Set):
        return _in_order(value)
    if isinstance(value, list | tuple):
        return list(value)
    kind = type(value)
    raise _refused(path, f"a value of type {kind.__module__}.{kind.__qualname__}")


def _in_order(value: Set[Any]) -> list[Any]:
    try:
        return sorted(value)
    except TypeError:
        return sorted(value, key=lambda item: (type(item).__qualname__, repr(item)))


def _is_pydantic_text(value: Any) -> bool:
    """URLs and masked secrets: their text is what may be stored."""
    module = type(value).__module__
    return module.startswith(("pydantic.networks", "pydantic_core", "pydantic.types"))


def _key(key: Any, path: tuple[object, ...]) -> str:
    if isinstance(key, Enum):
        key = key.value
    if isinstance(key, str):
        return str.__str__(key)
    if key is None:
        return "null"
    if isinstance(key, bool):
        return "true" if key else "false"
    if isinstance(key, int):
        return str(_checked_int(int(key), path))
    if isinstance(key, float):
        return repr(float(key))
    if isinstance(key, datetime | date | time):
        return key.isoformat()
    if isinstance(key, _BY_TEXT):
        return str(key)
    kind = type(key)
    raise _refused(path, f"a key of type {kind.__module__}.{kind.__qualname__}")


def _checked_int(value: int, path: tuple[object, ...]) -> int:
    if -_INT_LIMIT < value < _INT_LIMIT:
        return value
    raise _refused(path, f"an integer of more than {MAX_INT_DIGITS} digits")


def _enter(value: Any, path: tuple[object, ...], parents: list[int]) -> None:
    if id(value) in parents:
        raise _refused(path, "a value that contains itself")
    if len(parents) >= MAX_DEPTH:
        raise _refused(path[:6], f"a value nested more than {MAX_DEPTH} levels deep")
    parents.append(id(value))


def _refused(path: tuple[object, ...], what: str) -> UnstorableValueError:
    where = "".join(f"[{key!r}]" for key in path)
    at = f"at {where}" if where else "as the value itself"
    return UnstorableValueError(
        f"cannot store {what} ({at}): pass JSON-like data (text, numbers, lists, dicts), "
        "or a pydantic model or dataclass of such"
    )
