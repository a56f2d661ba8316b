from __future__ import annotations

import functools

import pytest
from psych_runtime.builder.agent import agent
from psych_runtime.errors import BuilderError, ToolSchemaError
from psych_runtime.spec.agent import AgentSpec, CompactionPolicy, SpawnEnvelope, SubagentRef
from psych_runtime.spec.code_execution import (
    ArtifactPolicy,
    CodeExecution,
    CodeExecutionLimits,
    IsolationLevel,
    NetworkAccess,
    OutputPolicy,
)
from psych_runtime.spec.limits import Limits, SuspensionPolicy
from psych_runtime.spec.model import ModelRef
from psych_runtime.spec.skills import Skill
from psych_runtime.spec.tools import A2APeer, CodeTool, HttpTool, McpOAuth, McpServer
from psych_runtime.spec.version import compute_hash
from psych_runtime.tools.registry import ToolRegistry
from pydantic import ValidationError


def lookup_order(order_id: str) -> str:
    """Look up an order."""
    return order_id


def refund(order_id: str) -> str:
    """Refund an order."""
    return order_id


CHILD = AgentSpec(name="child", model=ModelRef(model="m"))
LIMITS = {
    "max_steps": 1,
    "max_turns": 2,
    "max_tool_calls_per_turn": 3,
    "deadline_seconds": 4,
    "transient_retry_budget": 5,
    "max_delegation_depth": 6,
    "max_fanout_per_turn": 7,
    "failure_streak_threshold": 8,
    "failure_streak_hard_stop": 9,
    "repeat_call_threshold": 10,
    "repeat_call_hard_stop": 11,
    "stream_idle_seconds": 12,
    "large_result_bytes": 13,
    "max_history_records": 14,
}
SUSPENSION = {
    "approval_expires_seconds": 1,
    "question_expires_seconds": 2,
    "external_expires_seconds": 3,
    "children_expires_seconds": 4,
    "may_ask_questions": True,
}


def test_every_field_can_be_built() -> None:
    oauth = McpOAuth(issuer="https://id.test")
    built = (
        agent("support")
        .description("Helps.")
        .instructions("Be brief.")
        .model(
            "m",
            temperature=0.5,
            top_p=0.9,
            max_output_tokens=10,
            reasoning_effort="low",
            fallbacks=["n"],
        )
        .tool(lookup_order, annotations={"read-only"})
        .tool_by_name("elsewhere", interruptible=False)
        .http_tool(
            "find",
            description="d",
            url="https://x.test/{q}",
            method="GET",
            input_schema={"type": "object"},
            headers={"accept": "text/plain"},
            credential="key",
            timeout_seconds=5,
            interruptible=False,
        )
        .mcp_server(
            "crm",
            "https://crm.test",
            transport="sse",
            credential="c",
            oauth=oauth,
            allow=["find*"],
            optional=True,
            preload=False,
        )
        .a2a_peer(
            "bot",
            "https://bot.test",
            credential="c",
            scheme="Token",
            tenant="t",
            allow=["ask"],
            optional=True,
            extensions=["urn:x"],
        )
        .skill("refunds", "How to refund", "Ask first.")
        .subagent("child", "x" * 20, CHILD)
        .spawn(tools=["lookup*"], models=["m"], max_depth=1, max_alive=1, may_message=False)
        .compaction(
            9000,
            keep_recent_turns=1,
            model="m",
            max_summary_tokens=100,
            summary_instructions="Keep ids.",
        )
        .code_execution(
            enabled=False,
            profile="gpu",
            isolation=IsolationLevel.PROCESS,
            network=NetworkAccess.UNRESTRICTED,
            limits=CodeExecutionLimits(cpu_seconds=1),
            bindings=["lookup_order"],
            output=OutputPolicy(preview_bytes=300),
            artifacts=ArtifactPolicy(max_count=1),
        )
        .limits(**LIMITS)
        .suspension(**SUSPENSION)  # type: ignore[arg-type]
        .tasks_enabled()
        .components_enabled()
        .answer_style("concise")
        .build()
    )
    assert built == AgentSpec(
        name="support",
        description="Helps.",
        instructions="Be brief.",
        model=ModelRef(
            model="m",
            temperature=0.5,
            top_p=0.9,
            max_output_tokens=10,
            reasoning_effort="low",
            fallbacks=("n",),
        ),
        tools=(
            CodeTool(name="lookup_order"),
            CodeTool(name="elsewhere", interruptible=False),
            HttpTool(
                name="find",
                description="d",
                url="https://x.test/{q}",
                method="GET",
                input_schema={"type": "object"},
                headers={"accept": "text/plain"},
                credential="key",
                timeout_seconds=5,
                interruptible=False,
            ),
        ),
        mcp_servers=(
            McpServer(
                name="crm",
                url="https://crm.test",
                transport="sse",
                credential="c",
                oauth=oauth,
                allow=("find*",),
                optional=True,
                preload=False,
            ),
        ),
        a2a_peers=(
            A2APeer(
                name="bot",
                url="https://bot.test",
                credential="c",
                scheme="Token",
                tenant="t",
                allow=("ask",),
                optional=True,
                extensions=("urn:x",),
            ),
        ),
        skills=(Skill(name="refunds", description="How to refund", body="Ask first."),),
        subagents=(SubagentRef(name="child", description="x" * 20, spec=CHILD),),
        spawn=SpawnEnvelope(
            tools=("lookup*",), models=("m",), max_depth=1, max_alive=1, may_message=False
        ),
        compaction=CompactionPolicy(
            trigger_tokens=9000,
            keep_recent_turns=1,
            model="m",
            max_summary_tokens=100,
            summary_instructions="Keep ids.",
        ),
        code_execution=CodeExecution(
            enabled=False,
            profile="gpu",
            isolation=IsolationLevel.PROCESS,
            network=NetworkAccess.UNRESTRICTED,
            limits=CodeExecutionLimits(cpu_seconds=1),
            bindings=("lookup_order",),
            output=OutputPolicy(preview_bytes=300),
            artifacts=ArtifactPolicy(max_count=1),
        ),
        limits=Limits(**LIMITS),
        suspension=SuspensionPolicy(**SUSPENSION),
        tasks_enabled=True,
        components_enabled=True,
        answer_style="concise",
    )
    plain = AgentSpec(name="support", model=ModelRef(model="m"))
    same = [
        name
        for name in AgentSpec.model_fields
        if name not in ("kind", "name") and getattr(built, name) == getattr(plain, name)
    ]
    assert same == []
    assert set(LIMITS) == set(Limits.model_fields)
    assert set(SUSPENSION) == set(SuspensionPolicy.model_fields)


def test_a_plain_agent_is_the_plain_spec() -> None:
    spec = AgentSpec(name="a", model=ModelRef(model="m"))
    assert compute_hash(agent("a").model("m").build()) == compute_hash(spec)


def test_no_model() -> None:
    with pytest.raises(BuilderError, match=r"'a' has no model: call \.model"):
        agent("a").build()


class TestValidationIsNeverBypassed:
    def test_a_bad_value(self) -> None:
        with pytest.raises(ValidationError, match="max_turns"):
            agent("a").model("m").limits(max_turns=0).build()
        with pytest.raises(ValidationError, match="approval_expires_seconds"):
            agent("a").model("m").suspension(approval_expires_seconds=-1).build()

    def test_values_that_do_not_fit_together(self) -> None:
        builder = agent("a").model("m").limits(failure_streak_threshold=9)
        with pytest.raises(ValidationError, match="below failure_streak_threshold"):
            builder.build()
        builder.limits(failure_streak_hard_stop=9)
        assert builder.build().limits.failure_streak_threshold == 9

    def test_a_tool_twice(self) -> None:
        with pytest.raises(ValidationError, match="more than one tool is named 'x'"):
            agent("a").model("m").tool_by_name("x").tool_by_name("x").build()


class TestRegistry:
    def test_a_function_is_registered_and_granted(self) -> None:
        registry = ToolRegistry()
        builder = agent("a", registry=registry).model("m")
        builder.tool(
            lookup_order,
            name="lookup",
            description="Find it.",
            interruptible=False,
            safe_to_retry=True,
            annotations={"read-only"},
            timeout_seconds=3,
        )
        assert builder.registry is registry
        tool = registry.require("lookup")
        assert tool.fn is lookup_order
        assert (tool.description, tool.interruptible, tool.safe_to_retry) == (
            "Find it.",
            False,
            True,
        )
        assert (tool.annotations, tool.timeout_seconds) == (frozenset({"read-only"}), 3)
        assert builder.build().tools == (CodeTool(name="lookup", interruptible=False),)

    def test_each_builder_has_its_own_by_default(self) -> None:
        one, other = agent("a"), agent("b")
        one.tool(lookup_order)
        assert one.registry.names == {"lookup_order"}
        assert other.registry.names == frozenset()

    def test_a_name_that_a_spec_refuses_is_not_registered(self) -> None:
        builder = agent("a")
        with pytest.raises(ValidationError):
            builder.tool(lookup_order, name="not a name")
        assert builder.registry.names == frozenset()

    def test_a_function_without_a_name_needs_one(self) -> None:
        with pytest.raises(BuilderError, match="pass name="):
            agent("a").tool(functools.partial(lookup_order, "A1"))

    def test_a_registered_name_is_refused(self) -> None:
        with pytest.raises(ToolSchemaError):
            agent("a").tool(lookup_order).tool(refund, name="lookup_order")

    def test_a_childs_functions_come_along(self) -> None:
        child = agent("child").model("m").tool(refund, annotations={"destructive"})
        parent = agent("parent").model("m").tool(lookup_order).subagent("child", "x" * 20, child)
        grandparent = agent("top").model("m").subagent("parent", "x" * 20, parent)
        assert grandparent.registry.names == {"lookup_order", "refund"}
        assert grandparent.registry.require("refund").annotations == {"destructive"}
        assert child.registry.names == {"refund"}

    def test_a_shared_function_is_no_conflict(self) -> None:
        child = agent("child").model("m").tool(refund)
        parent = agent("parent").model("m").tool(refund).subagent("child", "x" * 20, child)
        assert parent.registry.names == {"refund"}

    def test_two_functions_under_one_name_are(self) -> None:
        child = agent("child").model("m").tool(refund, name="do")
        parent = agent("parent").model("m").tool(lookup_order, name="do")
        with pytest.raises(BuilderError, match="two different functions are registered as 'do'"):
            parent.subagent("child", "x" * 20, child)
