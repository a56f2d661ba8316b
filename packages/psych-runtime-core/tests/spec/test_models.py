from __future__ import annotations

from typing import Any

import pytest
from psych_runtime.spec.agent import (
    AgentSpec,
    CompactionPolicy,
    SpawnEnvelope,
    SubagentRef,
)
from psych_runtime.spec.code_execution import (
    CodeExecution,
    CodeExecutionLimits,
    IsolationLevel,
    OutputPolicy,
)
from psych_runtime.spec.conditions import Condition, LiteralValue, ValuePath
from psych_runtime.spec.limits import Limits
from psych_runtime.spec.model import ModelRef
from psych_runtime.spec.names import BUILT_IN_TOOLS
from psych_runtime.spec.skills import Skill, linked_skills
from psych_runtime.spec.steps import RetryPolicy, SleepStep, ToolStep, WaitStep
from psych_runtime.spec.tools import A2APeer, CodeTool, HttpTool, McpOAuth, McpServer
from psych_runtime.spec.workflow import (
    STEP_KINDS,
    BranchCase,
    BranchStep,
    ForEachStep,
    LoopStep,
    ParallelStep,
    WorkflowSpec,
    WorkflowStep,
    WorkflowStepRef,
    iter_steps,
)
from pydantic import BaseModel, TypeAdapter, ValidationError

MODEL = ModelRef(model="m")
TRUE = Condition(path="state.x")


def agent(**fields: Any) -> AgentSpec:
    return AgentSpec(**{"name": "a", "model": MODEL, **fields})


def tool_step(name: str) -> ToolStep:
    return ToolStep(name=name, tool="t")


def http(**fields: Any) -> HttpTool:
    return HttpTool(**{"name": "h", "description": "d", "url": "https://x.test/", **fields})


class TestEveryModel:
    def test_frozen_and_closed(self) -> None:
        spec = agent()
        with pytest.raises(ValidationError, match="frozen"):
            spec.name = "b"  # type: ignore[misc]
        with pytest.raises(ValidationError, match="extra"):
            agent(colour="red")

    @pytest.mark.parametrize("value", [print, int, lambda: None, BaseModel])
    @pytest.mark.parametrize(
        "wrap", [lambda x: x, lambda x: [x], lambda x: (x,), lambda x: {"k": x}]
    )
    def test_a_callable_is_refused_with_its_path(self, value: object, wrap: Any) -> None:
        with pytest.raises(ValidationError, match=r"initial_state\.a\.b.* is the callable"):
            WorkflowSpec(name="w", steps=(tool_step("s"),), initial_state={"a": {"b": wrap(value)}})

    def test_a_callable_in_a_set_is_refused(self) -> None:
        with pytest.raises(ValidationError, match=r"value\[0\] is the callable 'print'"):
            LiteralValue(value={print})

    def test_a_callable_deep_in_a_dict_spec_is_refused_with_its_whole_path(self) -> None:
        with pytest.raises(ValidationError, match=r"tools\[0\]\.name is the callable 'print'"):
            agent(tools=[{"kind": "code", "name": print}])

    def test_later_changes_of_what_was_passed_in_do_not_reach_the_spec(self) -> None:
        state: dict[str, Any] = {"list": [1]}
        spec = WorkflowSpec(name="w", steps=(tool_step("s"),), initial_state=state)
        state["list"].append(2)
        assert spec.initial_state == {"list": [1]}

    @pytest.mark.parametrize("value", [float("nan"), float("inf")])
    def test_numbers_are_finite(self, value: float) -> None:
        with pytest.raises(ValidationError):
            Limits(deadline_seconds=value)
        with pytest.raises(ValidationError, match=r"x\[0\] is (nan|inf)"):
            LiteralValue(value={"x": [value]})

    def test_a_value_that_is_not_json_is_refused_by_type(self) -> None:
        with pytest.raises(ValidationError, match=r"builtins\.bytes, which is not JSON"):
            LiteralValue(value=b"x")

    @pytest.mark.parametrize("field", ["instructions", "description"])
    def test_a_lone_surrogate_is_refused(self, field: str) -> None:
        with pytest.raises(ValidationError, match=field):
            agent(**{field: "a\ud83d"})
        with pytest.raises(ValidationError, match=r"lone surrogate U\+D83D at position 1"):
            LiteralValue(value=["a\ud83d"])
        with pytest.raises(ValidationError, match="lone surrogate"):
            LiteralValue(value={"\udc00": 1})


class TestNormalisation:
    def test_line_endings(self) -> None:
        text = "a\r\nb\rc  \n"
        assert agent(instructions=text, description=text).instructions == "a\nb\nc  \n"
        assert agent(description=text).description == "a\nb\nc  \n"
        assert Skill(name="s", description=text, body=text).body == "a\nb\nc  \n"
        oauth = McpOAuth(issuer="x\r\n", redirect_uris=("u\r",))
        assert (oauth.issuer, oauth.redirect_uris) == ("x\n", ("u\n",))

    def test_lengths_are_those_of_the_normalised_text(self) -> None:
        with pytest.raises(ValidationError):
            SubagentRef(name="s", description="\r\n" * 10, spec=agent())

    def test_sets_are_sorted(self) -> None:
        spec = agent(
            tools=(CodeTool(name="b"), http(name="a")),
            mcp_servers=(McpServer(name="n", url="u"), McpServer(name="m", url="u")),
            a2a_peers=(A2APeer(name="q", url="u"), A2APeer(name="p", url="u")),
            skills=[Skill(name=name, description="d", body="b") for name in "ba"],
            subagents=[SubagentRef(name=n, description="x" * 20, spec=agent()) for n in "ba"],
        )
        for group, names in [
            (spec.tools, "ab"),
            (spec.mcp_servers, "mn"),
            (spec.a2a_peers, "pq"),
            (spec.skills, "ab"),
            (spec.subagents, "ab"),
        ]:
            assert [item.name for item in group] == list(names)

    def test_patterns_are_sorted_and_unique(self) -> None:
        twice = ("b", "a", "b")
        assert McpServer(name="m", url="u", allow=twice).allow == ("a", "b")
        peer = A2APeer(name="p", url="u", allow=twice, extensions=twice)
        assert (peer.allow, peer.extensions) == (("a", "b"), ("a", "b"))
        envelope = SpawnEnvelope(tools=twice, models=twice)
        assert (envelope.tools, envelope.models) == (("a", "b"), ("a", "b"))
        assert CodeExecution(bindings=("b", "a")).bindings == ("a", "b")

    def test_order_that_matters_stays(self) -> None:
        assert ModelRef(model="m", fallbacks=("z", "a", "z")).fallbacks == ("z", "a", "z")
        spec = WorkflowSpec(name="w", steps=(tool_step("z"), tool_step("a")))
        assert [step.name for step in spec.steps] == ["z", "a"]

    @pytest.mark.parametrize(
        ("field", "value", "what"),
        [
            ("tools", CodeTool(name="x"), "tool"),
            ("mcp_servers", McpServer(name="x", url="u"), "MCP server"),
            ("a2a_peers", A2APeer(name="x", url="u"), "A2A peer"),
            ("skills", Skill(name="x", description="d", body="b"), "skill"),
            ("subagents", SubagentRef(name="x", description="x" * 20, spec=agent()), "subagent"),
        ],
    )
    def test_a_name_is_used_once(self, field: str, value: object, what: str) -> None:
        with pytest.raises(ValidationError, match=f"more than one {what} is named 'x'"):
            agent(**{field: (value, value)})

    def test_a_binding_is_named_once(self) -> None:
        with pytest.raises(ValidationError, match="more than one binding is named 'x'"):
            CodeExecution(bindings=("x", "x"))


class TestNames:
    @pytest.mark.parametrize("name", ["", "1a", "a b", "-a", "a\n", "é", "a" * 129])
    def test_refused(self, name: str) -> None:
        with pytest.raises(ValidationError):
            agent(name=name)

    @pytest.mark.parametrize("name", ["a", "_", "a.b-c_1", "a" * 128])
    def test_accepted(self, name: str) -> None:
        assert agent(name=name).name == name

    @pytest.mark.parametrize("name", ["a.b", "a" * 65])
    def test_tool_names_are_narrower(self, name: str) -> None:
        with pytest.raises(ValidationError):
            CodeTool(name=name)
        with pytest.raises(ValidationError):
            http(name=name)

    @pytest.mark.parametrize("name", sorted(BUILT_IN_TOOLS))
    def test_built_in_names_are_taken(self, name: str) -> None:
        with pytest.raises(ValidationError, match="taken by a built-in tool"):
            agent(tools=(CodeTool(name=name),))
        with pytest.raises(ValidationError, match="taken by a built-in tool"):
            WorkflowSpec(name="w", steps=(tool_step("s"),), tools=(CodeTool(name=name),))

    def test_a_tool_cannot_pass_for_a_remote_one(self) -> None:
        server, peer = McpServer(name="crm.eu", url="u"), A2APeer(name="bot", url="u")
        with pytest.raises(ValidationError, match=r"looks like a tool of 'crm\.eu'"):
            agent(tools=(CodeTool(name="crm_eu__find"),), mcp_servers=(server,))
        with pytest.raises(ValidationError, match="looks like a tool of 'bot'"):
            agent(tools=(CodeTool(name="bot__ask"),), a2a_peers=(peer,))
        assert agent(tools=(CodeTool(name="other__find"),), mcp_servers=(server,)).tools


class TestHttpTool:
    @pytest.mark.parametrize(
        "url",
        [
            "https://x.test/{id}",
            "http://x.test?q={q}&r={r}",
            "HTTPS://x.test",
            "https://x.test:8080/a#b",
        ],
    )
    def test_url_accepted(self, url: str) -> None:
        assert http(url=url).url == url

    @pytest.mark.parametrize(
        "url",
        [
            "ftp://x.test/",
            "x.test/",
            "https:///path",
            "https://{host}/",
            "https://{u}@x.test/",
            "https://x.test/{",
            "https://x.test/}{",
            "https://x.test/{}",
            "https://x.test/#{f}",
            "https://x.test/{{a}}",
        ],
    )
    def test_url_refused(self, url: str) -> None:
        with pytest.raises(ValidationError):
            http(url=url)

    @pytest.mark.parametrize("name", ["Authorization", "proxy-authorization", "COOKIE"])
    def test_credentials_do_not_belong_in_headers(self, name: str) -> None:
        with pytest.raises(ValidationError, match="would store a secret"):
            http(headers={name: "x"})

    @pytest.mark.parametrize("headers", [{"a b": "x"}, {"": "x"}, {"a": "x\r\nb: y"}])
    def test_headers_are_headers(self, headers: dict[str, str]) -> None:
        with pytest.raises(ValidationError, match="header"):
            http(headers=headers)


def test_oauth_by_code_needs_somewhere_to_return_to() -> None:
    with pytest.raises(ValidationError, match="redirect_uris"):
        McpOAuth(grant="authorization_code")


def test_stdio_is_not_a_transport() -> None:
    with pytest.raises(ValidationError):
        McpServer(name="m", url="u", transport="stdio")


@pytest.mark.parametrize("what", ["failure_streak", "repeat_call"])
def test_a_hard_stop_is_not_before_its_threshold(what: str) -> None:
    with pytest.raises(ValidationError, match=f"{what}_hard_stop is 6, below"):
        Limits(**{f"{what}_threshold": 7})
    Limits(**{f"{what}_threshold": 6})


@pytest.mark.parametrize(
    ("model", "fields"),
    [
        (Limits, {"max_steps": 0}),
        (Limits, {"max_steps": 10001}),
        (Limits, {"deadline_seconds": 86401}),
        (Limits, {"max_delegation_depth": 17}),
        (Limits, {"stream_idle_seconds": -1}),
        (Limits, {"max_history_records": 20001}),
        (ModelRef, {"model": ""}),
        (ModelRef, {"model": "m", "temperature": 2.1}),
        (ModelRef, {"model": "m", "top_p": 0}),
        (CompactionPolicy, {"trigger_tokens": 0}),
        (CompactionPolicy, {"trigger_tokens": 1, "max_summary_tokens": 32001}),
        (SpawnEnvelope, {"max_alive": 33}),
        (CodeExecutionLimits, {"cpu_seconds": 3601}),
        (OutputPolicy, {"preview_bytes": 255}),
        (OutputPolicy, {"preview_bytes": 5000, "max_bytes": 4096}),
        (RetryPolicy, {"max_attempts": 101}),
        (RetryPolicy, {"multiplier": 0.9}),
        (Skill, {"name": "s", "description": "x" * 1025, "body": "b"}),
        (WaitStep, {"name": "s", "event": "e", "timeout_seconds": 2_592_001}),
        (ValuePath, {"path": "a b"}),
    ],
)
def test_bounds(model: type[BaseModel], fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        model(**fields)


def test_isolated_satisfies_process_and_not_the_reverse() -> None:
    assert IsolationLevel.ISOLATED.satisfies(IsolationLevel.PROCESS)
    assert IsolationLevel.PROCESS.satisfies(IsolationLevel.PROCESS)
    assert not IsolationLevel.PROCESS.satisfies(IsolationLevel.ISOLATED)


class TestBindings:
    def test_known_names(self) -> None:
        bindings = ("t", "list_tools", "crm__find")
        spec = agent(
            tools=(CodeTool(name="t"),),
            mcp_servers=(McpServer(name="crm", url="u"),),
            code_execution=CodeExecution(bindings=bindings),
        )
        assert spec.code_execution is not None
        assert spec.code_execution.bindings == ("crm__find", "list_tools", "t")

    @pytest.mark.parametrize("name", ["nope", "remember", "other__find"])
    def test_unknown_names(self, name: str) -> None:
        with pytest.raises(ValidationError, match=f"names '{name}'"):
            agent(code_execution=CodeExecution(bindings=(name,)))


class TestConditions:
    def test_exactly_one_kind(self) -> None:
        with pytest.raises(ValidationError, match="has none"):
            Condition()
        with pytest.raises(ValidationError, match="path and any_of"):
            Condition(path="a", any_of=(TRUE,))

    @pytest.mark.parametrize("value", [None, 1, "(", "a{99999999999999999999}"])
    def test_matches_needs_a_regex(self, value: object) -> None:
        with pytest.raises(ValidationError, match="regular expression"):
            Condition(path="a", op="matches", value=value)


def test_delays_grow_up_to_their_limit() -> None:
    policy = RetryPolicy(max_attempts=9, backoff_seconds=2, multiplier=3, max_backoff_seconds=20)
    assert [policy.delay_before(n) for n in (0, 1, 2, 3, 4, 5)] == [0, 0, 2, 6, 18, 20]
    assert policy.delay_before(100_000) == 20
    assert RetryPolicy().delay_before(5) == 0


class TestWorkflow:
    def test_twelve_kinds(self) -> None:
        schema = TypeAdapter(WorkflowStep).json_schema()
        assert sorted(schema["discriminator"]["mapping"]) == sorted(STEP_KINDS)
        assert len(STEP_KINDS) == 12

    def tree(self) -> WorkflowSpec:
        nested = WorkflowSpec(name="n", steps=(tool_step("p1"),))
        return WorkflowSpec(
            name="w",
            steps=(
                ParallelStep(name="p", branches=(tool_step("p1"), tool_step("p2"))),
                BranchStep(
                    name="b",
                    cases=(BranchCase(name="c", when=TRUE, step=tool_step("b1")),),
                    otherwise=tool_step("b2"),
                ),
                ForEachStep(name="f", items=ValuePath(path="state.x"), body=tool_step("f1")),
                LoopStep(name="l", until=TRUE, body=tool_step("l1")),
                WorkflowStepRef(name="r", spec=nested),
            ),
        )

    def test_steps_depth_first_without_nested_workflows(self) -> None:
        names = [step.name for step in iter_steps(self.tree().steps)]
        assert names == ["p", "p1", "p2", "b", "b1", "b2", "f", "f1", "l", "l1", "r"]

    def test_names_are_unique_over_the_tree(self) -> None:
        with pytest.raises(ValidationError, match="more than one step is named 'x'"):
            WorkflowSpec(
                name="w",
                steps=(tool_step("x"), ParallelStep(name="p", branches=(tool_step("x"),))),
            )

    def test_case_names_are_unique(self) -> None:
        case = BranchCase(name="c", when=TRUE, step=tool_step("x"))
        with pytest.raises(ValidationError, match="more than one case is named 'c'"):
            BranchStep(name="b", cases=(case, case))

    def test_while_has_two_spellings(self) -> None:
        body = {"kind": "tool", "name": "t", "tool": "t"}
        for key in ("while", "while_"):
            step = LoopStep.model_validate({"name": "l", "body": body, key: {"path": "a"}})
            assert step.while_ == Condition(path="a")
            assert step.model_dump()["while_"] is not None

    def test_one_exit_test_and_one_time(self) -> None:
        with pytest.raises(ValidationError, match="exactly one of until and while"):
            LoopStep(name="l", body=tool_step("t"))
        with pytest.raises(ValidationError, match="exactly one of until and while"):
            LoopStep(name="l", body=tool_step("t"), until=TRUE, while_=TRUE)
        with pytest.raises(ValidationError, match="exactly one of seconds and until"):
            SleepStep(name="s")
        with pytest.raises(ValidationError, match="exactly one of seconds and until"):
            SleepStep(name="s", seconds=1, until=ValuePath(path="a"))

    def test_needs_a_step(self) -> None:
        with pytest.raises(ValidationError):
            WorkflowSpec(name="w", steps=())


def test_skill_links() -> None:
    text = "See [[skill:b]] and [[skill: a ]], then [[skill:b]]; not [skill:c]."
    assert linked_skills(text) == ["b", "a"]


def test_text_is_what_it_holds_not_what_it_says_it_is() -> None:
    class Loud(str):
        def __str__(self) -> str:
            return self.upper()

    assert LiteralValue(value=Loud("a")).value == "a"
    assert type(LiteralValue(value=Loud("a")).value) is str
