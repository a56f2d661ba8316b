"""The plan that an agent shows while it works."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from psych_runtime.spec.base import FrozenValue

TaskStatus = Literal["pending", "in_progress", "completed"]
"""How far a task is."""

MAX_TASKS = 40
"""The longest plan."""


class Task(FrozenValue):
    """One entry of the plan."""

    title: str = Field(min_length=1, max_length=200)
    """What to do, as an order: "Check the stock"."""
    active_form: str = Field(default="", max_length=200)
    """The same while it is being done: "Checking the stock"."""
    description: str = Field(default="", max_length=2000)
    status: TaskStatus = "pending"


def active_label(task: Task) -> str:
    """Return how the task reads while it is being done."""
    return task.active_form or task.title


def task_summary(tasks: Sequence[Task]) -> str:
    """Return one line: what is being done, and how many tasks are done.

    Example:
        >>> task_summary([Task(title="Read", status="completed"), Task(title="Write")])
        '1 of 2 done'
    """
    done = sum(task.status == "completed" for task in tasks)
    count = f"{done} of {len(tasks)} done"
    active = next((task for task in tasks if task.status == "in_progress"), None)
    return f"{active_label(active)} · {count}" if active else count
