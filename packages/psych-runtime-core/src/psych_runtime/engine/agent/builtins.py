"""Finding the tool behind a call; and the tools that the engine brings itself."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

from pydantic import BaseModel, RootModel, TypeAdapter

from psych_runtime.engine.agent.activation import Activation
from psych_runtime.log.records import ComponentShown, TaskListUpdated
from psych_runtime.spec.agent import AgentSpec
from psych_runtime.spec.definitions import ToolDefinition
from psych_runtime.spec.tools import HttpTool
from psych_runtime.tools.builtin import show_component, update_tasks
from psych_runtime.tools.context import ToolContext
from psych_runtime.tools.http import http_tool
from psych_runtime.tools.registered import RegisteredTool


def builtin_definitions(spec: AgentSpec) -> tuple[ToolDefinition, ...]:
    """The built-in tools that ``spec`` asks for, as the model is offered them."""
    definitions: list[ToolDefinition] = []
    if spec.tasks_enabled:
        definitions.append(update_tasks.DEFINITION)
    if spec.components_enabled:
        definitions.append(show_component.DEFINITION)
    return tuple(definitions)


def find_tool(on: Activation, name: str) -> RegisteredTool | None:
    """The tool that a call of ``name`` runs: built in, an HTTP tool of the Spec, or registered."""
    for definition in builtin_definitions(on.spec):
        if definition.name == name:
            return _as_registered(definition, on)
    granted = next((tool for tool in on.spec.tools if tool.name == name), None)
    if isinstance(granted, HttpTool):
        return http_tool(on.runtime.http, granted)
    registered = on.registry.get(name)
    if registered is not None and granted is not None and not granted.interruptible:
        # Either side may say that the tool must not be cut short.
        return dataclasses.replace(registered, interruptible=False)
    return registered


def _as_registered(definition: ToolDefinition, on: Activation) -> RegisteredTool:
    body = _BODIES[definition.name]

    async def run(arguments: dict[str, Any], context: ToolContext) -> str:
        return body(on, arguments, context)

    return RegisteredTool(
        name=definition.name,
        description=definition.description,
        fn=run,
        input_schema=definition.input_schema,
        arguments_adapter=_any_object(),
        is_async=True,
        interruptible=True,
        safe_to_retry=True,
        annotations=definition.annotations,
        context_parameter="context",
        fields=(("arguments", "root"),),
    )


@functools.cache
def _any_object() -> TypeAdapter[BaseModel]:
    """Takes every object: the built-in tools read leniently, whatever their schema says."""
    return TypeAdapter(RootModel[dict[str, Any]])


def _update_tasks(on: Activation, arguments: dict[str, Any], context: ToolContext) -> str:
    tasks = update_tasks.parse_tasks(arguments)
    on.journal.write(TaskListUpdated, tasks=tasks, step_id=on.step_id)
    return update_tasks.render_tasks(tasks)


def _show_component(on: Activation, arguments: dict[str, Any], context: ToolContext) -> str:
    parsed = show_component.parse_component(arguments)
    # A call that a crash cut off may have shown its component: running it again adds no copy.
    shown = context.attempt_number > 1 and parsed.component in on.journal.state.components
    if parsed.component is not None and not shown:
        on.journal.write(ComponentShown, component=parsed.component, step_id=on.step_id)
    return show_component.render_component(parsed)


_BODIES: dict[str, Callable[[Activation, dict[str, Any], ToolContext], str]] = {
    update_tasks.NAME: _update_tasks,
    show_component.NAME: _show_component,
}
