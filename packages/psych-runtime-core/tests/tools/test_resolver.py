import pytest
from psych_runtime.errors import AccessDenied, ToolSchemaError
from psych_runtime.spec.definitions import ToolDefinition
from psych_runtime.spec.tools import CodeTool, HttpTool
from psych_runtime.tools.registry import ToolRegistry
from psych_runtime.tools.resolver import ResolvedTools, resolve_tools


@pytest.fixture
def registry() -> ToolRegistry:
    made = ToolRegistry()
    for name in ("lookup", "refund", "ungranted"):
        made.register(lambda: None, name=name, description=f"Does {name}.")
    return made


GET = HttpTool(name="rates", description="Rates.", url="https://example.com", method="GET")
POST = HttpTool(name="order", description="Order.", url="https://example.com")
GRANTED = (CodeTool(name="lookup"), CodeTool(name="refund"), GET, POST)


def resolve(registry: ToolRegistry, streaks: dict[str, int], **options: object) -> ResolvedTools:
    return resolve_tools(
        GRANTED,
        registry,
        failure_streaks=streaks,
        threshold=3,
        **options,  # type: ignore[arg-type]
    )


def test_what_the_spec_grants_is_offered(registry: ToolRegistry) -> None:
    extra = ToolDefinition(name="load_skill")
    resolved = resolve(registry, {"lookup": 2}, extra=[extra])
    assert [item.name for item in resolved.definitions] == [
        "lookup",
        "refund",
        "rates",
        "order",
        "load_skill",
    ]
    assert resolved.names == {"lookup", "refund", "rates", "order", "load_skill"}
    assert resolved.definitions[0] == registry.require("lookup").definition
    assert resolved.definitions[2].annotations == {"read-only"}
    assert resolved.definitions[3].annotations == {"write"}
    assert resolved.definitions[3].input_schema["type"] == "object"
    assert (resolved.advisories, resolved.withheld) == ((), frozenset())


def test_a_failing_tool_is_withheld_and_the_model_is_told(registry: ToolRegistry) -> None:
    resolved = resolve(registry, {"refund": 3, "rates": 4})
    assert resolved.names == {"lookup", "order"}
    assert resolved.withheld == {"refund", "rates"}
    assert [("refund" in text, "rates" in text) for text in resolved.advisories] == [
        (True, False),
        (False, True),
    ]


def test_the_tenant_narrows_the_spec_s_tools_only(registry: ToolRegistry) -> None:
    extra = ToolDefinition(name="load_skill")
    resolved = resolve(registry, {}, tenant_allows=["r*"], extra=[extra])
    assert resolved.names == {"refund", "rates", "load_skill"}


def test_a_missing_function_is_named(registry: ToolRegistry) -> None:
    with pytest.raises(ToolSchemaError, match="'lookup'"):
        resolve(ToolRegistry(), {})


def test_two_tools_of_one_name_are_refused(registry: ToolRegistry) -> None:
    with pytest.raises(AccessDenied, match="lookup"):
        resolve(registry, {}, extra=[ToolDefinition(name="lookup")])
    with pytest.raises(AccessDenied, match="lookup"):
        resolve(registry, {"lookup": 3}, extra=[ToolDefinition(name="lookup")])
