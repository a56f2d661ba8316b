from __future__ import annotations

from typing import Any

import pytest
from psych_runtime.errors import SpecValidationError
from psych_runtime.spec.agent import AgentSpec, CompactionPolicy, SpawnEnvelope, SubagentRef
from psych_runtime.spec.code_execution import CodeExecution
from psych_runtime.spec.conditions import Condition
from psych_runtime.spec.limits import Limits, SuspensionPolicy
from psych_runtime.spec.model import ModelRef
from psych_runtime.spec.skills import Skill
from psych_runtime.spec.steps import AgentStep, ToolStep
from psych_runtime.spec.tools import A2APeer, CodeTool, HttpTool, McpServer
from psych_runtime.spec.validation import (
    AVAILABLE_PARTS,
    PARTS,
    ValidationContext,
    collect_issues,
    required_parts,
    validate_spec,
)
from psych_runtime.spec.workflow import LoopStep, WorkflowSpec, WorkflowStepRef

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"id": {"type": "string"}}}


def agent(name: str = "a", **fields: Any) -> AgentSpec:
    return AgentSpec(**{"name": name, "model": ModelRef(model="m"), **fields})


def flow(*steps: Any, **fields: Any) -> WorkflowSpec:
    return WorkflowSpec(**{"name": "w", "steps": steps, **fields})


def sub(name: str, spec: AgentSpec) -> SubagentRef:
    return SubagentRef(name=name, description="x" * 20, spec=spec)


def paths(spec: AgentSpec | WorkflowSpec, **known: Any) -> list[str]:
    context = ValidationContext(**{"available_parts": PARTS, **known})
    return [issue.path for issue in collect_issues(spec, context)]


def http(schema: dict[str, Any]) -> HttpTool:
    return HttpTool(name="h", description="d", url="https://x.test", input_schema=schema)


def test_nothing_known_nothing_wrong() -> None:
    spec = agent(tools=(CodeTool(name="t"),), mcp_servers=(McpServer(name="s", url="u"),))
    assert paths(spec) == []
    validate_spec(spec, ValidationContext(available_parts=PARTS))


def test_all_problems_at_once() -> None:
    spec = agent(tools=(CodeTool(name="t"),), instructions="[[skill:x]]")
    with pytest.raises(SpecValidationError) as caught:
        validate_spec(spec, ValidationContext(registered_tools=["u"], known_models=["n"]))
    assert [issue.path for issue in caught.value.issues] == [
        "a.model.model",
        "a.tools.t",
        "a.instructions",
    ]
    assert "the model 'm' is not known; known: n" in str(caught.value)


def test_models() -> None:
    spec = agent(
        model=ModelRef(model="m", fallbacks=("n", "o")),
        compaction=CompactionPolicy(trigger_tokens=1, model="p"),
    )
    assert paths(spec, known_models=["m", "n", "o", "p"]) == []
    assert paths(spec, known_models=["m", "n"]) == ["a.model.fallbacks[1]", "a.compaction.model"]


@pytest.mark.parametrize(
    ("schema", "where"),
    [
        ({}, ["type"]),
        ({"type": "objekt"}, ["type"]),
        ({"type": "array"}, ["type"]),
        ({"type": ["object"]}, ["type"]),
        ({"type": "object", "properties": []}, ["properties"]),
        ({"type": "object", "required": "id"}, ["required"]),
        ({"type": "object", "required": [1]}, ["required"]),
        ({**SCHEMA, "required": ["id", "nope"]}, ["required"]),
        ({"properties": 1, "required": 1}, ["type", "properties", "required"]),
        ({**SCHEMA, "required": ["id"]}, []),
        ({"type": "object"}, []),
    ],
)
def test_http_schemas(schema: dict[str, Any], where: list[str]) -> None:
    assert paths(agent(tools=(http(schema),))) == [f"a.tools.h.input_schema.{w}" for w in where]


def test_servers() -> None:
    servers = (
        McpServer(name="one", url="https://one.test"),
        McpServer(name="two", url="https://two.test", optional=True),
        McpServer(name="three", url="https://three.test"),
    )
    known = {"reachable_mcp_servers": ["https://three.test"]}
    assert paths(agent(mcp_servers=servers), **known) == ["a.mcp_servers.one"]
    assert paths(flow(ToolStep(name="s", tool="t"), mcp_servers=servers), **known) == [
        "w.mcp_servers.one"
    ]


def test_two_owners_whose_tools_would_have_the_same_names() -> None:
    spec = agent(
        mcp_servers=(McpServer(name="x.y", url="u"),), a2a_peers=(A2APeer(name="x_y", url="u"),)
    )
    assert paths(spec) == ["a.a2a_peers.x_y"]


def test_skill_links() -> None:
    skills = (
        Skill(name="one", description="d", body="[[skill:two]]"),
        Skill(name="two", description="d", body="[[skill:three]]"),
    )
    assert paths(agent(skills=skills, instructions="[[skill:one]] [[skill:four]]")) == [
        "a.instructions",
        "a.skills.two.body",
    ]


def test_delegation_depth() -> None:
    deep = agent("a", subagents=(sub("b", agent("b", subagents=(sub("c", agent("c")),))),))
    assert paths(deep) == []
    shallow = deep.model_copy(update={"limits": Limits(max_delegation_depth=1)})
    assert paths(shallow) == ["a.subagents"]


def test_sandbox_profiles() -> None:
    def spec(**fields: Any) -> AgentSpec:
        return agent(code_execution=CodeExecution(**fields))

    assert paths(spec(), sandbox_profiles=["default"]) == []
    assert paths(spec(profile="gpu"), sandbox_profiles=["default"]) == ["a.code_execution.profile"]
    assert paths(spec(profile="gpu", enabled=False), sandbox_profiles=["default"]) == []


def test_workflow_tools() -> None:
    spec = flow(
        ToolStep(name="granted", tool="g"),
        ToolStep(name="registered", tool="r"),
        ToolStep(name="remote", tool="crm__find"),
        LoopStep(
            name="l", until=Condition(path="state.x"), body=ToolStep(name="inner", tool="nope")
        ),
        tools=(CodeTool(name="g"),),
        mcp_servers=(McpServer(name="crm", url="u"),),
    )
    assert paths(spec) == []
    assert paths(spec, registered_tools=["g", "r"]) == ["w.steps.inner.tool"]


class TestNesting:
    def nested(self, levels: int) -> WorkflowSpec:
        spec = flow(ToolStep(name="s", tool="t"))
        for _ in range(levels - 1):
            spec = flow(WorkflowStepRef(name="s", spec=spec))
        return spec

    def test_sixteen_levels_of_specs(self) -> None:
        assert paths(self.nested(16)) == []
        assert paths(self.nested(17)) == ["w" + ".steps.s.spec" * 16]

    def test_sixteen_levels_of_steps(self) -> None:
        step: Any = ToolStep(name="s", tool="t")
        for level in range(15):
            step = LoopStep(name=f"l{level}", until=Condition(path="state.x"), body=step)
        assert paths(flow(step)) == []
        step = LoopStep(name="l", until=Condition(path="state.x"), body=step)
        assert paths(flow(step)) == ["w.steps"]

    def test_a_spec_inside_itself(self) -> None:
        inner = sub("again", agent())
        spec = agent(subagents=(inner,), limits=Limits(max_delegation_depth=16))
        inner.__dict__["spec"] = spec
        issues = collect_issues(spec, ValidationContext(available_parts=PARTS))
        assert [(issue.path, issue.message) for issue in issues] == [
            ("a.subagents.again.spec", "this Spec contains itself")
        ]

    def test_problems_inside_are_found_by_path(self) -> None:
        child = agent("c", tools=(CodeTool(name="t"),))
        spec = flow(
            WorkflowStepRef(
                name="outer",
                spec=flow(AgentStep(name="inner", spec=agent(subagents=(sub("s", child),)))),
            )
        )
        assert paths(spec, registered_tools=["u"]) == [
            "w.steps.outer.spec.steps.inner.spec.subagents.s.spec.tools.t"
        ]


class TestParts:
    FULL = agent(
        tools=(http(SCHEMA),),
        mcp_servers=(McpServer(name="crm", url="u"),),
        a2a_peers=(A2APeer(name="bot", url="u"),),
        skills=(Skill(name="s", description="d", body="b"),),
        subagents=(sub("child", agent("c")),),
        spawn=SpawnEnvelope(),
        compaction=CompactionPolicy(trigger_tokens=1),
        code_execution=CodeExecution(),
        suspension=SuspensionPolicy(may_ask_questions=True),
    )

    def test_each_part_with_its_first_use(self) -> None:
        assert required_parts(flow(AgentStep(name="s", spec=self.FULL))) == {
            "workflow": "w",
            "http_tools": "w.steps.s.spec.tools.h",
            "mcp": "w.steps.s.spec.mcp_servers.crm",
            "a2a": "w.steps.s.spec.a2a_peers.bot",
            "skills": "w.steps.s.spec.skills.s",
            "subagents": "w.steps.s.spec.subagents.child",
            "spawn": "w.steps.s.spec.spawn",
            "compaction": "w.steps.s.spec.compaction",
            "code_execution": "w.steps.s.spec.code_execution",
            "questions": "w.steps.s.spec.suspension.may_ask_questions",
        }
        assert set(required_parts(flow(AgentStep(name="s", spec=self.FULL)))) == set(PARTS)

    def test_a_plain_agent_needs_none(self) -> None:
        spec = agent(
            tools=(CodeTool(name="t"),),
            tasks_enabled=True,
            code_execution=CodeExecution(enabled=False),
        )
        assert required_parts(spec) == {}

    def test_the_outermost_use_is_named(self) -> None:
        inner = agent("b", skills=self.FULL.skills)
        spec = agent(subagents=(sub("child", inner),), skills=self.FULL.skills)
        assert required_parts(spec)["skills"] == "a.skills.s"

    def test_a_missing_part_is_refused_by_name(self) -> None:
        available = set(PARTS) - {"mcp", "spawn"}
        issues = collect_issues(self.FULL, ValidationContext(available_parts=available))
        assert sorted(str(issue) for issue in issues) == [
            "a.mcp_servers.crm: this release cannot run MCP servers yet (mcp)",
            "a.spawn: this release cannot run composing background subagents yet (spawn)",
        ]

    def test_the_default_is_what_this_release_runs(self) -> None:
        assert ValidationContext().available_parts == AVAILABLE_PARTS
        assert set(PARTS) >= AVAILABLE_PARTS
