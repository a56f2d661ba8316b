"""The short way in."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from psych_runtime.engine.admission import Dispatched, dispatch
from psych_runtime.engine.publishing import publish
from psych_runtime.engine.runtime import ModelSource, Runtime
from psych_runtime.engine.worker.worker import Worker
from psych_runtime.ids import RunId, VersionHash
from psych_runtime.ports.store import Store
from psych_runtime.reads.answer import AnswerView
from psych_runtime.reads.calls import answer
from psych_runtime.reads.stream import stream
from psych_runtime.scope import Scope
from psych_runtime.spec.agent import AgentSpec
from psych_runtime.spec.validation import ValidationContext
from psych_runtime.spec.version import Spec, Version
from psych_runtime.spec.workflow import WorkflowSpec
from psych_runtime.store.memory import InMemoryStore
from psych_runtime.tools.registry import ToolRegistry

_STOP_SECONDS = 30.0


class Buildable(Protocol):
    """Anything with ``build()``: the builders."""

    def build(self) -> Spec:
        """Return the Spec."""
        ...


Publishable = Spec | Buildable


@dataclass
class Session:
    """The real objects behind `session`, and three shortcuts over them.

    Attributes:
        store: The store in use.
        registry: The registered tools.
        runtime: The Runtime.
        worker: The running Worker.
        scope: The Scope that Runs get unless another is given.
    """

    store: Store
    registry: ToolRegistry
    runtime: Runtime
    worker: Worker
    scope: Scope
    _versions: dict[VersionHash, Version] = field(default_factory=dict, repr=False)

    async def publish(self, spec: Publishable) -> Version:
        """Publish a Spec (or a builder), checked against the registered tools.

        Raises:
            SpecValidationError: Lists every problem.
        """
        built = spec if isinstance(spec, AgentSpec | WorkflowSpec) else spec.build()
        context = ValidationContext(registered_tools=self.registry.names)
        version = await publish(self.store, built, context=context)
        self._versions[version.hash] = version
        return version

    async def start(
        self,
        spec: Publishable | Version | VersionHash,
        message: str | dict[str, Any] | None = None,
        *,
        scope: Scope | None = None,
        **dispatch_options: Any,
    ) -> Dispatched:
        """Publish if needed, dispatch, and return at once.

        Args:
            spec: A Spec, builder, Version, or the hash of a published one.
            message: The user's message, or the whole input as a dict.
            scope: Default: the session's.
            **dispatch_options: As for `dispatch`.

        Raises:
            LookupError: An unknown Version hash.
            TypeError: Both ``message`` and ``input`` were given.
        """
        if message is not None:
            if "input" in dispatch_options:
                raise TypeError("pass either message or input, not both")
            dispatch_options["input"] = (
                {"message": message} if isinstance(message, str) else message
            )
        version = await self._version(spec)
        return await dispatch(self.store, version, scope or self.scope, **dispatch_options)

    async def ask(
        self,
        spec: Publishable | Version | VersionHash,
        message: str | dict[str, Any] | None = None,
        *,
        scope: Scope | None = None,
        timeout: float | None = 120.0,
        **dispatch_options: Any,
    ) -> AnswerView:
        """Start a Run and wait for its answer; failed Runs return a view too.

        Args:
            spec: As for `start`.
            message: As for `start`.
            scope: As for `start`.
            timeout: Seconds to wait; None waits for ever. After it, what there is so far is
                returned (``finished`` False) and the Run goes on.
            **dispatch_options: As for `dispatch`.
        """
        started = await self.start(spec, message, scope=scope, **dispatch_options)
        return await self.wait(started.run_id, timeout=timeout)

    async def wait(self, run_id: RunId, *, timeout: float | None = 120.0) -> AnswerView:
        """Wait until a Run has ended (or ``timeout`` seconds); return its answer so far."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                async for _ in stream(self.store, run_id):
                    pass
        return await answer(self.store, run_id)

    async def _version(self, spec: Publishable | Version | VersionHash) -> Version:
        if isinstance(spec, Version):
            return spec
        if isinstance(spec, str):
            version = self._versions.get(spec) or await self.store.get_version(spec)
            if version is None:
                raise LookupError(f"no Version {spec} is published in this store")
            return version
        return await self.publish(spec)


@contextlib.asynccontextmanager
async def session(
    model: ModelSource,
    *,
    store: Store | None = None,
    registry: ToolRegistry | None = None,
    tools: Sequence[Callable[..., Any]] = (),
    tenant: str = "local",
    principal: str | None = None,
    concurrency: int = 4,
    **runtime_options: Any,
) -> AsyncIterator[Session]:
    """Assemble a store, a registry, a Runtime and a running Worker; stop them on the way out.

    Example:
        >>> async with session(FakeModel().turn(text="Hello.")) as s:
        ...     view = await s.ask(spec, "Hi")

    Args:
        model: A model client, or ``async (scope) -> client``.
        store: Default: an in-memory store, which dies with the process. A given store is
            migrated, and left open.
        registry: Default: a new one.
        tools: Functions to register under their own names.
        tenant: Tenant of the session's Scope.
        principal: Principal of the session's Scope.
        concurrency: Runs executed at a time.
        **runtime_options: Further fields of `Runtime`.
    """
    own_store = store is None
    used: Store = InMemoryStore() if store is None else store
    await used.migrate()
    tool_registry = registry if registry is not None else ToolRegistry()
    for function in tools:
        tool_registry.register(function)
    runtime = Runtime(store=used, model=model, registry=tool_registry, **runtime_options)
    worker = Worker(used, runtime, concurrency=concurrency)
    serving = asyncio.create_task(worker.run())
    try:
        yield Session(
            used, tool_registry, runtime, worker, Scope(tenant=tenant, principal=principal)
        )
    finally:
        worker.stop()
        done, _ = await asyncio.wait({serving}, timeout=_STOP_SECONDS)
        if not done:
            serving.cancel()
            await asyncio.wait({serving})
        if own_store:
            await used.close()
    error = None if serving.cancelled() else serving.exception()
    if error is not None:
        raise error
