"""Which tools an agent is offered in a turn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from psych_runtime.errors import AccessDenied
from psych_runtime.spec.definitions import ToolDefinition
from psych_runtime.spec.narrowing import tenant_permitted
from psych_runtime.spec.tools import CodeTool, HttpTool
from psych_runtime.tools.guards import assess_streak
from psych_runtime.tools.http_request import http_definition
from psych_runtime.tools.registry import ToolRegistry


@dataclass(frozen=True, slots=True)
class ResolvedTools:
    """The tools of a turn.

    Attributes:
        definitions: What is offered: the Spec's tools in its order, then the extra ones.
        advisories: What the model is told about tools that are not offered.
        withheld: Tools that are not offered because they kept failing.
    """

    definitions: tuple[ToolDefinition, ...]
    advisories: tuple[str, ...]
    withheld: frozenset[str]

    @property
    def names(self) -> frozenset[str]:
        """The names of what is offered."""
        return frozenset(definition.name for definition in self.definitions)


def resolve_tools(
    spec_tools: Iterable[CodeTool | HttpTool],
    registry: ToolRegistry,
    *,
    failure_streaks: Mapping[str, int],
    threshold: int,
    tenant_allows: Sequence[str] = (),
    extra: Iterable[ToolDefinition] = (),
) -> ResolvedTools:
    """Return what an agent is offered. Depends on nothing but its arguments, so it can be cached.

    Args:
        spec_tools: What the Spec grants.
        registry: This process's functions.
        failure_streaks: Failures in a row, by tool.
        threshold: From this many on a tool is withheld.
        tenant_allows: Patterns of the Spec's tools that the tenant may use; empty allows all.
        extra: Built-in and remote tools, offered as they are.

    Raises:
        ToolSchemaError: A granted function is not registered in this process.
        AccessDenied: Two tools have the same name.
    """
    tools = tuple(spec_tools)
    permitted = frozenset(tenant_permitted((tool.name for tool in tools), tenant_allows))
    found = [definition_of(tool, registry) for tool in tools if tool.name in permitted]
    found += extra
    offered: dict[str, ToolDefinition] = {}
    advisories: list[str] = []
    withheld: set[str] = set()
    seen: set[str] = set()
    for definition in found:
        name = definition.name
        if name in seen:
            raise AccessDenied(
                name, "two tools of this agent have this name, so a call would be ambiguous"
            )
        seen.add(name)
        verdict = assess_streak(name, failure_streaks.get(name, 0), threshold=threshold)
        if verdict.withhold:
            withheld.add(name)
            advisories.append(verdict.advisory)
        else:
            offered[name] = definition
    return ResolvedTools(tuple(offered.values()), tuple(advisories), frozenset(withheld))


def definition_of(tool: CodeTool | HttpTool, registry: ToolRegistry) -> ToolDefinition:
    """Return how a granted tool is shown to the model.

    Raises:
        ToolSchemaError: It is a function that is not registered in this process.
    """
    if isinstance(tool, CodeTool):
        return registry.require(tool.name).definition
    return http_definition(tool)
