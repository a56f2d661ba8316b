"""Values that a workflow looks up, and conditions on them."""

from __future__ import annotations

import re
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from psych_runtime.spec.base import SpecModel
from psych_runtime.spec.json_values import JsonValue
from psych_runtime.spec.names import PathText

ConditionOp = Literal[
    "eq", "ne", "gt", "gte", "lt", "lte", "in", "contains", "exists", "truthy", "matches"
]


class ValuePath(SpecModel):
    """A value to look up when the step runs, such as ``steps.fetch.output.items[0]``."""

    kind: Literal["path"] = "path"
    path: PathText
    """Starts with ``input``, ``steps``, ``state``, ``item``, ``index`` or ``iteration``."""


class LiteralValue(SpecModel):
    """A value written into the workflow."""

    kind: Literal["literal"] = "literal"
    value: JsonValue = None


ValueRef = Annotated[ValuePath | LiteralValue, Field(discriminator="kind")]
Mapping = dict[str, ValueRef]


class Condition(SpecModel):
    """A test of one value, or a combination of tests.

    Exactly one of ``path``, ``all_of`` and ``any_of`` is given.
    """

    path: PathText | None = None
    """The value to test."""
    op: ConditionOp = "truthy"
    value: JsonValue = None
    """What it is compared with."""
    all_of: tuple[Condition, ...] = ()
    """Holds when all of them hold."""
    any_of: tuple[Condition, ...] = ()
    """Holds when one of them holds."""
    negate: bool = False
    """Turns the result around."""

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        given = [name for name in ("path", "all_of", "any_of") if getattr(self, name)]
        if len(given) != 1:
            raise ValueError(
                "a condition needs exactly one of path, all_of and any_of, this one has "
                f"{' and '.join(given) or 'none'}"
            )
        if self.path is not None and self.op == "matches":
            _check_regex(self.value)
        return self


def _check_regex(pattern: object) -> None:
    if not isinstance(pattern, str):
        raise ValueError(f"the op matches needs a regular expression as value, not {pattern!r}")
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"{pattern!r} is not a regular expression: {error}") from error
