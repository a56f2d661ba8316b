"""``load_skill``: the agent reads the body of one of its skills."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from psych_runtime.ports.policy import ToolClass
from psych_runtime.spec.definitions import ToolDefinition
from psych_runtime.spec.skills import Skill, linked_skills
from psych_runtime.tools.builtin.lenient import opened, text

NAME = "load_skill"

DEFINITION = ToolDefinition(
    name=NAME,
    description=(
        "Read the full instructions of one of your skills, before you do work of that kind. Skills "
        "may name other skills, which are read the same way."
    ),
    input_schema={
        "type": "object",
        "additionalProperties": False,
        "required": ["name"],
        "properties": {"name": {"type": "string", "description": "The skill's name."}},
    },
    annotations=frozenset({ToolClass.READ_ONLY.value}),
)


def parse_skill_name(arguments: Any) -> str:
    """Return the name asked for; "" when there is none. Never raises."""
    arguments = opened(arguments)
    if isinstance(arguments, dict):
        arguments = arguments.get("name", arguments.get("skill"))
    return text(arguments, 128)


def render_skill(
    skills: Sequence[Skill], name: str, already_loaded: Collection[str] = ()
) -> dict[str, Any]:
    """Return what the model is told about the skill ``name``. An unknown name is no failure.

    Args:
        skills: The Spec's.
        name: What the model asked for.
        already_loaded: Skills that this conversation has read before.

    Returns:
        ``found``, ``name`` and, when found, ``body``, ``already_loaded`` and ``linked_skills``;
        otherwise ``available``, the names there are.
    """
    skill = next((skill for skill in skills if skill.name == name), None)
    if skill is None:
        return {"found": False, "name": name, "available": sorted(item.name for item in skills)}
    known = {item.name for item in skills}
    return {
        "found": True,
        "name": name,
        "body": skill.body,
        "already_loaded": name in already_loaded,
        "linked_skills": [link for link in linked_skills(skill.body) if link in known],
    }
