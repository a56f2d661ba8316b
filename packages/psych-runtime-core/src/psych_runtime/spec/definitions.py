"""A tool as the model sees it."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, field_serializer

from psych_runtime.spec.base import FrozenValue
from psych_runtime.spec.json_values import sorted_json


class ToolDefinition(FrozenValue):
    """Name, description and argument schema of a tool.

    The keys of the schema are sorted at every level, so that the same tool is always the same text
    in a prompt and a provider's cache keeps hitting.
    """

    name: str = Field(min_length=1)
    """The name the model calls."""
    description: str = ""
    input_schema: Annotated[dict[str, Any], BeforeValidator(sorted_json)] = Field(
        default_factory=dict
    )
    """JSON Schema of the arguments."""
    annotations: frozenset[str] = frozenset()
    """Marks such as ``read-only``; never sent to a provider."""

    @field_serializer("annotations")
    def _in_order(self, annotations: frozenset[str]) -> list[str]:
        return sorted(annotations)
