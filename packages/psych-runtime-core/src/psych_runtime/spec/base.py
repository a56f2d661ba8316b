"""The bases of every model of a Spec, and of the values that Specs and Records share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict, model_validator


class FrozenValue(BaseModel):
    """A frozen model without unknown fields and without NaN or infinity."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", defer_build=True, allow_inf_nan=False, populate_by_name=True
    )


class SpecModel(FrozenValue):
    """A part of a Spec: data only, so a function or class anywhere inside is refused.

    Raises:
        pydantic.ValidationError: From the constructor; the message names the path of the callable.
    """

    @model_validator(mode="before")
    @classmethod
    def _refuse_callables(cls, data: Any) -> Any:
        if isinstance(data, dict):
            found = find_callable(data)
            if found is not None:
                path, value = found
                name = getattr(value, "__qualname__", type(value).__qualname__)
                raise ValueError(
                    f"{path} is the callable {name!r}: a Spec is data and cannot hold code. "
                    "Register the function in a ToolRegistry and put its name here"
                )
        return data


def find_callable(
    value: Any, path: str = "", seen: tuple[int, ...] = ()
) -> tuple[str, object] | None:
    """Return the path and value of the first callable in nested containers, or None.

    Models are not entered: they were checked when they were made.
    """
    if isinstance(value, BaseModel):
        return None
    if callable(value):
        return path, value
    items: Iterable[tuple[str, Any]]
    if isinstance(value, dict):
        items = [(f"{path}.{key}" if path else str(key), item) for key, item in value.items()]
    elif isinstance(value, list | tuple | set | frozenset):
        items = [(f"{path}[{index}]", item) for index, item in enumerate(value)]
    else:
        return None
    if id(value) in seen or len(seen) > 200:
        return None
    for where, item in items:
        found = find_callable(item, where, (*seen, id(value)))
        if found is not None:
            return found
    return None


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
