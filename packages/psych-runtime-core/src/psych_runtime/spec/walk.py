"""Going through a Spec and the Specs inside it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from psych_runtime.spec.agent import AgentSpec
from psych_runtime.spec.steps import AgentStep
from psych_runtime.spec.workflow import WorkflowSpec, WorkflowStepRef, iter_steps, step_children

MAX_NESTING = 16
"""How many levels of Specs inside Specs, and of steps inside steps, there may be."""


@dataclass(frozen=True, slots=True)
class Embedded:
    """A Spec, and where it is.

    Attributes:
        spec: The Spec.
        path: Dotted from the outermost Spec's name.
        level: 1 for the outermost Spec, 2 for one inside it, and so on.
        contains_itself: Whether this Spec is one of those it is inside of.
    """

    spec: AgentSpec | WorkflowSpec
    path: str
    level: int
    contains_itself: bool = False


def walk_specs(spec: AgentSpec | WorkflowSpec) -> Iterator[Embedded]:
    """Yield a Spec and every Spec inside it, outermost first.

    The last one yielded on a way down is either innermost, or one level too deep, or a Spec that
    contains itself.
    """
    yield from _walk(Embedded(spec, spec.name, 1), ())


def _walk(embedded: Embedded, outer: tuple[int, ...]) -> Iterator[Embedded]:
    spec = embedded.spec
    if id(spec) in outer:
        yield Embedded(spec, embedded.path, embedded.level, contains_itself=True)
        return
    yield embedded
    if embedded.level > MAX_NESTING:
        return
    for field, inner in inner_specs(spec):
        path = f"{embedded.path}.{field}"
        yield from _walk(Embedded(inner, path, embedded.level + 1), (*outer, id(spec)))


def inner_specs(
    spec: AgentSpec | WorkflowSpec,
) -> Iterator[tuple[str, AgentSpec | WorkflowSpec]]:
    """Yield the Specs directly inside a Spec, each with its path from there."""
    if isinstance(spec, AgentSpec):
        for ref in spec.subagents:
            yield f"subagents.{ref.name}.spec", ref.spec
        return
    for step in iter_steps(spec.steps):
        if isinstance(step, AgentStep | WorkflowStepRef):
            yield f"steps.{step.name}.spec", step.spec


def delegation_depth(spec: AgentSpec, levels: int = MAX_NESTING) -> int:
    """Return how many levels of subagents are under an agent, looking at most ``levels`` deep."""
    if levels == 0 or not spec.subagents:
        return 0
    return 1 + max(delegation_depth(ref.spec, levels - 1) for ref in spec.subagents)


def step_depth(spec: WorkflowSpec) -> int:
    """Return how many levels of steps inside steps a workflow has; 1 when none holds another."""
    level, depth = list(spec.steps), 0
    while level:
        level, depth = [child for step in level for child in step_children(step)], depth + 1  # type: ignore[misc]
    return depth
