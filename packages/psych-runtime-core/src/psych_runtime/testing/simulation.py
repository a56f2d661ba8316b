"""A deterministic event loop with a virtual clock: the same seed gives the same interleaving.

Sleeping costs nothing: when nothing is ready, the clock jumps to the next timer. Ready callbacks
run in an order drawn from the seed. Use it for code that talks to in-process stores only; threads
and sockets are outside its time.
"""

from __future__ import annotations

import asyncio
import random
import selectors
from collections.abc import Awaitable, Callable, Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any

from psych_runtime.engine.lease import LeaseGuard
from psych_runtime.engine.worker.heartbeat import HeartbeatLike
from psych_runtime.engine.worker.worker import Worker

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
"""The virtual instant at which every simulation starts."""


class _JumpingSelector(selectors.SelectSelector):
    """Never waits: it moves the clock instead."""

    def __init__(self, advance: Callable[[float], None]) -> None:
        super().__init__()
        self._advance = advance

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready and timeout is None:
            raise RuntimeError("the simulation is stuck: nothing is ready and no timer is set")
        if not ready and timeout:
            self._advance(timeout)
        return ready


class SimulatedLoop(asyncio.SelectorEventLoop):
    """An event loop whose time is virtual and whose scheduling follows ``seed``."""

    def __init__(self, seed: int = 0) -> None:
        self._virtual = 0.0
        super().__init__(_JumpingSelector(self._jump))
        self.random = random.Random(seed)

    def _jump(self, seconds: float) -> None:
        self._virtual += seconds

    def time(self) -> float:
        """Virtual seconds since the simulation began."""
        return self._virtual

    def utcnow(self) -> datetime:
        """The virtual wall clock; give it to stores as their clock."""
        return EPOCH + timedelta(seconds=self._virtual)

    def _run_once(self) -> None:
        ready = self._ready  # type: ignore[attr-defined]
        if len(ready) > 1:
            order = list(ready)
            self.random.shuffle(order)
            ready.clear()
            ready.extend(order)
        super()._run_once()  # type: ignore[misc]


class _TaskHeartbeat:
    """Renews on the simulated loop itself."""

    def __init__(
        self, store: Any, guard: LeaseGuard, interval: float, on_lost: Callable[[], None]
    ) -> None:
        self._store = store
        self._guard = guard
        self._interval = interval
        self._on_lost = on_lost
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._beat())

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(self._interval)
            sent_at = self._guard.now()
            try:
                alive = await self._store.heartbeat(self._guard.session)
            except OSError:
                if self._guard.remaining <= 0:
                    self._guard.lost = True
                    self._on_lost()
                    return
                continue
            if not alive:
                self._guard.lost = True
                self._on_lost()
                return
            self._guard.renewed(sent_at)


class SimulatedWorker(Worker):
    """A `Worker` whose lease and heartbeat live on the simulated clock."""

    async def run(self) -> None:
        """As `Worker.run`, on a `SimulatedLoop`."""
        self._use_virtual_time()
        await super().run()

    async def drain(self) -> None:
        """As `Worker.drain`, on a `SimulatedLoop`."""
        self._use_virtual_time()
        await super().drain()

    def _use_virtual_time(self) -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, SimulatedLoop), "a SimulatedWorker needs `simulate`"
        self._clock = loop.time
        self._now = loop.utcnow

    def _make_heartbeat(self, guard: LeaseGuard) -> HeartbeatLike:
        return _TaskHeartbeat(
            self._store, guard, self._heartbeat_seconds, lambda: self._lease_lost(guard)
        )


def simulate[T](
    scenario: Callable[[SimulatedLoop], Awaitable[T]], *, seed: int = 0, limit: float = 86_400.0
) -> T:
    """Run ``scenario`` on a fresh `SimulatedLoop` and return its result.

    Args:
        scenario: Called with the loop; build stores with ``clock=loop.utcnow``.
        seed: Picks the interleaving. A failing seed fails again.
        limit: Virtual seconds after which the scenario is held to hang.

    Raises:
        TimeoutError: The limit passed.
        RuntimeError: Everything waits for something that can never come.
    """
    loop = SimulatedLoop(seed)

    async def main() -> T:
        async with asyncio.timeout(limit):
            return await scenario(loop)

    coroutine: Coroutine[Any, Any, T] = main()
    outside = random.getstate()
    random.seed(seed)  # retry pauses are jittered with it
    try:
        return loop.run_until_complete(coroutine)
    finally:
        random.setstate(outside)
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        if left:
            loop.run_until_complete(asyncio.wait(left, timeout=60.0))
        loop.close()
