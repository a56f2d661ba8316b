"""What is checked before a Spec is published, so that it is not found out mid-conversation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from psych_runtime.errors import SpecValidationError, ValidationIssue
from psych_runtime.spec.agent import AgentSpec
from psych_runtime.spec.http_schema import schema_problems
from psych_runtime.spec.parts import AVAILABLE_PARTS, PARTS, required_parts
from psych_runtime.spec.remote_names import owner_prefix, qualified_owner
from psych_runtime.spec.skills import linked_skills
from psych_runtime.spec.steps import ToolStep
from psych_runtime.spec.tools import HttpTool
from psych_runtime.spec.walk import MAX_NESTING, delegation_depth, step_depth, walk_specs
from psych_runtime.spec.workflow import WorkflowSpec, iter_steps

__all__ = [
    "AVAILABLE_PARTS",
    "PARTS",
    "ValidationContext",
    "collect_issues",
    "required_parts",
    "validate_spec",
]


class ValidationContext:
    """What is known of the deployment a Spec is meant for.

    Args:
        registered_tools: Names of the functions that Workers have registered.
        known_models: Ids of the models that can be used.
        reachable_mcp_servers: Names or URLs of MCP servers that answer.
        sandbox_profiles: Names of the sandbox profiles.
        available_parts: Parts of the runtime that can be run (see `PARTS`); None: those of this
            release.

    The first four skip their checks when they are empty.
    """

    def __init__(
        self,
        registered_tools: Iterable[str] = (),
        known_models: Iterable[str] = (),
        reachable_mcp_servers: Iterable[str] = (),
        sandbox_profiles: Iterable[str] = (),
        available_parts: Iterable[str] | None = None,
    ) -> None:
        self.registered_tools = frozenset(registered_tools)
        self.known_models = frozenset(known_models)
        self.reachable_mcp_servers = frozenset(reachable_mcp_servers)
        self.sandbox_profiles = frozenset(sandbox_profiles)
        self.available_parts = (
            AVAILABLE_PARTS if available_parts is None else frozenset(available_parts)
        )


def validate_spec(spec: AgentSpec | WorkflowSpec, context: ValidationContext | None = None) -> None:
    """Check a Spec against a deployment.

    Raises:
        SpecValidationError: Lists every problem of `collect_issues`.
    """
    issues = collect_issues(spec, context)
    if issues:
        raise SpecValidationError(issues)


def collect_issues(
    spec: AgentSpec | WorkflowSpec, context: ValidationContext | None = None
) -> list[ValidationIssue]:
    """Return every problem of a Spec and the Specs inside it, outermost first.

    Args:
        spec: The Spec.
        context: What is known of the deployment; None knows nothing but this release.
    """
    context = context or ValidationContext()
    issues = [
        ValidationIssue(path, f"this release cannot run {PARTS[part]} yet ({part})")
        for part, path in required_parts(spec).items()
        if part not in context.available_parts
    ]
    for embedded in walk_specs(spec):
        inner, path = embedded.spec, embedded.path
        if embedded.contains_itself:
            issues.append(ValidationIssue(path, "this Spec contains itself"))
            continue
        if embedded.level > MAX_NESTING:
            message = f"Specs are nested more than {MAX_NESTING} levels deep"
            issues.append(ValidationIssue(path, message))
            continue
        if isinstance(inner, AgentSpec):
            found = _agent_issues(inner, context)
        else:
            found = _workflow_issues(inner, context)
        issues += [ValidationIssue(f"{path}.{where}", message) for where, message in found]
    return issues


def _agent_issues(spec: AgentSpec, context: ValidationContext) -> Iterator[tuple[str, str]]:
    yield from _model_issues(spec, context)
    yield from _shared_issues(spec, context)
    yield from _owner_issues(spec)
    yield from _skill_issues(spec)
    depth, limit = delegation_depth(spec), spec.limits.max_delegation_depth
    if depth > limit:
        yield (
            "subagents",
            f"subagents are nested {depth} deep, limits.max_delegation_depth is {limit}",
        )
    execution = spec.code_execution
    profiles = context.sandbox_profiles
    if execution and execution.enabled and profiles and execution.profile not in profiles:
        yield (
            "code_execution.profile",
            f"there is no sandbox profile {execution.profile!r}; known: {_listed(profiles)}",
        )


def _model_issues(spec: AgentSpec, context: ValidationContext) -> Iterator[tuple[str, str]]:
    used = [("model.model", spec.model.model)]
    used += [(f"model.fallbacks[{i}]", name) for i, name in enumerate(spec.model.fallbacks)]
    if spec.compaction and spec.compaction.model is not None:
        used.append(("compaction.model", spec.compaction.model))
    for where, name in used:
        if context.known_models and name not in context.known_models:
            yield where, f"the model {name!r} is not known; known: {_listed(context.known_models)}"


def _shared_issues(
    spec: AgentSpec | WorkflowSpec, context: ValidationContext
) -> Iterator[tuple[str, str]]:
    for tool in spec.tools:
        if isinstance(tool, HttpTool):
            for field, message in schema_problems(tool.input_schema):
                yield f"tools.{tool.name}.input_schema.{field}", message
        elif context.registered_tools and tool.name not in context.registered_tools:
            yield (
                f"tools.{tool.name}",
                f"no tool {tool.name!r} is registered; registered: "
                f"{_listed(context.registered_tools)}",
            )
    reachable = context.reachable_mcp_servers
    for server in spec.mcp_servers:
        if reachable and not server.optional and not {server.name, server.url} & reachable:
            yield (
                f"mcp_servers.{server.name}",
                f"the MCP server {server.name!r} is not reachable; make it optional, or bring it up",
            )


def _owner_issues(spec: AgentSpec) -> Iterator[tuple[str, str]]:
    prefixes: dict[str, str] = {}
    owners = [(f"mcp_servers.{server.name}", server.name) for server in spec.mcp_servers]
    owners += [(f"a2a_peers.{peer.name}", peer.name) for peer in spec.a2a_peers]
    for where, name in owners:
        other = prefixes.setdefault(owner_prefix(name), where)
        if other != where:
            yield where, f"its tools would get the same names as those of {other}; rename one"


def _skill_issues(spec: AgentSpec) -> Iterator[tuple[str, str]]:
    names = {skill.name for skill in spec.skills}
    texts = [("instructions", spec.instructions)]
    texts += [(f"skills.{skill.name}.body", skill.body) for skill in spec.skills]
    for where, text in texts:
        for name in linked_skills(text):
            if name not in names:
                yield where, f"links to the skill {name!r}, which this agent does not have"


def _workflow_issues(spec: WorkflowSpec, context: ValidationContext) -> Iterator[tuple[str, str]]:
    yield from _shared_issues(spec, context)
    depth = step_depth(spec)
    if depth > MAX_NESTING:
        yield "steps", f"steps are nested {depth} levels deep, at most {MAX_NESTING} are possible"
    granted = {tool.name for tool in spec.tools}
    servers = [server.name for server in spec.mcp_servers]
    for step in iter_steps(spec.steps):
        if not isinstance(step, ToolStep) or step.tool in granted:
            continue
        registered = not context.registered_tools or step.tool in context.registered_tools
        if not registered and qualified_owner(step.tool, servers) is None:
            yield (
                f"steps.{step.name}.tool",
                f"the tool {step.tool!r} is neither granted by this workflow nor registered",
            )


def _listed(names: frozenset[str]) -> str:
    shown = sorted(names)[:10]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")
