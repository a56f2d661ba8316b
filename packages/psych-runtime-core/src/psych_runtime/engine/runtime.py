"""Runtime: what a Worker needs to execute a Run, and the code that does it once."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from psych_runtime.engine.agent.activation import Activation, TurnTracker
from psych_runtime.engine.agent.history import load_history
from psych_runtime.engine.agent.loop import AgentLoop
from psych_runtime.engine.agent.offer import OfferCache
from psych_runtime.engine.journal import Journal
from psych_runtime.engine.late import write_late_result
from psych_runtime.engine.signals import AbortSignal
from psych_runtime.errors import VersionNotFound
from psych_runtime.ids import ToolCallId, VersionHash
from psych_runtime.ports.model import ModelClient
from psych_runtime.ports.policy import Policy
from psych_runtime.ports.pricing import CostPolicy, PriceResolver
from psych_runtime.ports.store import RunHeader, Store
from psych_runtime.reads.conversation import Conversation
from psych_runtime.scope import Scope
from psych_runtime.spec.agent import AgentSpec
from psych_runtime.spec.version import Version
from psych_runtime.tools.execution import CallResult
from psych_runtime.tools.http import HttpToolExecutor
from psych_runtime.tools.registry import ToolRegistry
from psych_runtime.tools.threads import ToolThreads

_log = logging.getLogger("psych_runtime.engine.runtime")

ModelSource = ModelClient | Callable[[Scope], Awaitable[ModelClient]]
"""A model client, or a coroutine function that returns the client for a Scope."""

_VERSIONS_KEPT = 256


@dataclass
class Runtime:
    """How Runs are executed. Holds nothing of any one Run: share it between Workers.

    Attributes:
        store: Where Runs live.
        model: The model client, or ``async (scope) -> ModelClient`` when tenants have their own.
        registry: The functions behind the Specs' code tools.
        prices: Prices for computed costs. None: a cost is recorded only if the provider reports it.
        cost_policy: ``prefer_provider`` (default), ``computed`` or ``provider_only``.
        memories: Facts added to every system prompt.
        policy: Asked before every tool call; None allows all.
        approval_selectors: Tool classes that need a person, such as ``("@destructive",)``.
        tool_threads: Number of threads that synchronous tools share (default 32).
        http: Sends the requests of HTTP tools; None refuses every call of one.
    """

    store: Store
    model: ModelSource
    registry: ToolRegistry
    prices: PriceResolver | None = None
    cost_policy: CostPolicy = "prefer_provider"
    memories: Sequence[str] = ()
    policy: Policy | None = None
    approval_selectors: Sequence[str] = ()
    tool_threads: int = 32
    http: HttpToolExecutor | None = None
    _threads: ToolThreads | None = field(default=None, init=False, repr=False)
    _versions: OrderedDict[VersionHash, Version] = field(
        default_factory=OrderedDict, init=False, repr=False
    )
    _offers: OfferCache = field(default_factory=OfferCache, init=False, repr=False)
    _late: set[asyncio.Task[None]] = field(default_factory=set, init=False, repr=False)

    async def __call__(self, journal: Journal, header: RunHeader, abort: AbortSignal) -> None:
        """Execute a Run until it settles, waits, or has to be handed back.

        Raises:
            VersionNotFound: The Run's Version is not in the store.
            LeaseLost: Somebody else may hold the Run.
        """
        version = await self._version(header.version_hash)
        spec = version.spec
        if not isinstance(spec, AgentSpec):
            raise TypeError(f"this release runs agent Specs; {spec.name!r} is a {spec.kind}")
        conversation, tracker = Conversation(), TurnTracker(None)
        for record in journal.take_history():
            conversation.add(record)
            tracker.add(record)
        journal.observers += [conversation, tracker]
        activation = Activation(
            runtime=self,
            journal=journal,
            abort=abort,
            spec=spec,
            model=await self._client(header.scope),
            registry=self.registry,
            threads=self._tool_threads(),
            conversation=conversation,
            tracker=tracker,
            history=await load_history(self.store, header, spec.limits.max_history_records),
        )
        await AgentLoop(activation).run()

    async def _version(self, version_hash: VersionHash) -> Version:
        version = self._versions.get(version_hash)
        if version is None:
            version = await self.store.get_version(version_hash)
            if version is None:
                raise VersionNotFound(version_hash)
            self._versions[version_hash] = version
            if len(self._versions) > _VERSIONS_KEPT:
                self._versions.popitem(last=False)
        return version

    async def _client(self, scope: Scope) -> ModelClient:
        source = self.model
        if inspect.iscoroutinefunction(source):
            client: ModelClient = await source(scope)
            return client
        if isinstance(source, ModelClient):
            return source
        return await source(scope)

    @property
    def offers(self) -> OfferCache:
        """Prompts and tool definitions that Runs of one Version share."""
        return self._offers

    def _tool_threads(self) -> ToolThreads:
        if self._threads is None:
            self._threads = ToolThreads(max_workers=self.tool_threads)
        return self._threads

    def late_results(self, journal: Journal, call_id: ToolCallId) -> Callable[[CallResult], Any]:
        """A callback that records what a thread returned after its call was given up."""
        loop = asyncio.get_running_loop()

        def start(result: CallResult) -> None:
            task = loop.create_task(write_late_result(journal, call_id, result))
            self._late.add(task)
            task.add_done_callback(self._late.discard)

        def deliver(result: CallResult) -> None:
            try:
                loop.call_soon_threadsafe(start, result)
            except RuntimeError:  # the loop has closed: nobody is left to write it down
                _log.warning("a result of call %s came after its process was done", call_id)

        return deliver
