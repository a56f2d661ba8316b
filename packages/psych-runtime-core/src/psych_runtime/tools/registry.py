"""The registry: the functions of a process, under the names that Specs grant."""

from __future__ import annotations

import difflib
import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self, overload

from pydantic import BaseModel, ValidationError

from psych_runtime.errors import ToolSchemaError
from psych_runtime.spec.definitions import ToolDefinition
from psych_runtime.tools.context import ToolContext
from psych_runtime.tools.registered import RegisteredTool
from psych_runtime.tools.schema import (
    ArgumentsModel,
    check_name,
    derive_model,
    description_of,
    dynamic_model,
)
from psych_runtime.tools.signatures import Signature, is_coroutine_function, read_signature
from psych_runtime.tools.threads import ToolThreads


class ToolRegistry:
    """Functions that agents and workflows may call.

    Example:
        ```python
        registry = ToolRegistry()


        @registry.register(annotations={"read-only"})
        async def lookup_order(order_id: str) -> dict[str, str]:
            "Look up an order by its id."
            return {"order_id": order_id, "status": "shipped"}
        ```
    """

    def __init__(self) -> None:
        self._tools: dict[str, RegisteredTool] = {}
        self._threads: ToolThreads | None = None

    @overload
    def register[F: Callable[..., Any]](self, fn: F, /) -> F: ...

    @overload
    def register[F: Callable[..., Any]](
        self,
        fn: F,
        *,
        name: str | None = None,
        description: str | None = None,
        interruptible: bool = True,
        safe_to_retry: bool = False,
        annotations: frozenset[str] | set[str] | None = None,
        timeout_seconds: float | None = None,
        reconcile: Callable[..., Any] | None = None,
        serial: str | None = None,
        exclusive: bool = False,
    ) -> F: ...

    @overload
    def register[F: Callable[..., Any]](
        self,
        fn: None = None,
        *,
        name: str | None = None,
        description: str | None = None,
        interruptible: bool = True,
        safe_to_retry: bool = False,
        annotations: frozenset[str] | set[str] | None = None,
        timeout_seconds: float | None = None,
        reconcile: Callable[..., Any] | None = None,
        serial: str | None = None,
        exclusive: bool = False,
    ) -> Callable[[F], F]: ...

    def register(
        self,
        fn: Callable[..., Any] | None = None,
        *,
        name: str | None = None,
        description: str | None = None,
        interruptible: bool = True,
        safe_to_retry: bool = False,
        annotations: frozenset[str] | set[str] | None = None,
        timeout_seconds: float | None = None,
        reconcile: Callable[..., Any] | None = None,
        serial: str | None = None,
        exclusive: bool = False,
    ) -> Any:
        """Register a function, with or without arguments to the decorator; return it unchanged.

        Each parameter becomes an argument of the tool, from its type hint and default. A parameter
        annotated `ToolContext` is filled by the engine and not shown to the model. ``async def``
        functions run on the event loop, others in a thread of their own.

        Args:
            fn: The function.
            name: Default: the function's name.
            description: Default: the first paragraph of the docstring.
            interruptible: False: a stop of the Run lets a running call finish.
            safe_to_retry: True: after a crash the call is made again, with the same
                `ToolContext.idempotency_key`. False: it is settled as unknown.
            annotations: Any of ``read-only``, ``write`` and ``destructive``.
            timeout_seconds: A call that runs longer fails with `TimeoutError`; None: no limit.
            reconcile: Asked after a crash whether the call happened: takes any of the tool's
                parameters, and a `ToolContext`; returns a `Reconciliation`.
            serial: Calls of tools with the same key run one after another within a turn.
            exclusive: True: nothing else runs next to a call within a turn.

        Raises:
            ToolSchemaError: The function cannot be a tool; the message says why and what to do.
        """

        def add(function: Callable[..., Any]) -> Callable[..., Any]:
            tool_name = check_name(getattr(function, "__name__", None) if name is None else name)
            signature = read_signature(f"tool {tool_name!r}", function)
            self._add(
                tool_name,
                function,
                derive_model(tool_name, signature),
                signature,
                description,
                annotations,
                interruptible=interruptible,
                safe_to_retry=safe_to_retry,
                timeout_seconds=timeout_seconds,
                reconcile=reconcile,
                serial=serial,
                exclusive=exclusive,
            )
            return function

        return add if fn is None else add(fn)

    def register_dynamic(
        self,
        name: str,
        fn: Callable[..., Any],
        arguments_model: type[BaseModel],
        *,
        description: str | None = None,
        interruptible: bool = True,
        safe_to_retry: bool = False,
        annotations: frozenset[str] | set[str] | None = None,
        timeout_seconds: float | None = None,
        reconcile: Callable[..., Any] | None = None,
        serial: str | None = None,
        exclusive: bool = False,
    ) -> None:
        """Register a tool whose arguments are known only at run time.

        Args:
            name: The tool's name.
            fn: Called with the model's declared fields as keywords; may be a `functools.partial`,
                may take ``**kwargs``, may have a `ToolContext` parameter.
            arguments_model: Used as it is, validators included; must forbid unknown fields.
            description: Default: the first paragraph of the function's docstring.
            interruptible: As in `register`, like all that follow.
            safe_to_retry: See `register`.
            annotations: See `register`.
            timeout_seconds: See `register`.
            reconcile: See `register`.
            serial: See `register`.
            exclusive: See `register`.

        Raises:
            ToolSchemaError: As in `register`; also when the model lets unknown fields pass.
        """
        tool_name = check_name(name)
        signature = read_signature(f"tool {tool_name!r}", fn)
        model = dynamic_model(tool_name, arguments_model)
        declared = {parameter for parameter, _ in model.fields}
        if signature.context_parameter in declared:
            raise ToolSchemaError(
                f"tool {tool_name!r}: {signature.context_parameter!r} is a field of "
                f"{arguments_model.__name__} and also the function's ToolContext; rename one"
            )
        _check_fits(f"tool {tool_name!r}", signature, declared, all_are_passed=True)
        self._add(
            tool_name,
            fn,
            model,
            signature,
            description,
            annotations,
            interruptible=interruptible,
            safe_to_retry=safe_to_retry,
            timeout_seconds=timeout_seconds,
            reconcile=reconcile,
            serial=serial,
            exclusive=exclusive,
        )

    def add(self, tool: RegisteredTool) -> None:
        """Add a tool that was made elsewhere, such as an HTTP tool.

        Raises:
            ToolSchemaError: The name is taken.
        """
        self._check_free(tool.name)
        self._tools[tool.name] = tool

    def layered(self) -> Self:
        """Return a copy to add tools to; this registry stays as it is."""
        copy = type(self)()
        copy._tools = dict(self._tools)
        return copy

    @property
    def names(self) -> frozenset[str]:
        """The names of all tools."""
        return frozenset(self._tools)

    def get(self, name: str) -> RegisteredTool | None:
        """Return the tool, or None."""
        return self._tools.get(name)

    def require(self, name: str) -> RegisteredTool:
        """Return the tool.

        Raises:
            ToolSchemaError: There is none of this name.
        """
        tool = self._tools.get(name)
        if tool is None:
            close = difflib.get_close_matches(name, self._tools, n=1)
            hint = f"did you mean {close[0]!r}?" if close else _listing(self._tools)
            raise ToolSchemaError(f"no tool named {name!r} is registered in this process; {hint}")
        return tool

    async def call(
        self, name: str, arguments: Mapping[str, Any], *, context: ToolContext | None = None
    ) -> Any:
        """Validate ``arguments`` and call the tool, outside of any Run.

        Args:
            name: The tool.
            arguments: By name.
            context: For tools that want one; default: one of no particular Run.

        Raises:
            ToolSchemaError: There is no such tool.
            ValidationError: The arguments do not fit.
            Exception: Whatever the tool raises.
        """
        tool = self.require(name)
        used = ToolContext.for_testing(tool=name) if context is None else context
        keywords = tool.keywords(arguments, used)
        if tool.is_async:
            return await tool.fn(**keywords)
        if self._threads is None:
            self._threads = ToolThreads()
        value = await self._threads.run(lambda: tool.fn(**keywords))
        return await value if inspect.isawaitable(value) else value

    def definitions(self, names: Iterable[str] | None = None) -> list[ToolDefinition]:
        """Return the definitions of ``names``, or of all tools in the order of registration.

        Raises:
            ToolSchemaError: A name is not registered.
        """
        wanted = self._tools if names is None else names
        return [self.require(name).definition for name in wanted]

    def _check_free(self, name: str) -> None:
        if name in self._tools:
            raise ToolSchemaError(
                f"a tool named {name!r} is already registered; pass another name=, or add to "
                "registry.layered() of a registry that lacks it"
            )

    def _add(
        self,
        name: str,
        fn: Callable[..., Any],
        model: ArgumentsModel,
        signature: Signature,
        description: str | None,
        annotations: frozenset[str] | set[str] | None,
        **options: Any,
    ) -> None:
        self._check_free(name)
        if inspect.isgeneratorfunction(fn) or inspect.isasyncgenfunction(fn):
            raise ToolSchemaError(
                f"tool {name!r} yields, but a tool returns one value; report steps with "
                "`await context.progress(...)` and return the result"
            )
        timeout = options["timeout_seconds"]
        if timeout is not None and not (timeout > 0 and math.isfinite(timeout)):
            raise ToolSchemaError(
                f"tool {name!r}: timeout_seconds must be a number over 0, or None: got {timeout!r}"
            )
        reconcile = options["reconcile"]
        if reconcile is not None:
            owner = f"the reconciler of tool {name!r}"
            own = read_signature(owner, reconcile)
            _check_fits(owner, own, {parameter for parameter, _ in model.fields})
        tool = RegisteredTool(
            name=name,
            description=description_of(name, fn, description),
            fn=fn,
            input_schema=model.json_schema,
            arguments_adapter=model.adapter,
            is_async=is_coroutine_function(fn),
            annotations=_marks(name, annotations),
            context_parameter=signature.context_parameter,
            fields=model.fields,
            **options,
        )
        try:
            _ = tool.definition
        except ValidationError as error:
            reason = error.errors(include_url=False)[0]["msg"]
            raise ToolSchemaError(
                f"tool {name!r} cannot be described to a model: {reason}"
            ) from error
        self._tools[name] = tool


def _marks(name: str, annotations: Iterable[str] | None) -> frozenset[str]:
    if isinstance(annotations, str):
        raise ToolSchemaError(
            f"tool {name!r}: annotations is a set of marks: write {{{annotations!r}}}"
        )
    return frozenset(annotations or ())


def _check_fits(
    owner: str, signature: Signature, available: set[str], *, all_are_passed: bool = False
) -> None:
    """Refuse a function that could not be called with the arguments there are."""
    named = {
        parameter.name: parameter.default is inspect.Parameter.empty
        for parameter in signature.parameters.values()
        if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    }
    missing = sorted(name for name, required in named.items() if required and name not in available)
    if missing:
        raise ToolSchemaError(
            f"{owner} needs {', '.join(map(repr, missing))}, which is not an argument of the "
            f"tool; {_listing(available)}"
        )
    unwanted = sorted(available - named.keys())
    if all_are_passed and unwanted and not signature.takes_any_keyword:
        raise ToolSchemaError(
            f"{owner} does not take {', '.join(map(repr, unwanted))}, which its arguments model "
            "declares; add the parameter or **kwargs to the function"
        )


def _listing(names: Iterable[str]) -> str:
    known = sorted(names)
    shown = ", ".join(known[:20]) + (", …" if len(known) > 20 else "")
    return f"there is: {shown}" if known else "there is none"
