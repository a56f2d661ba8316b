"""Deprecations: a name on its way out warns for at least one minor release first."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T", bound=Callable[..., Any])


def _message(name: str, since: str, removal: str, replacement: str | None) -> str:
    text = f"{name} is deprecated since {since} and will be removed in {removal}"
    return f"{text}; use {replacement} instead" if replacement else text


def warn_deprecated(
    name: str, *, since: str, removal: str, replacement: str | None = None, stacklevel: int = 2
) -> None:
    """Warn that a name is deprecated, for a module's ``__getattr__`` or an argument.

    Args:
        name: What is deprecated, as its user wrote it.
        since: The release that deprecated it.
        removal: The release that removes it.
        replacement: What to use instead; None when nothing replaces it.
        stacklevel: Frames between the user's line and this call. Default 2: the user called the
            function that calls this one.

    Example:
        ```python
        def __getattr__(name: str) -> object:
            if name == "OldName":
                warn_deprecated(
                    "psych_runtime.OldName", since="0.3", removal="0.4", replacement="NewName"
                )
                return NewName
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        ```
    """
    warnings.warn(
        _message(name, since, removal, replacement), DeprecationWarning, stacklevel=stacklevel + 1
    )


def deprecated(*, since: str, removal: str, replacement: str | None = None) -> Callable[[T], T]:
    """Mark a function, coroutine function or class as deprecated: calling it warns.

    A class warns when it is instantiated, also through a subclass.

    Args:
        since: The release that deprecated it.
        removal: The release that removes it.
        replacement: What to use instead; None when nothing replaces it.

    Example:
        ```python
        @deprecated(since="0.3", removal="0.4", replacement="dispatch()")
        def start_run() -> None: ...
        ```
    """

    def mark(target: T) -> T:
        text = _message(_name_of(target), since, removal, replacement)
        if inspect.isclass(target):
            target.__init__ = _warning(target.__init__, text)  # type: ignore[method-assign]
            target.__deprecated__ = text  # type: ignore[attr-defined]
            return target
        marked = _warning(target, text)
        marked.__deprecated__ = text
        return marked  # type: ignore[no-any-return]

    return mark


def _name_of(target: Any) -> str:
    return f"{target.__module__}.{target.__qualname__}"


def _warning(function: Any, text: str) -> Any:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        warnings.warn(text, DeprecationWarning, stacklevel=2)
        return function(*args, **kwargs)

    if inspect.iscoroutinefunction(function):
        return inspect.markcoroutinefunction(wrapper)
    return wrapper
