import pytest
from psych_runtime.ports.policy import AllowAll, Decision, Policy, ToolClass
from psych_runtime.scope import Scope
from psych_runtime.spec.definitions import ToolDefinition
from psych_runtime.tools.classification import approval_required, classify


def tool(*annotations: str, name: str = "tool") -> ToolDefinition:
    return ToolDefinition(name=name, annotations=frozenset(annotations))


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        ((), ToolClass.WRITE),
        (("read-only",), ToolClass.READ_ONLY),
        (("read-only", "write"), ToolClass.WRITE),
        (("read-only", "destructive"), ToolClass.DESTRUCTIVE),
        (("write", "destructive"), ToolClass.DESTRUCTIVE),
        (("Destructive",), ToolClass.DESTRUCTIVE),
        (("money",), ToolClass.WRITE),
    ],
)
def test_the_strongest_mark_wins(annotations: tuple[str, ...], expected: ToolClass) -> None:
    assert classify(tool(*annotations)) is expected


def test_approval_by_class() -> None:
    assert approval_required(tool())
    assert approval_required(tool("destructive"))
    assert not approval_required(tool("read-only"))
    assert approval_required(tool("destructive"), selectors=["Destructive"])
    assert not approval_required(tool("write"), selectors=["@destructive"])
    assert not approval_required(tool("destructive"), selectors=[])


def test_approval_by_name() -> None:
    reading = tool("read-only", name="pay_read")
    assert approval_required(reading, always=["pay_*"])
    assert not approval_required(reading, always=["pay"])
    assert not approval_required(tool(name="pay_now"), never=["pay_now"], always=["*"])


async def test_decisions() -> None:
    assert Decision.allow() == Decision(allowed=True)
    assert Decision.deny("no") == Decision(allowed=False, reason="no")
    assert Decision.ask("sure?") == Decision(False, "sure?", requires_approval=True)
    policy: Policy = AllowAll()
    assert isinstance(policy, Policy)
    assert (await policy.allow_tool(Scope(tenant="t"), "tool", {})).allowed
