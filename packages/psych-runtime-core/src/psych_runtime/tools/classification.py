"""What class a tool is in, and whether a person has to agree to a call."""

from __future__ import annotations

from collections.abc import Iterable

from psych_runtime.ports.policy import ToolClass
from psych_runtime.spec.definitions import ToolDefinition
from psych_runtime.spec.narrowing import matches_pattern

DEFAULT_SELECTORS = ("@write", "@destructive")
"""The classes that need approval when nothing else is said."""


def classify(definition: ToolDefinition) -> ToolClass:
    """Return the strongest class that the tool's annotations name; write when there is none."""
    return classify_annotations(definition.annotations)


def classify_annotations(annotations: Iterable[str]) -> ToolClass:
    """Return the strongest class among ``annotations``; write when none is a class."""
    marks = {mark.casefold() for mark in annotations}
    for strongest in (ToolClass.DESTRUCTIVE, ToolClass.WRITE, ToolClass.READ_ONLY):
        if strongest.value in marks:
            return strongest
    return ToolClass.WRITE


def approval_required(
    definition: ToolDefinition,
    *,
    selectors: Iterable[str] = DEFAULT_SELECTORS,
    always: Iterable[str] = (),
    never: Iterable[str] = (),
) -> bool:
    """Say whether a person has to agree before the tool runs.

    Args:
        definition: The tool.
        selectors: Classes that need approval, such as ``@destructive``; the ``@`` may be left out,
            upper and lower case are the same.
        always: Names that need it whatever their class; ``*`` and ``prefix*`` match several.
        never: Names that never need it; wins over ``always``.
    """
    if any(matches_pattern(definition.name, pattern) for pattern in never):
        return False
    if any(matches_pattern(definition.name, pattern) for pattern in always):
        return True
    own = classify(definition).value
    return any(selector.strip().removeprefix("@").casefold() == own for selector in selectors)
