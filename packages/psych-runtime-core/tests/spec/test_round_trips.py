"""Any Spec survives Python, dict and JSON with one hash, and is normalised for good the first time."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psych_runtime.spec.conditions import LiteralValue
from psych_runtime.spec.json_values import plain_json, sorted_json
from psych_runtime.spec.version import (
    Version,
    canonical_bytes,
    canonical_data,
    compute_hash,
    load_spec,
    make_version,
)

NAMES = st.from_regex(r"[a-zA-Z_][a-zA-Z0-9_-]{0,20}", fullmatch=True).map(lambda s: f"x{s}")
TEXTS = st.text(alphabet=st.characters(codec="utf-8"), max_size=20)
LINES = st.lists(st.sampled_from(["a", " ", "\r", "\n", "\r\n", "ß", "🙂"]), max_size=8).map(
    "".join
)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(TEXTS, JSON, max_size=3)


def some(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=fields)


@st.composite
def each(
    draw: st.DrawFn, /, strategy: st.SearchStrategy[dict[str, Any]], **fields: Any
) -> list[dict[str, Any]]:
    """Up to three dicts with names of their own."""
    names = draw(st.lists(NAMES, unique=True, max_size=3))
    return [{**fields, "name": name, **draw(strategy)} for name in names]


TOOLS = each(some(interruptible=st.booleans()), kind="code")
SERVERS = each(
    some(
        allow=st.lists(TEXTS, max_size=3),
        preload=st.none() | st.booleans(),
        oauth=st.none() | some(issuer=LINES, client_name=LINES),
    ),
    url="https://x.test",
)
LIMITS = some(
    max_turns=st.integers(1, 1000),
    deadline_seconds=st.floats(0.1, 86400) | st.integers(1, 86400),
    stream_idle_seconds=st.sampled_from([0, 0.0, -0.0, 300, 300.0]),
)
LEAF_AGENTS = st.builds(
    lambda name, rest: {"kind": "agent", "name": name, "model": {"model": "m"}, **rest},
    NAMES,
    some(
        instructions=LINES,
        description=LINES,
        tools=TOOLS,
        mcp_servers=SERVERS,
        skills=each(st.just({}), description="d\r", body="b\r\n"),
        spawn=st.none() | some(tools=st.lists(TEXTS, max_size=3), max_depth=st.integers(1, 16)),
        code_execution=st.none() | some(enabled=st.booleans(), limits=some(cpu_seconds=st.none())),
        limits=LIMITS,
        answer_style=st.sampled_from([None, "concise"]),
    ),
)
AGENTS = st.recursive(
    LEAF_AGENTS,
    lambda inner: st.builds(
        lambda spec, children: {**spec, "subagents": children},
        LEAF_AGENTS,
        each(inner.map(lambda spec: {"spec": spec}), description="x" * 20),
    ),
    max_leaves=3,
)
REFS = st.fixed_dictionaries({"kind": st.just("literal"), "value": JSON}) | st.just(
    {"kind": "path", "path": "input.x[0]"}
)
CONDITIONS = st.recursive(
    st.fixed_dictionaries(
        {"path": st.just("state.x"), "op": st.sampled_from(["eq", "truthy"]), "value": JSON}
    ),
    lambda inner: st.lists(inner, min_size=1, max_size=2).map(lambda parts: {"all_of": parts}),
    max_leaves=3,
)
STEPS = st.one_of(
    st.fixed_dictionaries({"kind": st.just("tool"), "tool": TEXTS, "arguments": OBJECTS}),
    st.fixed_dictionaries({"kind": st.just("agent"), "spec": LEAF_AGENTS}),
    st.fixed_dictionaries(
        {"kind": st.just("map"), "output": st.dictionaries(TEXTS, REFS, min_size=1, max_size=2)}
    ),
    CONDITIONS.map(
        lambda test: {
            "kind": "loop",
            "while": test,
            "body": {"kind": "sleep", "name": "nap", "seconds": 1},
        }
    ),
)
WORKFLOWS = st.builds(
    lambda step, when, rest: {
        "kind": "workflow",
        "name": "w",
        "steps": [{**step, "name": "s", "when": when}],
        **rest,
    },
    STEPS,
    st.none() | CONDITIONS,
    some(
        initial_state=OBJECTS,
        input_schema=st.none() | OBJECTS,
        output=st.none() | st.dictionaries(TEXTS, REFS, max_size=2),
        tools=TOOLS,
    ),
)
SPECS = AGENTS | WORKFLOWS
PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


@PATIENT
@given(SPECS)
def test_one_hash_in_every_form(data: dict[str, Any]) -> None:
    spec = load_spec(data)
    assert load_spec(json.dumps(data)) == spec
    expected = compute_hash(spec)
    for form in (
        spec.model_dump(),
        spec.model_dump(mode="json"),
        spec.model_dump_json(),
        spec.model_dump_json(by_alias=True),
        spec.model_dump_json(exclude_unset=False),
        canonical_bytes(spec),
    ):
        again = load_spec(form)
        assert compute_hash(again) == expected
        assert again == spec


@PATIENT
@given(SPECS)
def test_normalising_twice_is_normalising_once(data: dict[str, Any]) -> None:
    once = load_spec(data)
    assert load_spec(once) == once
    assert type(once)(**once.model_dump()) == once
    assert canonical_data(load_spec(canonical_data(once))) == canonical_data(once)


@PATIENT
@given(SPECS)
def test_an_export_is_imported_as_it_was(data: dict[str, Any]) -> None:
    version = make_version(load_spec(data))
    imported = Version.import_json(version.export_json())
    assert imported == version
    assert imported.verify()


@given(JSON)
def test_plain_json_changes_no_json(value: Any) -> None:
    assert json.dumps(plain_json(value)) == json.dumps(value)
    assert json.dumps(sorted_json(value)) == json.dumps(value, sort_keys=True)
    assert LiteralValue(value=value).value == value


@given(JSON)
def test_tuples_and_lists_are_the_same(value: Any) -> None:
    def tupled(item: Any) -> Any:
        if isinstance(item, list):
            return tuple(tupled(part) for part in item)
        if isinstance(item, dict):
            return {key: tupled(part) for key, part in item.items()}
        return item

    assert plain_json(tupled(value)) == value
