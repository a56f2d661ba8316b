"""``show_component``: the agent shows a card, a chart or the like."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter, ValidationError

from psych_runtime.ports.policy import ToolClass
from psych_runtime.spec.components import Component, component_summary
from psych_runtime.spec.definitions import ToolDefinition
from psych_runtime.tools.builtin.component_shapes import KINDS, shaped
from psych_runtime.tools.builtin.lenient import opened, unwrapped

NAME = "show_component"

DEFINITION = ToolDefinition(
    name=NAME,
    description=(
        "Show the user something better seen than read. One object per call, by its kind. "
        "card: title, subtitle, image_url, badges[], fields[{label, value}], href. "
        "carousel: title, cards[]. "
        "detail: title, subtitle, status, fields[], total{label, value}, href. "
        "timeline: title, steps[{label, at, description, state: done|current|upcoming}]. "
        "chart: title, mark: line|bar|area|pie, series[{name, points[{x, y}]}], x_label, y_label. "
        "metric: label, value, unit, delta, direction: up|down|flat. "
        "URLs must be http or https."
    ),
    input_schema={
        "type": "object",
        "additionalProperties": False,
        "required": ["component"],
        "properties": {
            "component": {
                "type": "object",
                "required": ["kind"],
                "properties": {"kind": {"type": "string", "enum": list(KINDS)}},
            }
        },
    },
    annotations=frozenset({ToolClass.READ_ONLY.value}),
)


@dataclass(frozen=True, slots=True)
class ParsedComponent:
    """A component, or why there is none.

    Attributes:
        component: What to show; None when the arguments could not be made into one.
        problem: The first thing that is wrong; empty when there is a component.
    """

    component: Component | None
    problem: str = ""


_adapter: TypeAdapter[Component] | None = None


def parse_component(arguments: Any) -> ParsedComponent:
    """Read a component, however it was written. Never raises.

    Other common names of fields are understood, and what is too long or too many is cut.
    """
    global _adapter
    value = unwrapped(arguments, "component")
    raw = shaped(opened(value))
    if raw is None:
        return ParsedComponent(
            None, f"component must be an object whose kind is one of {', '.join(KINDS)}"
        )
    if _adapter is None:
        _adapter = TypeAdapter(Component)
    try:
        return ParsedComponent(_adapter.validate_python(raw))
    except ValidationError as error:
        details = error.errors(include_url=False, include_context=False)[0]
        # The location starts with the kind, which is said anyway.
        where = ".".join(str(part) for part in details["loc"][1:]) or "kind"
        return ParsedComponent(None, f"{raw['kind']}: {where}: {details['msg']}")


def render_component(parsed: ParsedComponent) -> str:
    """Return what the model is told."""
    if parsed.component is None:
        return f"Nothing was shown. {parsed.problem}. Correct this and call the tool again."
    return f"Shown to the user: {component_summary(parsed.component)}."
