"""A tool as the registry holds it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pydantic import BaseModel, TypeAdapter

from psych_runtime.ports.policy import ToolClass
from psych_runtime.spec.definitions import ToolDefinition
from psych_runtime.tools.classification import classify_annotations
from psych_runtime.tools.context import ToolContext
from psych_runtime.tools.schema import validate_arguments


@dataclass(frozen=True, eq=False)
class RegisteredTool:
    """A function, and everything the engine needs to call it.

    Attributes:
        name: The registered name.
        description: What the model reads.
        fn: The function.
        input_schema: JSON Schema of the arguments.
        arguments_adapter: Validates arguments.
        is_async: Whether ``fn`` is a coroutine function; others run in a thread.
        interruptible: Whether a stop of the Run may cancel a call.
        safe_to_retry: Whether a call may be made again when a crash hid its end.
        annotations: Class marks: ``read-only``, ``write``, ``destructive``.
        timeout_seconds: Longest a call may run; None for no limit of its own.
        reconcile: Finds out whether a call happened. See `Reconciliation`.
        serial: Calls of tools with the same key run one after another within a turn.
        exclusive: Nothing else runs while a call does, within a turn.
        context_parameter: The parameter that gets the `ToolContext`; None when there is none.
        fields: Pairs of function parameter and attribute of the arguments model.
    """

    name: str
    description: str
    fn: Callable[..., Any]
    input_schema: dict[str, Any]
    arguments_adapter: TypeAdapter[BaseModel]
    is_async: bool
    interruptible: bool
    safe_to_retry: bool
    annotations: frozenset[str]
    timeout_seconds: float | None = None
    reconcile: Callable[..., Any] | None = None
    serial: str | None = None
    exclusive: bool = False
    context_parameter: str | None = None
    fields: tuple[tuple[str, str], ...] = ()

    @cached_property
    def read_only(self) -> bool:
        """Whether the tool is marked as changing nothing."""
        return classify_annotations(self.annotations) is ToolClass.READ_ONLY

    @cached_property
    def definition(self) -> ToolDefinition:
        """What the model and the policy see."""
        return ToolDefinition(
            name=self.name,
            description=self.description,
            input_schema=self.input_schema,
            annotations=self.annotations,
        )

    def values(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Validate ``arguments``; return them by parameter name, as the declared types.

        Raises:
            ValidationError: The arguments do not fit the schema.
        """
        model = validate_arguments(self.arguments_adapter, arguments)
        return {parameter: getattr(model, attribute) for parameter, attribute in self.fields}

    def keywords(self, arguments: Mapping[str, Any], context: ToolContext) -> dict[str, Any]:
        """Return what to call ``fn`` with: `values`, and the context where it is wanted.

        Raises:
            ValidationError: The arguments do not fit the schema.
        """
        keywords = self.values(arguments)
        if self.context_parameter is not None:
            keywords[self.context_parameter] = context
        return keywords
