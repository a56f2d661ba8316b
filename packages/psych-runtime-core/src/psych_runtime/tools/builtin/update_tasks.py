"""``update_tasks``: the agent shows its plan."""

from __future__ import annotations

from typing import Any

from psych_runtime.ports.policy import ToolClass
from psych_runtime.spec.definitions import ToolDefinition
from psych_runtime.spec.tasks import MAX_TASKS, Task, TaskStatus, task_summary
from psych_runtime.tools.builtin.lenient import first, flag, items, text, unwrapped, word

NAME = "update_tasks"

DEFINITION = ToolDefinition(
    name=NAME,
    description=(
        "Show the user your plan for work of several steps, and keep it up to date. Always send "
        "the whole list: it replaces the earlier one. Keep one task in progress at a time, and "
        "mark a task completed as soon as it is."
    ),
    input_schema={
        "type": "object",
        "additionalProperties": False,
        "required": ["tasks"],
        "properties": {
            "tasks": {
                "type": "array",
                "maxItems": MAX_TASKS,
                "items": {
                    "type": "object",
                    "additionalProperties": False,
                    "required": ["title"],
                    "properties": {
                        "title": {"type": "string", "description": "What to do, as an order."},
                        "active_form": {
                            "type": "string",
                            "description": "The same while it is being done, such as 'Reading'.",
                        },
                        "description": {"type": "string"},
                        "status": {
                            "type": "string",
                            "enum": ["pending", "in_progress", "completed"],
                        },
                    },
                },
            }
        },
    },
    annotations=frozenset({ToolClass.READ_ONLY.value}),
)

_STATUS = {
    "pending": ("todo", "open", "not_started", "planned"),
    "in_progress": ("inprogress", "active", "current", "doing", "started", "running"),
    "completed": ("complete", "done", "finished", "closed", "x"),
}


def parse_tasks(arguments: Any) -> tuple[Task, ...]:
    """Read the plan, however it was written. Never raises.

    Texts count as pending tasks; an entry without a title is left out; what is too long or too
    many is cut.

    Returns:
        At most `MAX_TASKS` tasks; empty clears the plan.
    """
    plan = unwrapped(arguments, "tasks")
    if isinstance(plan, dict):
        plan = first(plan, "todos", "items", "steps", "plan") or ([plan] if plan else [])
    found = (_task(entry) for entry in items(plan))
    return tuple(task for task in found if task is not None)[:MAX_TASKS]


def render_tasks(tasks: tuple[Task, ...]) -> str:
    """Return what the model is told after an update."""
    if not tasks:
        return "The plan is empty now."
    return f"The plan is shown: {task_summary(tasks)}."


def _task(entry: Any) -> Task | None:
    if not isinstance(entry, dict):
        entry = {"title": entry}
    title = text(first(entry, "title", "content", "task", "name", "text"), 200)
    description = text(first(entry, "description", "details", "detail"), 2000)
    title = title or text(description, 200)
    if not title:
        return None
    return Task(
        title=title,
        active_form=text(first(entry, "active_form", "activeForm"), 200),
        description=description,
        status=_status(entry),
    )


def _status(entry: dict[str, Any]) -> TaskStatus:
    said = word(first(entry, "status", "state"), _STATUS)
    if said is None and flag(first(entry, "completed", "done")):
        said = "completed"
    if said == "completed":
        return "completed"
    return "in_progress" if said == "in_progress" else "pending"
