from __future__ import annotations

import dataclasses
import json
import uuid
from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from ipaddress import ip_address
from pathlib import PurePosixPath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from psych_runtime.errors import UnstorableValueError
from psych_runtime.log.jsonable import MAX_DEPTH, MAX_INT_DIGITS, to_json_value
from pydantic import AnyUrl, BaseModel, SecretStr

TEXT = st.text(st.characters(), max_size=8)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=20,
)


class Colour(Enum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


class Word(StrEnum):
    YES = "yes"


@dataclasses.dataclass
class Point:
    x: int
    tags: tuple[str, ...]


class Order(BaseModel):
    id: uuid.UUID
    total: Decimal
    parts: list[Point]


class Wrapped(Mapping[str, Any]):
    def __init__(self, **items: Any) -> None:
        self._items = items

    def __getitem__(self, key: str) -> Any:
        return self._items[key]

    def __iter__(self) -> Any:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)


ID = uuid.UUID("12345678-1234-5678-1234-567812345678")


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (Decimal("1.10"), "1.10"),
        (datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), "2026-01-02T03:04:05+00:00"),
        (date(2026, 1, 2), "2026-01-02"),
        (time(3, 4), "03:04:00"),
        (timedelta(minutes=1.5), 90.0),
        (ID, str(ID)),
        (b"\x00\xff", "AP8="),
        (bytearray(b"a"), "YQ=="),
        ({3, 1, 2}, [1, 2, 3]),
        (frozenset({"b", 1}), [1, "b"]),
        ((1, (2,)), [1, [2]]),
        (Colour.RED, "red"),
        (Level.HIGH, 3),
        (Word.YES, "yes"),
        (Point(1, ("a",)), {"x": 1, "tags": ["a"]}),
        (Wrapped(a=(1,)), {"a": [1]}),
        (ip_address("10.0.0.1"), "10.0.0.1"),
        (PurePosixPath("a/b"), "a/b"),
        (AnyUrl("https://example.com/x"), "https://example.com/x"),
        (SecretStr("hunter2"), "**********"),
        (
            Order(id=ID, total=Decimal(2), parts=[Point(1, ())]),
            {"id": str(ID), "total": "2", "parts": [{"x": 1, "tags": []}]},
        ),
        (
            {None: "a", True: "b", 7: "c", 2.5: "d", Colour.RED: "e", ID: "f"},
            {"null": "a", "true": "b", "7": "c", "2.5": "d", "red": "e", str(ID): "f"},
        ),
    ],
)
def test_known_types_become_plain_json(value: object, plain: object) -> None:
    result = to_json_value({"deep": [value]})["deep"][0]
    assert result == plain
    assert type(result) is type(plain)
    assert to_json_value(value) == plain
    json.dumps(result)


@given(PLAIN)
def test_plain_json_is_kept_as_it_is(value: object) -> None:
    copied = to_json_value(value)
    assert repr(copied) == repr(value)
    assert to_json_value(copied) == copied or "nan" in repr(value)


def test_containers_are_copied() -> None:
    value = {"list": [1, {"a": 1}]}
    copied = to_json_value(value)
    value["list"][1]["a"] = 2  # type: ignore[index]
    assert copied == {"list": [1, {"a": 1}]}


def test_a_subclass_of_a_plain_type_becomes_the_plain_type() -> None:
    class Shout(str):
        def __str__(self) -> str:
            return "changed"

    result = to_json_value([Shout("x"), type("N", (int,), {})(4), type("F", (float,), {})(0.5)])
    assert result == ["x", 4, 0.5]
    assert [type(item) for item in result] == [str, int, float]


@pytest.mark.parametrize("sign", [1, -1])
def test_an_integer_that_no_reader_accepts_is_refused(sign: int) -> None:
    longest = sign * (10**MAX_INT_DIGITS - 1)
    assert to_json_value([longest]) == [longest]
    with pytest.raises(UnstorableValueError, match=r"4300 digits.*'n'"):
        to_json_value({"n": sign * 10**MAX_INT_DIGITS})


def test_anything_else_is_refused_with_path_and_type() -> None:
    with pytest.raises(UnstorableValueError, match=r"builtins\.object.*\['a'\]\[1\]"):
        to_json_value({"a": [0, object()]})
    with pytest.raises(UnstorableValueError, match=r"a key of type builtins\.tuple"):
        to_json_value({(1, 2): 3})
    with pytest.raises(UnstorableValueError, match="type"):
        to_json_value(Point)
    with pytest.raises(UnstorableValueError, match="generator"):
        to_json_value(item for item in "ab")


def test_a_value_that_contains_itself_is_refused() -> None:
    loop: list[object] = []
    loop.append({"again": loop})
    with pytest.raises(UnstorableValueError, match="contains itself"):
        to_json_value(loop)
    shared = [1]
    assert to_json_value([shared, shared]) == [[1], [1]]


def test_deep_nesting_is_refused_before_a_reader_would_fail() -> None:
    value: object = 1
    for _ in range(MAX_DEPTH):
        value = [value]
    assert to_json_value(value) == value
    with pytest.raises(UnstorableValueError, match="levels deep"):
        to_json_value([value])


def test_two_keys_with_the_same_text_are_refused() -> None:
    with pytest.raises(UnstorableValueError, match="two keys"):
        to_json_value({1: "a", "1": "b"})
