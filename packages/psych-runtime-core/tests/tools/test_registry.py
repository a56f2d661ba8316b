from __future__ import annotations

import asyncio
import functools
import threading
from typing import TYPE_CHECKING, Annotated, Any, Optional

import pytest
from psych_runtime.errors import ToolSchemaError
from psych_runtime.tools.context import ToolContext
from psych_runtime.tools.reconciliation import Reconciliation
from psych_runtime.tools.registry import ToolRegistry
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    computed_field,
    create_model,
    field_validator,
)

if TYPE_CHECKING:
    from psych_runtime.tools.context import ToolContext as OnlyForCheckers


class Address(BaseModel):
    street: str
    number: int = 1


@pytest.fixture
def registry() -> ToolRegistry:
    return ToolRegistry()


async def test_a_function_becomes_a_tool_and_stays_the_function(registry: ToolRegistry) -> None:
    @registry.register
    async def lookup(order_id: str, limit: int = 5) -> dict[str, Any]:
        """Look up an order.

        Only what is above is shown.
        """
        return {"order_id": order_id, "limit": limit}

    assert await lookup("A1") == {"order_id": "A1", "limit": 5}
    tool = registry.require("lookup")
    assert tool.description == "Look up an order."
    assert tool.is_async
    assert tool.interruptible
    assert not tool.safe_to_retry
    assert not tool.read_only
    assert tool.input_schema["additionalProperties"] is False
    assert tool.input_schema["required"] == ["order_id"]
    assert tool.input_schema["properties"]["limit"]["default"] == 5
    assert "title" not in tool.input_schema
    assert registry.names == {"lookup"}
    assert await registry.call("lookup", {"order_id": "A1"}) == {"order_id": "A1", "limit": 5}


def test_decorator_options_reach_the_tool(registry: ToolRegistry) -> None:
    def find() -> Reconciliation:
        return Reconciliation.unknown()

    @registry.register(
        name="other",
        description="Does it.",
        interruptible=False,
        safe_to_retry=True,
        annotations={"read-only"},
        timeout_seconds=2,
        reconcile=find,
        serial="orders",
        exclusive=True,
    )
    def anything() -> None: ...

    tool = registry.require("other")
    assert tool.definition.name == "other"
    assert tool.definition.description == "Does it."
    assert tool.definition.annotations == {"read-only"}
    assert (tool.interruptible, tool.safe_to_retry, tool.read_only) == (False, True, True)
    assert (tool.timeout_seconds, tool.reconcile, tool.serial) == (2, find, "orders")
    assert tool.exclusive
    assert not tool.is_async


async def test_arguments_arrive_as_the_declared_types(registry: ToolRegistry) -> None:
    seen: list[Any] = []

    @registry.register(description="Ship.")
    async def ship(to: Address, also: list[Address], when: Annotated[int, Field(ge=1)] = 2) -> None:
        seen.extend([to, also, when])

    await registry.call("ship", {"to": {"street": "A"}, "also": [{"street": "B", "number": 2}]})
    assert seen == [Address(street="A"), [Address(street="B", number=2)], 2]


async def test_strict_models_accept_what_json_can_carry(registry: ToolRegistry) -> None:
    import datetime

    class Day(BaseModel):
        model_config = ConfigDict(strict=True)
        day: datetime.date

    def book(day: Day) -> str:
        """Book."""
        return day.day.isoformat()

    book.__annotations__["day"] = Day
    registry.register(book)
    assert await registry.call("book", {"day": {"day": "2026-01-02"}}) == "2026-01-02"


async def test_any_parameter_name_works(registry: ToolRegistry) -> None:
    @registry.register(description="Odd names.")
    async def odd(json: str, model_config: int, _hidden: int = 3, *, copy: bool = False) -> Any:
        return [json, model_config, _hidden, copy]

    schema = registry.require("odd").input_schema
    assert set(schema["properties"]) == {"json", "model_config", "_hidden", "copy"}
    assert await registry.call("odd", {"json": "j", "model_config": 1, "_hidden": 4}) == [
        "j",
        1,
        4,
        False,
    ]


@pytest.mark.parametrize(
    "hint",
    [ToolContext, ToolContext | None, Optional[ToolContext], Annotated[ToolContext, "why"]],  # noqa: UP045
)
async def test_the_context_is_injected_and_not_shown(registry: ToolRegistry, hint: Any) -> None:
    async def tool(n: int, ctx: Any) -> str:
        """Uses the context."""
        return f"{ctx.run_id} {n}"

    tool.__annotations__["ctx"] = hint
    registry.register(tool)
    assert set(registry.require("tool").input_schema["properties"]) == {"n"}
    assert registry.require("tool").context_parameter == "ctx"
    context = ToolContext.for_testing(run_id="run_7")
    assert await registry.call("tool", {"n": 1}, context=context) == "run_7 1"
    with pytest.raises(ValidationError):
        await registry.call("tool", {"n": 1, "ctx": {}})


async def test_a_tool_with_a_context_can_be_called_without_a_run(registry: ToolRegistry) -> None:
    @registry.register(description="Says its name.")
    async def me(context: ToolContext) -> str:
        return context.tool

    assert await registry.call("me", {}) == "me"


async def test_a_sync_function_runs_off_the_loop(registry: ToolRegistry) -> None:
    @registry.register(description="Where am I?")
    def where() -> int:
        return threading.get_ident()

    assert await registry.call("where", {}) != threading.get_ident()


async def test_methods_partials_and_callable_objects(registry: ToolRegistry) -> None:
    class Shop:
        def __init__(self) -> None:
            self.sold = 0

        async def sell(self, n: int) -> int:
            """Sell."""
            self.sold += n
            return self.sold

    class Adder:
        async def __call__(self, n: int) -> int:
            return n + 1

    shop = Shop()
    registry.register(shop.sell)
    registry.register(Adder(), name="add", description="Add one.")
    registry.register(functools.partial(shop.sell, 5), name="five", description="Sell five.")
    assert registry.require("add").is_async
    assert await registry.call("sell", {"n": 2}) == 2
    assert await registry.call("add", {"n": 2}) == 3
    assert await registry.call("five", {}) == 7


def _refused(registry: ToolRegistry, fn: Any, **options: Any) -> str:
    with pytest.raises(ToolSchemaError) as caught:
        registry.register(fn, **options)
    assert registry.names == frozenset()
    return str(caught.value)


def test_refusals_say_what_to_do(registry: ToolRegistry) -> None:
    def bare(n: int) -> None: ...

    def unhinted(n) -> None:  # type: ignore[no-untyped-def]
        """Doc."""

    def spread(*args: int) -> None:
        """Doc."""

    def anything(**kwargs: int) -> None:
        """Doc."""

    def only_by_position(n: int, /) -> None:
        """Doc."""

    def unknown(n: OnlyForCheckers.nothing) -> None:  # type: ignore[name-defined]
        """Doc."""

    def unmodellable(n: threading.Lock) -> None:
        """Doc."""

    def two(a: ToolContext, b: ToolContext) -> None:
        """Doc."""

    def generator(n: int) -> Any:
        """Doc."""
        yield n

    class Thing:
        def method(self, n: int) -> None:
            """Doc."""

    assert "docstring" in _refused(registry, bare)
    assert "no description" in _refused(registry, bare, description="  ")
    assert "'n' has no type hint" in _refused(registry, unhinted)
    assert "*args" in _refused(registry, spread)
    assert "register_dynamic" in _refused(registry, anything)
    assert "remove the '/'" in _refused(registry, only_by_position)
    assert "OnlyForCheckers" in _refused(registry, unknown)
    assert "unmodellable" in _refused(registry, unmodellable)
    assert "'a' and 'b'" in _refused(registry, two)
    assert "yields" in _refused(registry, generator)
    assert "bound method" in _refused(registry, Thing.method)
    assert "pass name=" in _refused(registry, lambda: None, description="x")
    assert "pass name=" in _refused(registry, bare, name="a b", description="x")
    assert "{'read-only'}" in _refused(registry, bare, description="x", annotations="read-only")
    assert "over 0" in _refused(registry, bare, description="x", timeout_seconds=0)
    assert "'other'" in _refused(registry, bare, description="x", reconcile=lambda other: other)


def test_an_unresolvable_return_type_does_not_matter(registry: ToolRegistry) -> None:
    @registry.register
    def fine(n: int) -> OnlyForCheckers.nothing:  # type: ignore[name-defined]
        """Doc."""

    assert registry.names == {"fine"}


def test_a_name_can_be_taken_only_once(registry: ToolRegistry) -> None:
    registry.register(lambda: None, name="one", description="One.")
    with pytest.raises(ToolSchemaError, match="already registered"):
        registry.register(lambda: None, name="one", description="Another.")


def test_layered_does_not_touch_the_original(registry: ToolRegistry) -> None:
    registry.register(lambda: None, name="one", description="One.")
    layer = registry.layered()
    layer.register(lambda: None, name="two", description="Two.")
    assert registry.names == {"one"}
    assert layer.names == {"one", "two"}
    assert layer.require("one") is registry.require("one")


def test_lookup(registry: ToolRegistry) -> None:
    registry.register(lambda: None, name="lookup", description="One.")
    registry.register(lambda: None, name="other", description="Two.")
    assert registry.get("nope") is None
    with pytest.raises(ToolSchemaError, match="did you mean 'lookup'"):
        registry.require("lokup")
    with pytest.raises(ToolSchemaError, match="there is: lookup, other"):
        registry.require("zzz")
    assert [item.name for item in registry.definitions()] == ["lookup", "other"]
    assert [item.name for item in registry.definitions(["other"])] == ["other"]
    with pytest.raises(ToolSchemaError):
        registry.definitions(["zzz"])


async def test_dynamic_tools(registry: ToolRegistry) -> None:
    async def call_integration(name: str, **arguments: str) -> dict[str, str]:
        return {"tool": name, **arguments}

    model = create_model(
        "lookup_Arguments",
        __config__=ConfigDict(extra="forbid"),
        account_id=(str, ...),
        region=(str, "eu"),
    )
    registry.register_dynamic(
        "lookup",
        functools.partial(call_integration, "lookup"),
        model,
        description="Look up.",
        annotations={"read-only"},
    )
    assert registry.require("lookup").read_only
    assert registry.require("lookup").is_async
    assert await registry.call("lookup", {"account_id": "7"}) == {
        "tool": "lookup",
        "account_id": "7",
        "region": "eu",
    }
    with pytest.raises(ValidationError):
        await registry.call("lookup", {"account_id": "7", "more": 1})


async def test_a_dynamic_model_is_used_as_it_is(registry: ToolRegistry) -> None:
    class Arguments(BaseModel):
        model_config = ConfigDict(extra="forbid")
        n: int

        @field_validator("n")
        @classmethod
        def _even(cls, n: int) -> int:
            if n % 2:
                raise ValueError("must be even")
            return n

        @computed_field
        def doubled(self) -> int:
            return self.n * 2

    seen: list[dict[str, Any]] = []

    async def tool(context: ToolContext, **arguments: Any) -> None:
        seen.append({"context": context.tool, **arguments})

    registry.register_dynamic("tool", tool, Arguments, description="Even numbers.")
    await registry.call("tool", {"n": 4})
    assert seen == [{"context": "tool", "n": 4}]
    with pytest.raises(ValidationError, match="must be even"):
        await registry.call("tool", {"n": 3})


def test_dynamic_refusals(registry: ToolRegistry) -> None:
    loose = create_model("Loose", n=(int, ...))
    tight = create_model("Tight", __config__=ConfigDict(extra="forbid"), n=(int, ...))

    def takes_n(n: int) -> None: ...

    def takes_m(m: int) -> None: ...

    def clash(n: ToolContext) -> None: ...

    def refused(fn: Any, model: Any, description: str | None = "D.") -> str:
        with pytest.raises(ToolSchemaError) as caught:
            registry.register_dynamic("tool", fn, model, description=description)
        return str(caught.value)

    assert 'extra="forbid"' in refused(takes_n, loose)
    assert "no description" in refused(functools.partial(takes_n), tight, None)
    assert "pydantic model" in refused(takes_n, dict)
    assert "'m'" in refused(takes_m, tight)
    assert "'n'" in refused(lambda: None, tight)
    assert "rename one" in refused(clash, tight)
    assert registry.names == frozenset()


async def test_calls_from_several_loops_share_a_registry(registry: ToolRegistry) -> None:
    registry.register(lambda: 1, name="one", description="One.")

    def other_loop() -> Any:
        return asyncio.run(registry.call("one", {}))

    assert await registry.call("one", {}) == 1
    assert await asyncio.to_thread(other_loop) == 1
