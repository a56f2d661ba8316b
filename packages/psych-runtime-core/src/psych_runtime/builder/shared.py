"""What the agent and the workflow builder have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any, Literal, Self

from psych_runtime.errors import BuilderError
from psych_runtime.spec.limits import Limits, SuspensionPolicy
from psych_runtime.spec.tools import CodeTool, HttpTool, McpOAuth, McpServer

if TYPE_CHECKING:
    from psych_runtime.tools.registry import ToolRegistry


class SharedBuilder:
    """Collects tools, connections and budgets; see `agent` and `workflow`."""

    def __init__(self, *, registry: ToolRegistry | None = None) -> None:
        self._registry = registry
        self._functions: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {}
        self._tools: list[CodeTool | HttpTool] = []
        self._mcp_servers: list[McpServer] = []
        self._limits: dict[str, Any] = {}
        self._suspension: dict[str, Any] = {}

    @property
    def registry(self) -> ToolRegistry:
        """The registry that `tool` registers in; a new one unless one was given."""
        if self._registry is None:
            from psych_runtime.tools.registry import ToolRegistry

            self._registry = ToolRegistry()
        return self._registry

    def tool(
        self,
        fn: Callable[..., Any],
        *,
        name: str | None = None,
        description: str | None = None,
        interruptible: bool = True,
        safe_to_retry: bool = False,
        annotations: AbstractSet[str] | None = None,
        timeout_seconds: float | None = None,
        reconcile: Callable[..., Any] | None = None,
        serial: str | None = None,
        exclusive: bool = False,
    ) -> Self:
        """Register a function and grant it; see also `ToolRegistry.register`.

        Args:
            fn: The function; its type hints make the argument schema.
            name: Its name for the model; None: the function's own.
            description: What the model reads; None: the first paragraph of the docstring.
            interruptible: Whether an interrupt may cancel a call that is running.
            safe_to_retry: Whether a call may be made again after a crash.
            annotations: Marks such as ``read-only`` or ``destructive``.
            timeout_seconds: The longest a call may run; None sets no limit.
            reconcile: Asked after a crash whether a call happened.
            serial: Calls of tools with the same key run one after another within a turn.
            exclusive: Whether nothing else may run next to a call within a turn.

        Raises:
            ToolSchemaError: The function cannot be a tool, or the name is registered already.
            BuilderError: The function has no name and none was given.
        """
        chosen = name if name is not None else getattr(fn, "__name__", None)
        if chosen is None:
            raise BuilderError(f"{fn!r} has no name of its own: pass name=")
        granted = CodeTool(name=chosen, interruptible=interruptible)
        options: dict[str, Any] = {
            "description": description,
            "interruptible": interruptible,
            "safe_to_retry": safe_to_retry,
            "annotations": None if annotations is None else frozenset(annotations),
            "timeout_seconds": timeout_seconds,
            "reconcile": reconcile,
            "serial": serial,
            "exclusive": exclusive,
        }
        self.registry.register(fn, name=chosen, **options)
        self._functions[chosen] = (fn, options)
        self._tools.append(granted)
        return self

    def tool_by_name(self, name: str, *, interruptible: bool = True) -> Self:
        """Grant a function that is registered elsewhere."""
        self._tools.append(CodeTool(name=name, interruptible=interruptible))
        return self

    def http_tool(
        self,
        name: str,
        *,
        description: str,
        url: str,
        method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"] = "POST",
        input_schema: dict[str, Any] | None = None,
        headers: dict[str, str] | None = None,
        credential: str | None = None,
        timeout_seconds: float = 30.0,
        interruptible: bool = True,
    ) -> Self:
        """Add a tool that is one HTTP request; see `HttpTool` for the arguments."""
        self._tools.append(
            HttpTool(
                name=name,
                description=description,
                url=url,
                method=method,
                input_schema=input_schema or {},
                headers=headers or {},
                credential=credential,
                timeout_seconds=timeout_seconds,
                interruptible=interruptible,
            )
        )
        return self

    def mcp_server(
        self,
        name: str,
        url: str,
        *,
        transport: Literal["http", "sse"] = "http",
        credential: str | None = None,
        oauth: McpOAuth | None = None,
        allow: Sequence[str] = (),
        optional: bool = False,
        preload: bool | None = None,
    ) -> Self:
        """Add a connection to an MCP server; see `McpServer` for the arguments."""
        self._mcp_servers.append(
            McpServer(
                name=name,
                url=url,
                transport=transport,
                credential=credential,
                oauth=oauth,
                allow=tuple(allow),
                optional=optional,
                preload=preload,
            )
        )
        return self

    def limits(
        self,
        *,
        max_steps: int | None = None,
        max_turns: int | None = None,
        max_tool_calls_per_turn: int | None = None,
        deadline_seconds: float | None = None,
        transient_retry_budget: int | None = None,
        max_delegation_depth: int | None = None,
        max_fanout_per_turn: int | None = None,
        failure_streak_threshold: int | None = None,
        failure_streak_hard_stop: int | None = None,
        repeat_call_threshold: int | None = None,
        repeat_call_hard_stop: int | None = None,
        stream_idle_seconds: float | None = None,
        large_result_bytes: int | None = None,
        max_history_records: int | None = None,
    ) -> Self:
        """Set budgets; None leaves one as it is. See `Limits` for what each means."""
        self._limits |= _given(
            max_steps=max_steps,
            max_turns=max_turns,
            max_tool_calls_per_turn=max_tool_calls_per_turn,
            deadline_seconds=deadline_seconds,
            transient_retry_budget=transient_retry_budget,
            max_delegation_depth=max_delegation_depth,
            max_fanout_per_turn=max_fanout_per_turn,
            failure_streak_threshold=failure_streak_threshold,
            failure_streak_hard_stop=failure_streak_hard_stop,
            repeat_call_threshold=repeat_call_threshold,
            repeat_call_hard_stop=repeat_call_hard_stop,
            stream_idle_seconds=stream_idle_seconds,
            large_result_bytes=large_result_bytes,
            max_history_records=max_history_records,
        )
        return self

    def suspension(
        self,
        *,
        approval_expires_seconds: float | None = None,
        question_expires_seconds: float | None = None,
        external_expires_seconds: float | None = None,
        children_expires_seconds: float | None = None,
        may_ask_questions: bool | None = None,
    ) -> Self:
        """Set how long a Run waits; None leaves one as it is. See `SuspensionPolicy`."""
        self._suspension |= _given(
            approval_expires_seconds=approval_expires_seconds,
            question_expires_seconds=question_expires_seconds,
            external_expires_seconds=external_expires_seconds,
            children_expires_seconds=children_expires_seconds,
            may_ask_questions=may_ask_questions,
        )
        return self

    def _adopt(self, other: SharedBuilder) -> None:
        """Register the other builder's functions here: its Spec becomes a part of this one's."""
        if other._registry is None or other._registry is self._registry:
            return
        for name, (fn, options) in other._functions.items():
            known = self.registry.get(name)
            if known is None:
                self.registry.register(fn, name=name, **options)
            elif known.fn is not fn:
                raise BuilderError(
                    f"two different functions are registered as {name!r}: this builder's and the "
                    "embedded one's. Rename one of them"
                )
            self._functions.setdefault(name, (fn, options))

    def _shared_fields(self) -> dict[str, Any]:
        return {
            "tools": tuple(self._tools),
            "mcp_servers": tuple(self._mcp_servers),
            "limits": Limits(**self._limits),
            "suspension": SuspensionPolicy(**self._suspension),
        }


def _given(**values: object) -> Mapping[str, object]:
    return {name: value for name, value in values.items() if value is not None}
