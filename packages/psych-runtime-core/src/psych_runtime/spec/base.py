"""The bases of every model of a Spec, and of the values that Specs and Records share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, Final, Protocol

from pydantic import BaseModel, ConfigDict, model_validator

from psych_runtime.spec.json_values import checked_text

_MAX_CONTAINERS: Final = 200
"""What is nested deeper is refused later, by the models themselves."""


class FrozenValue(BaseModel):
    """A frozen model without unknown fields and without NaN or infinity."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", defer_build=True, allow_inf_nan=False, populate_by_name=True
    )


class SpecModel(FrozenValue):
    """A part of a Spec: data only, so a function or class anywhere inside is refused.

    Raises:
        pydantic.ValidationError: From the constructor; the message names the path of what is
            wrong, also when that is a callable or a text that is not valid Unicode.
    """

    @model_validator(mode="before")
    @classmethod
    def _data_only(cls, data: Any) -> Any:
        if isinstance(data, dict):
            refuse_code(data)
        return data


def refuse_code(value: Any, path: str = "", outer: tuple[int, ...] = ()) -> None:
    """Refuse callables, and texts with lone surrogates, in nested containers.

    Models are not entered: they were checked when they were made.

    Raises:
        ValueError: Names the path of the first one found.
    """
    if isinstance(value, str):
        checked_text(value, path)
    elif isinstance(value, BaseModel):
        return
    elif callable(value):
        name = getattr(value, "__qualname__", type(value).__qualname__)
        raise ValueError(
            f"{path} is the callable {name!r}: a Spec is data and cannot hold code. "
            "Register the function in a ToolRegistry and put its name here"
        )
    elif isinstance(value, dict | list | tuple | set | frozenset):
        if id(value) in outer or len(outer) > _MAX_CONTAINERS:
            return
        inside = (*outer, id(value))
        if isinstance(value, dict):
            for key, item in value.items():
                where = f"{path}.{key}" if path else str(key)
                refuse_code(key, f"{path or 'a field'} (a key)", inside)
                refuse_code(item, where, inside)
        else:
            for index, item in enumerate(value):
                refuse_code(item, f"{path}[{index}]", inside)


def one_line_endings(value: Any) -> Any:
    r"""Turn ``\r\n`` and ``\r`` into ``\n``; nothing else of a text is changed."""
    if isinstance(value, str):
        return value.replace("\r\n", "\n").replace("\r", "\n")
    return value


def sorted_unique(values: tuple[str, ...]) -> tuple[str, ...]:
    """Return the texts sorted, each once."""
    return tuple(sorted(set(values)))


def refuse_repeated(what: str, names: Iterable[str]) -> None:
    """Raise `ValueError` if a name is there more than once.

    Args:
        what: What is named, for the message.
        names: The names.
    """
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ValueError(f"more than one {what} is named {', '.join(map(repr, twice))}")


class Named(Protocol):
    """Anything with a name."""

    @property
    def name(self) -> str:
        """The name."""
        ...


def by_unique_name[T: Named](what: str) -> Callable[[tuple[T, ...]], tuple[T, ...]]:
    """Return a validator that sorts by name and refuses a name that is used twice.

    Args:
        what: What the entries are, for the message.
    """

    def check(values: tuple[T, ...]) -> tuple[T, ...]:
        refuse_repeated(what, (value.name for value in values))
        return tuple(sorted(values, key=lambda value: value.name))

    return check
