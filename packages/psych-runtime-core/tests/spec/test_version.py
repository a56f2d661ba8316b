from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from psych_runtime.errors import SpecValidationError
from psych_runtime.spec.agent import AgentSpec, SubagentRef
from psych_runtime.spec.code_execution import CodeExecution, IsolationLevel
from psych_runtime.spec.conditions import Condition, LiteralValue, ValuePath
from psych_runtime.spec.limits import Limits
from psych_runtime.spec.model import ModelRef
from psych_runtime.spec.steps import AgentStep, RetryPolicy, ToolStep
from psych_runtime.spec.tools import CodeTool, HttpTool, McpServer
from psych_runtime.spec.version import (
    Version,
    canonical_bytes,
    canonical_data,
    compute_hash,
    load_spec,
    make_version,
)
from psych_runtime.spec.workflow import LoopStep, WorkflowSpec
from pydantic import Field, ValidationError

MODEL = ModelRef(model="m")
SMALL = AgentSpec(name="a", model=MODEL)
RICH = AgentSpec(
    name="support",
    instructions="Hilf höflich. 🙂",
    model=ModelRef(model="m", temperature=0.2, fallbacks=("n",)),
    tools=(
        CodeTool(name="refund", interruptible=False),
        HttpTool(name="find", description="d", url="https://x.test/{id}", method="GET"),
    ),
    mcp_servers=(McpServer(name="crm", url="https://crm.test", preload=False),),
    subagents=(SubagentRef(name="sub", description="x" * 20, spec=SMALL),),
    code_execution=CodeExecution(isolation=IsolationLevel.PROCESS),
    limits=Limits(max_turns=5),
)
FLOW = WorkflowSpec(
    name="flow",
    steps=(
        AgentStep(name="ask", spec=SMALL, input={"message": ValuePath(path="input.text")}),
        LoopStep(
            name="again",
            while_=Condition(path="state.x", op="lt", value=3),
            body=ToolStep(name="do", tool="t", arguments={"b": [1, 2.0, None, True], "a": {}}),
        ),
    ),
    output={"x": LiteralValue(value=None)},
    retry=RetryPolicy(max_attempts=2),
)


class TestGolden:
    """These never change: a stored Version is found by its hash for ever."""

    def test_bytes(self) -> None:
        assert canonical_bytes(SMALL) == b'{"kind":"agent","model":{"model":"m"},"name":"a"}'
        assert canonical_bytes(FLOW).decode() == (
            '{"kind":"workflow","name":"flow","output":{"x":{"kind":"literal"}},'
            '"retry":{"max_attempts":2},"steps":[{"input":{"message":{"kind":"path",'
            '"path":"input.text"}},"kind":"agent","name":"ask","spec":{"kind":"agent",'
            '"model":{"model":"m"},"name":"a"}},{"body":{"arguments":{"a":{},'
            '"b":[1,2.0,null,true]},"kind":"tool","name":"do","tool":"t"},"kind":"loop",'
            '"name":"again","while_":{"op":"lt","path":"state.x","value":3}}]}'
        )

    @pytest.mark.parametrize(
        ("spec", "digest"),
        [
            (SMALL, "646365e357905d972867dc1feaf47d7f91caad1f17e610111f1e2b58f441d22b"),
            (RICH, "68dedcdd1c9770dde838009e99452babd83fb9d4fc8430d7924fa1d627f41961"),
            (FLOW, "0bee31e7358d5e1f67d3cf782adb0091533197c784cf672c9d430986664c5d92"),
        ],
    )
    def test_hashes(self, spec: AgentSpec | WorkflowSpec, digest: str) -> None:
        assert compute_hash(spec) == f"sha256:{digest}"


class TestHash:
    @pytest.mark.parametrize("spec", [SMALL, RICH, FLOW])
    def test_python_dict_and_json_have_one(self, spec: AgentSpec | WorkflowSpec) -> None:
        forms: list[Any] = [
            spec.model_dump(),
            spec.model_dump(mode="json"),
            spec.model_dump_json(),
            spec.model_dump_json(by_alias=True),
            spec.model_dump_json().encode(),
            canonical_data(spec),
        ]
        assert {compute_hash(load_spec(form)) for form in forms} == {compute_hash(spec)}

    def test_saying_a_default_changes_nothing(self) -> None:
        said = AgentSpec(name="a", model=MODEL, limits=Limits(max_turns=32), tasks_enabled=False)
        assert compute_hash(said) == compute_hash(SMALL)

    def test_order_of_sets_changes_nothing(self) -> None:
        forward = AgentSpec(name="a", model=MODEL, tools=(CodeTool(name="x"), CodeTool(name="y")))
        backward = AgentSpec(name="a", model=MODEL, tools=(CodeTool(name="y"), CodeTool(name="x")))
        assert compute_hash(forward) == compute_hash(backward)

    def test_a_new_field_with_a_default_changes_nothing(self) -> None:
        class LaterLimits(Limits):
            max_tokens: int | None = None
            burst: dict[str, int] = Field(default_factory=dict)

        class LaterSpec(AgentSpec):
            limits: Limits = Field(default_factory=LaterLimits)
            tags: tuple[str, ...] = ()

        for data in (canonical_data(SMALL), canonical_data(RICH)):
            limits = LaterLimits(**data.pop("limits", {}))
            later = LaterSpec(**data, limits=limits)
            earlier = AgentSpec(**data, limits=Limits(**limits.model_dump(exclude_defaults=True)))
            assert canonical_bytes(later) == canonical_bytes(earlier)
        assert b'"tags":["x"]' in canonical_bytes(LaterSpec(name="a", model=MODEL, tags=("x",)))

    @pytest.mark.parametrize(
        ("one", "other"),
        [(None, False), (0, False), (1, True), (1, 1.0), ("", None), ([], None), ({}, None)],
    )
    def test_values_that_are_nearly_the_same_differ(self, one: object, other: object) -> None:
        def spec(value: object) -> WorkflowSpec:
            return WorkflowSpec(
                name="w", steps=(ToolStep(name="s", tool="t", arguments={"v": value}),)
            )

        assert compute_hash(spec(one)) != compute_hash(spec(other))

    def test_an_empty_restriction_is_not_no_restriction(self) -> None:
        def spec(bindings: tuple[str, ...] | None) -> AgentSpec:
            return AgentSpec(name="a", model=MODEL, code_execution=CodeExecution(bindings=bindings))

        assert compute_hash(spec(())) != compute_hash(spec(None))

    @pytest.mark.parametrize("value", [float("nan"), float("inf"), "\ud800", print, {1}])
    def test_what_got_around_validation_is_refused(self, value: object) -> None:
        step = ToolStep.model_construct(name="s", tool="t", arguments={"v": value})
        spec = WorkflowSpec.model_construct(name="w", steps=(step,))
        with pytest.raises(SpecValidationError, match=r"steps\[0\]\.arguments\.v"):
            canonical_bytes(spec)


class TestLoadSpec:
    def test_every_problem_is_listed_with_its_path(self) -> None:
        with pytest.raises(SpecValidationError) as caught:
            load_spec(
                {"kind": "agent", "name": "a", "model": {"model": ""}, "limits": {"max_turns": 0}}
            )
        assert [issue.path for issue in caught.value.issues] == [
            "a.model.model",
            "a.limits.max_turns",
        ]

    @pytest.mark.parametrize(
        "document",
        [
            "",
            "[]",
            "{}",
            '"x"',
            '{"kind": ["agent"]}',
            '{"kind": "robot"}',
            '{"kind": "agent", "name": "a", "model": {"model": "m", "temperature": NaN}}',
            "[" * 100_000,
            b"\xff",
        ],
    )
    def test_what_is_no_spec(self, document: str | bytes) -> None:
        with pytest.raises(SpecValidationError):
            load_spec(document)

    def test_a_lone_surrogate_in_json(self) -> None:
        with pytest.raises(SpecValidationError, match=r"instructions has the lone surrogate"):
            load_spec('{"kind":"agent","name":"a","model":{"model":"m"},"instructions":"\\ud800"}')

    def test_a_copy_around_validation_is_checked_again(self) -> None:
        with pytest.raises(SpecValidationError, match="max_turns"):
            load_spec(SMALL.model_copy(update={"limits": Limits.model_construct(max_turns=0)}))
        unsorted = SMALL.model_copy(update={"tools": (CodeTool(name="y"), CodeTool(name="x"))})
        loaded = load_spec(unsorted)
        assert [tool.name for tool in loaded.tools] == ["x", "y"]
        assert load_spec(RICH) == RICH

    def test_a_spec_that_contains_itself(self) -> None:
        data: dict[str, Any] = {"kind": "agent", "name": "a", "model": {"model": "m"}}
        data["subagents"] = [{"name": "s", "description": "x" * 20, "spec": data}]
        with pytest.raises(SpecValidationError, match="cyclic"):
            load_spec(data)


class TestVersion:
    def test_made_now_and_named_after_its_spec(self) -> None:
        version = make_version(RICH)
        assert version.name == "support"
        assert version.hash == compute_hash(RICH)
        assert abs((datetime.now(UTC) - version.published_at).total_seconds()) < 60
        assert version.verify()

    def test_verify_notices_a_change(self) -> None:
        assert not Version(
            hash=compute_hash(RICH), spec=SMALL, published_at=datetime.now(UTC)
        ).verify()

    @pytest.mark.parametrize("spec", [SMALL, RICH, FLOW])
    def test_export_and_import(self, spec: AgentSpec | WorkflowSpec) -> None:
        version = make_version(spec)
        assert Version.import_json(version.export_json()) == version
        assert Version.model_validate_json(version.model_dump_json()) == version

    def test_export_is_readable_by_releases_that_know_fewer_fields(self) -> None:
        assert json.loads(make_version(SMALL).export_json())["spec"] == canonical_data(SMALL)

    def test_import_refuses_another_hash(self) -> None:
        document = json.loads(make_version(SMALL).export_json())
        document["spec"]["name"] = "b"
        with pytest.raises(ValueError, match="was changed after it was exported"):
            Version.import_json(json.dumps(document))

    def test_import_without_a_time_means_now(self) -> None:
        document = json.loads(make_version(SMALL).export_json())
        del document["published_at"]
        version = Version.import_json(json.dumps(document))
        assert abs((datetime.now(UTC) - version.published_at).total_seconds()) < 60

    @pytest.mark.parametrize(
        "change",
        [{"hash": None}, {"spec": None}, {"spec": {}}, {"note": "x"}, {"published_at": "x"}],
    )
    def test_import_refuses_other_documents(self, change: dict[str, Any]) -> None:
        document = json.loads(make_version(SMALL).export_json()) | change
        with pytest.raises(ValueError):
            Version.import_json(json.dumps(document))
        with pytest.raises(ValueError):
            Version.import_json("{")

    def test_a_time_without_a_zone_is_utc(self) -> None:
        naive = datetime(2026, 1, 1, 12)
        version = Version(hash=compute_hash(SMALL), spec=SMALL, published_at=naive)
        assert version.published_at == datetime(2026, 1, 1, 12, tzinfo=UTC)

    def test_a_hash_looks_like_one(self) -> None:
        with pytest.raises(ValidationError):
            Version(hash="sha256:abc", spec=SMALL, published_at=datetime.now(UTC))
