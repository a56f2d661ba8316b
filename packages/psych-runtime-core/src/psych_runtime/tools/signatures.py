"""Reading a function's parameters: their resolved types, and which one takes the context."""

from __future__ import annotations

import functools
import inspect
import types
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Union

from psych_runtime.errors import ToolSchemaError
from psych_runtime.tools.context import ToolContext


@dataclass(frozen=True, slots=True)
class Signature:
    """A function's parameters, apart from the context.

    Attributes:
        parameters: Name to parameter, in order.
        hints: Name to resolved type hint, for the parameters that have one.
        context_parameter: The parameter annotated ``ToolContext``, if there is one.
    """

    parameters: dict[str, inspect.Parameter]
    hints: dict[str, Any]
    context_parameter: str | None

    @property
    def takes_any_keyword(self) -> bool:
        """Whether the function has ``**kwargs``."""
        kinds = (parameter.kind for parameter in self.parameters.values())
        return inspect.Parameter.VAR_KEYWORD in kinds


def read_signature(owner: str, fn: Callable[..., Any]) -> Signature:
    """Read the parameters of ``fn``.

    Args:
        owner: What ``fn`` is, for error texts, such as ``tool 'lookup'``.
        fn: A function, method, `functools.partial` or object with ``__call__``.

    Raises:
        ToolSchemaError: There is no readable signature, a hint cannot be resolved, or two
            parameters take the context.
    """
    if not callable(fn):
        raise ToolSchemaError(f"{owner}: {fn!r} cannot be called; pass a function")
    try:
        parameters = dict(inspect.signature(fn).parameters)
    except (TypeError, ValueError) as error:
        raise ToolSchemaError(
            f"{owner}: its parameters cannot be read ({error}); wrap it in a Python function "
            "with type hints"
        ) from error
    hints = _resolved_hints(owner, fn, parameters)
    takers = [name for name, hint in hints.items() if is_context(hint)]
    if len(takers) > 1:
        names = " and ".join(repr(name) for name in takers)
        raise ToolSchemaError(f"{owner}: parameters {names} both take the ToolContext; keep one")
    context_parameter = takers[0] if takers else None
    if context_parameter is not None:
        del parameters[context_parameter], hints[context_parameter]
    return Signature(parameters, hints, context_parameter)


def is_coroutine_function(fn: Callable[..., Any]) -> bool:
    """Whether calling ``fn`` gives a coroutine; also for partials and objects with ``__call__``."""
    function = _function_of(fn)
    return inspect.iscoroutinefunction(function)


def is_context(hint: Any) -> bool:
    """Whether a type hint is `ToolContext`, also optional or annotated."""
    origin = typing.get_origin(hint)
    if origin is Annotated:
        return is_context(typing.get_args(hint)[0])
    if origin is Union or origin is types.UnionType:
        return any(is_context(item) for item in typing.get_args(hint))
    return isinstance(hint, type) and issubclass(hint, ToolContext)


def _resolved_hints(
    owner: str, fn: Callable[..., Any], parameters: dict[str, inspect.Parameter]
) -> dict[str, Any]:
    hints: dict[str, Any] = {}
    function = inspect.unwrap(_function_of(fn))
    # The context class resolves even where it is imported for type checkers only.
    namespace = {"ToolContext": ToolContext, **getattr(function, "__globals__", {})}
    for name, parameter in parameters.items():
        if parameter.annotation is inspect.Parameter.empty:
            continue
        # One at a time: a return type that cannot be resolved is nobody's concern here.
        holder = types.SimpleNamespace(__annotations__={name: parameter.annotation})
        try:
            found = typing.get_type_hints(holder, globalns=namespace, include_extras=True)
        except Exception as error:
            raise ToolSchemaError(
                f"{owner}: the type hint {parameter.annotation!r} of parameter {name!r} cannot be "
                f"resolved ({error}); its names must be importable where the function is defined, "
                "at module level and not only under TYPE_CHECKING"
            ) from error
        hints[name] = found[name]
    return hints


def _function_of(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The Python function that runs when ``fn`` is called."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    if inspect.isroutine(fn) or inspect.isclass(fn):
        return fn
    method: Callable[..., Any] = type(fn).__call__
    return method
