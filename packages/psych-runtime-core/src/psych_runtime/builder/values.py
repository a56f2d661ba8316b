"""Short ways to write values and conditions of a workflow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from psych_runtime.spec.conditions import Condition, ConditionOp, LiteralValue, ValuePath


def ref(path: str) -> ValuePath:
    """Return a value to look up when the step runs.

    Example:
        >>> ref("input.order_id").path
        'input.order_id'
    """
    return ValuePath(path=path)


def lit(value: Any) -> LiteralValue:
    """Return a value written into the workflow; it must be JSON."""
    return LiteralValue(value=value)


def when(path: str | ValuePath, op: ConditionOp = "truthy", value: Any = None) -> Condition:
    """Return a test of one value.

    Example:
        >>> when("steps.fetch.output.total", "gt", 100).op
        'gt'
    """
    return Condition(path=path_text(path), op=op, value=value)


def all_of(*conditions: Condition) -> Condition:
    """Return a condition that holds when all of these hold."""
    return Condition(all_of=conditions)


def any_of(*conditions: Condition) -> Condition:
    """Return a condition that holds when one of these holds."""
    return Condition(any_of=conditions)


def path_text(path: str | ValuePath) -> str:
    """Return the text of a path."""
    return path.path if isinstance(path, ValuePath) else path


def value_path(path: str | ValuePath) -> ValuePath:
    """Return a path as a `ValuePath`."""
    return path if isinstance(path, ValuePath) else ValuePath(path=path)


def value_refs(values: Mapping[str, Any]) -> dict[str, ValuePath | LiteralValue]:
    """Return a mapping in which plain values have become literals."""
    return {
        name: value if isinstance(value, ValuePath | LiteralValue) else LiteralValue(value=value)
        for name, value in values.items()
    }
