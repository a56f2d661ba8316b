"""The system prompt: fixed sections in a fixed order, so that a change late in it keeps the
provider's cache of everything before it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import Final, Literal, Protocol

from psych_runtime.spec.definitions import ToolDefinition

_CONCISE: Final = (
    "Lead with the answer. Use as few words as it needs, and leave out greetings, restatements of "
    "the question and offers of more help. Say plainly when something is unknown or failed."
)
_SKILLS: Final = (
    "Each skill is a set of instructions for one kind of work. Before doing such work, read the "
    "skill with `load_skill`."
)
_MEMORY: Final = (
    "Facts kept from earlier conversations. They may be out of date: what the user says now wins."
)


class SkillEntry(Protocol):
    """A skill as the index lists it."""

    @property
    def name(self) -> str:
        """What `load_skill` takes."""
        ...

    @property
    def description(self) -> str:
        """When to use it."""
        ...


def assemble_system_prompt(
    *,
    instructions: str = "",
    description: str = "",
    answer_style: Literal["concise"] | None = None,
    skills: Sequence[SkillEntry] = (),
    memories: Sequence[str] = (),
    notices: Sequence[str] = (),
) -> str:
    """Put the system prompt together.

    Args:
        instructions: What the agent is told to do.
        description: Used instead when the instructions are blank.
        answer_style: ``concise`` adds a section on short answers.
        skills: Listed by name and description; their bodies stay out.
        memories: What is remembered about the user, one fact each.
        notices: What the runtime has to say this turn, such as a tool that is not available.

    Returns:
        The sections that have something to say, joined by blank lines; an empty string when none
        has, in which case there should be no system message.
    """
    sections = [instructions.strip() or description.strip()]
    if answer_style == "concise":
        sections.append(_section("Answering", _CONCISE))
    if skills:
        entries = _bullets(f"{skill.name}: {skill.description}" for skill in skills)
        sections.append(_section("Skills", f"{_SKILLS}\n\n{entries}"))
    if facts := _bullets(memories):
        sections.append(_section("What you remember about this user", f"{_MEMORY}\n\n{facts}"))
    if remarks := _bullets(notices):
        sections.append(_section("Notices", remarks))
    return "\n\n".join(section for section in sections if section)


def _section(title: str, body: str) -> str:
    return f"## {title}\n\n{body}"


def _bullets(items: Iterable[str]) -> str:
    kept = (item.strip() for item in items)
    return "\n".join("- " + item.replace("\n", "\n  ") for item in kept if item)


def prompt_digest(system_prompt: str, tools: Iterable[ToolDefinition]) -> str:
    """Return ``sha256:`` + hex over a system prompt and tool definitions.

    Neither the order of the tools nor the order of the keys in their schemas matters.
    """
    described = [
        {
            "name": tool.name,
            "description": tool.description,
            "input_schema": tool.input_schema,
            "annotations": sorted(tool.annotations),
        }
        for tool in sorted(tools, key=lambda tool: tool.name)
    ]
    text = json.dumps([system_prompt, described], sort_keys=True, separators=(",", ":"))
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
