from __future__ import annotations

import pytest
from psych_runtime.builder.agent import agent
from psych_runtime.builder.values import all_of, any_of, lit, ref, when
from psych_runtime.builder.workflow import workflow
from psych_runtime.errors import BuilderError
from psych_runtime.spec.agent import AgentSpec
from psych_runtime.spec.conditions import Condition, LiteralValue, ValuePath
from psych_runtime.spec.limits import Limits, SuspensionPolicy
from psych_runtime.spec.model import ModelRef
from psych_runtime.spec.questions import AskedQuestion
from psych_runtime.spec.steps import (
    AgentStep,
    HumanStep,
    MapStep,
    RetryPolicy,
    SetStateStep,
    SleepStep,
    ToolStep,
    WaitStep,
)
from psych_runtime.spec.tools import CodeTool, McpServer
from psych_runtime.spec.workflow import (
    STEP_KINDS,
    BranchCase,
    BranchStep,
    ForEachStep,
    LoopStep,
    ParallelStep,
    WorkflowSpec,
    WorkflowStepRef,
)
from pydantic import ValidationError

CHILD = AgentSpec(name="child", model=ModelRef(model="m"))
QUESTION = AskedQuestion(question="Sure?")


def refund(order_id: str) -> str:
    """Refund an order."""
    return order_id


def step(name: str) -> ToolStep:
    return ToolStep(name=name, tool="t")


NESTED = WorkflowSpec(name="nested", steps=(step("only"),))


def test_every_field_and_kind_can_be_built() -> None:
    built = (
        workflow("flow")
        .description("Does it.")
        .input_schema({"type": "object"})
        .initial_state(count=0)
        .initial_state(seen=[])
        .output(total=ref("state.count"))
        .output(note="done")
        .retry(3, backoff_seconds=1, multiplier=3, max_backoff_seconds=60, retry_on=["timeout"])
        .tool(refund)
        .mcp_server("crm", "https://crm.test", preload=True)
        .limits(max_steps=5, repeat_call_hard_stop=7)
        .suspension(external_expires_seconds=60, may_ask_questions=True)
        .agent_step("ask", CHILD, input={"message": ref("input.text"), "n": 1}, timeout_seconds=9)
        .tool_step("call", "refund", {"a": 1}, arguments_from={"b": ref("state.b"), "c": "x"})
        .workflow_step("inner", NESTED, input={"x": lit(None)}, on_failure="continue")
        .parallel("both", step("p1"), step("p2"), on_branch_failure="wait_all")
        .branch(
            "choose",
            ("big", when("state.count", "gt", 10), step("b1")),
            otherwise=step("b2"),
            mode="all",
        )
        .foreach("every", "input.items", step("f1"), concurrency=4)
        .loop("until", step("l1"), until=when("state.done"), max_iterations=3)
        .loop("while", step("l2"), while_=when("state.more"))
        .map("shape", total=ref("state.count"), unit="EUR")
        .set_state("remember", done=True)
        .sleep("nap", seconds=5, when=when("state.tired"))
        .sleep("date", until="input.at")
        .wait("paid", "payment", payload_schema={"type": "object"}, timeout_seconds=60)
        .human("sure", "Really?", questions=[QUESTION], expires_seconds=60, ends_workflow=True)
        .build()
    )
    assert built == WorkflowSpec(
        name="flow",
        description="Does it.",
        input_schema={"type": "object"},
        initial_state={"count": 0, "seen": []},
        output={"total": ValuePath(path="state.count"), "note": LiteralValue(value="done")},
        retry=RetryPolicy(
            max_attempts=3,
            backoff_seconds=1,
            multiplier=3,
            max_backoff_seconds=60,
            retry_on=("timeout",),
        ),
        tools=(CodeTool(name="refund"),),
        mcp_servers=(McpServer(name="crm", url="https://crm.test", preload=True),),
        limits=Limits(max_steps=5, repeat_call_hard_stop=7),
        suspension=SuspensionPolicy(external_expires_seconds=60, may_ask_questions=True),
        steps=(
            AgentStep(
                name="ask",
                spec=CHILD,
                input={"message": ValuePath(path="input.text"), "n": LiteralValue(value=1)},
                timeout_seconds=9,
            ),
            ToolStep(
                name="call",
                tool="refund",
                arguments={"a": 1},
                arguments_from={"b": ValuePath(path="state.b"), "c": LiteralValue(value="x")},
            ),
            WorkflowStepRef(
                name="inner",
                spec=NESTED,
                input={"x": LiteralValue(value=None)},
                on_failure="continue",
            ),
            ParallelStep(
                name="both", branches=(step("p1"), step("p2")), on_branch_failure="wait_all"
            ),
            BranchStep(
                name="choose",
                cases=(
                    BranchCase(
                        name="big",
                        when=Condition(path="state.count", op="gt", value=10),
                        step=step("b1"),
                    ),
                ),
                otherwise=step("b2"),
                mode="all",
            ),
            ForEachStep(
                name="every", items=ValuePath(path="input.items"), body=step("f1"), concurrency=4
            ),
            LoopStep(
                name="until", body=step("l1"), until=Condition(path="state.done"), max_iterations=3
            ),
            LoopStep(name="while", body=step("l2"), while_=Condition(path="state.more")),
            MapStep(
                name="shape",
                output={"total": ValuePath(path="state.count"), "unit": LiteralValue(value="EUR")},
            ),
            SetStateStep(name="remember", values={"done": LiteralValue(value=True)}),
            SleepStep(name="nap", seconds=5, when=Condition(path="state.tired")),
            SleepStep(name="date", until=ValuePath(path="input.at")),
            WaitStep(
                name="paid",
                event="payment",
                payload_schema={"type": "object"},
                timeout_seconds=60,
            ),
            HumanStep(
                name="sure",
                prompt="Really?",
                questions=(QUESTION,),
                expires_seconds=60,
                ends_workflow=True,
            ),
        ),
    )
    assert {item.kind for item in built.steps} == set(STEP_KINDS)
    plain = WorkflowSpec(name="flow", steps=(step("x"),))
    assert [
        name
        for name in WorkflowSpec.model_fields
        if name not in ("kind", "name") and getattr(built, name) == getattr(plain, name)
    ] == []


def test_no_steps() -> None:
    with pytest.raises(BuilderError, match="'w' has no steps"):
        workflow("w").build()


def test_a_mistyped_option_is_refused() -> None:
    with pytest.raises(ValidationError, match="on_failur"):
        workflow("w").sleep("s", seconds=1, on_failur="continue")


def test_a_name_used_twice_is_refused() -> None:
    with pytest.raises(ValidationError, match="more than one step is named 's'"):
        workflow("w").sleep("s", seconds=1).step(step("s")).build()


def test_functions_of_embedded_builders_come_along() -> None:
    child = agent("child").model("m").tool(refund)
    inner = workflow("inner").agent_step("a", child)
    outer = workflow("outer").workflow_step("w", inner)
    assert outer.registry.names == {"refund"}
    assert outer.registry.require("refund").fn is refund
    embedded = outer.build().steps[0]
    assert isinstance(embedded, WorkflowStepRef)
    assert embedded.spec == inner.build()


def test_conditions() -> None:
    small, red = when(ref("item.size"), "lt", 3), when("item.colour", "eq", "red")
    assert small == Condition(path="item.size", op="lt", value=3)
    assert all_of(small, red) == Condition(all_of=(small, red))
    assert any_of(small, red) == Condition(any_of=(small, red))
    with pytest.raises(ValidationError):
        all_of()
    with pytest.raises(ValidationError):
        lit(object())
