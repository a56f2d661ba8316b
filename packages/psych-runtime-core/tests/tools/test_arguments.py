import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from psych_runtime.log.values import ModelToolCall
from psych_runtime.tools.arguments import parse_arguments

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@pytest.mark.parametrize("raw", ["", " ", "\n\t", "{}", " {} "])
def test_no_arguments(raw: str) -> None:
    assert parse_arguments(raw) == ({}, None, "")


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ("null", "null"),
        ("[]", "a list"),
        ('"x"', "a string"),
        ('"{}"', "a string"),
        ("7", "a number"),
        ("true", "true"),
        ('{"a": 1', "character 7"),
        ("{a: 1}", "near '{a: 1}'"),
        ('{"a": 1,}', "not valid JSON"),
        ("[" * 200_000, "nested"),
        ('{"a":' + "[" * 400 + "]" * 400 + "}", "levels deep"),
        ('{"a": ' + "9" * 5000 + "}", "4300"),
        ("\ufeff{}", "not valid JSON"),
    ],
)
def test_malformed(raw: str, said: str) -> None:
    arguments, problem, message = parse_arguments(raw)
    assert (arguments, problem) == ({}, "malformed_arguments")
    assert said in message
    assert len(message) < 400


def test_odd_but_usable() -> None:
    assert parse_arguments('{"a": 1, "a": 2}')[0] == {"a": 2}
    assert parse_arguments('{"a": ' + "9" * 4000 + "}")[0] == {"a": 10**4000 - 1}
    assert parse_arguments('{"a": Infinity, "b": -1e999}')[0] == {
        "a": float("inf"),
        "b": float("-inf"),
    }
    nan = parse_arguments('{"a": NaN}')[0]["a"]
    assert nan != nan
    assert parse_arguments('{"a": "\\ud800"}')[0] == {"a": "\ud800"}


@given(st.text() | _JSON.map(json.dumps))
def test_any_text_gives_arguments_or_a_problem(raw: str) -> None:
    arguments, problem, message = parse_arguments(raw)
    assert (problem is None) == (message == "")
    assert problem is None or arguments == {}
    ModelToolCall(call_id="c", name="n", arguments=arguments)  # type: ignore[arg-type]


@given(st.dictionaries(st.text(), _JSON.filter(lambda value: value == value), max_size=4))
def test_objects_survive(arguments: dict[str, Any]) -> None:
    written = json.dumps(arguments)
    assert json.dumps(parse_arguments(written)[0]) == written
