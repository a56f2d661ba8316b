"""Crash-point explorer: kill the process at every durable write, and see another one finish.

`explore` runs a scenario once to count its durable writes, then again for each write and each of
three faults: killed just before it, killed just after it, and its answer lost on the way back. A
second Worker, on a new event loop and with nothing but the store, finishes the Run. Then the
invariants are checked: the log folds at every prefix, every call is answered exactly once, the
Run has ended, and whatever the scenario itself demands.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from psych_runtime.errors import StoreUnavailable
from psych_runtime.ids import RunId
from psych_runtime.log.codec import decode_log
from psych_runtime.log.corruption import CorruptLog
from psych_runtime.log.fold import reduce
from psych_runtime.log.records import ModelCallFinished, Record, RunSettled, ToolCallFinished
from psych_runtime.ports.store import Store
from psych_runtime.testing.store_wrapper import StoreWrapper


class Killed(KeyboardInterrupt):
    """The process dies here. Not an `Exception`; event loops let it through at once."""


FAULTS = ("before", "after", "answer lost")
"""What may happen at a durable write."""


class FaultyStore(StoreWrapper):
    """Counts durable writes and lets ``fault`` happen at number ``at`` (from 1; 0: never).

    After a kill every call raises `Killed`, as nothing of a dead process reaches the store.
    """

    def __init__(self, inner: Store, *, at: int = 0, fault: str = "before") -> None:
        super().__init__(inner)
        self.writes = 0
        self.dead = False
        self._at = at
        self._fault = fault

    async def around_write[T](self, what: str, write: Callable[[], object]) -> T:
        self._check()
        self.writes += 1
        hit = self.writes == self._at
        if hit and self._fault == "before":
            self._die()
        result = await write()  # type: ignore[misc]
        if hit and self._fault == "after":
            self._die()
        if hit:
            raise StoreUnavailable("the connection broke before the answer came")
        return result  # type: ignore[no-any-return]

    async def heartbeat(self, session: Any) -> bool:
        if self.dead:
            return False  # ends the heartbeat thread, which a real kill would end as well
        return await super().heartbeat(session)

    async def end_session(self, session_id: str) -> None:
        self._check()
        await super().end_session(session_id)

    async def claim(self, session: Any, limit: int, *, log_limit: int = 256) -> Any:
        self._check()
        return await super().claim(session, limit, log_limit=log_limit)

    def _check(self) -> None:
        if self.dead:
            raise Killed

    def _die(self) -> None:
        self.dead = True
        raise Killed


@dataclass
class World:
    """One fresh instance of a scenario.

    Attributes:
        store: The store, empty, with a clock that ``pass_time`` moves.
        admit: Publish and dispatch on the given store; return the Run's id. Runs unharmed.
        work: What the process under test does with the (faulty) store: usually drain a Worker,
            and whatever else belongs to the scenario (a steer, an interrupt).
        recover: What the second process does with the bare store; usually drain a Worker.
        pass_time: Let the dead process's lease run out.
        check: Extra checks on the final log; returns what is wrong, in words.
        close: Release the store.
    """

    store: Store
    admit: Callable[[Store], Awaitable[RunId]]
    work: Callable[[Store, RunId], Awaitable[None]]
    recover: Callable[[Store, RunId], Awaitable[None]]
    pass_time: Callable[[], None]
    check: Callable[[list[Record]], list[str]] = lambda log: []
    close: Callable[[], Awaitable[None]] | None = None


@dataclass
class Exploration:
    """What `explore` saw.

    Attributes:
        scenario: Its name.
        crash_points: How many faults were tried.
        violations: What went wrong, each naming its fault.
    """

    scenario: str
    crash_points: int = 0
    violations: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.scenario}, {self.crash_points} crash points, {len(self.violations)} violations"
        )


def explore(name: str, make_world: Callable[[], World], *, timeout: float = 20.0) -> Exploration:
    """Try every fault at every durable write of a scenario.

    Call it from synchronous code: it makes event loops of its own, and abandons those of killed
    processes where they stand.

    Args:
        name: The scenario's name, for the report.
        make_world: Builds a fresh, independent instance.
        timeout: Seconds after which one process is held to hang.
    """
    result = Exploration(name)
    writes, problems = _one(make_world(), at=0, fault="before", timeout=timeout)
    result.violations += [f"no fault: {problem}" for problem in problems]
    for at in range(1, writes + 1):
        for fault in FAULTS:
            _, problems = _one(make_world(), at=at, fault=fault, timeout=timeout)
            result.crash_points += 1
            result.violations += [f"{fault} write {at}: {problem}" for problem in problems]
    return result


def _one(world: World, *, at: int, fault: str, timeout: float) -> tuple[int, list[str]]:
    faulty = FaultyStore(world.store, at=at, fault=fault)
    run_id = _process(world.admit(world.store), timeout)
    try:
        _process(world.work(faulty, run_id), timeout)
    except Killed:
        # What the dead process had already sent still lands; let it, before time passes.
        _process(world.store.end_session("explorer"), timeout)
        world.pass_time()
    except TimeoutError:
        return faulty.writes, ["the first process hangs"]
    try:
        _process(world.recover(world.store, run_id), timeout)
    except TimeoutError:
        return faulty.writes, ["the second process hangs"]

    async def read() -> list[Record]:
        log = decode_log(run_id, await world.store.read(run_id))
        if world.close is not None:
            await world.close()
        return log

    log = _process(read(), timeout)
    return faulty.writes, [*invariant_violations(log), *world.check(log)]


def invariant_violations(log: list[Record]) -> list[str]:
    """What is wrong with the log of a Run that should have ended, in words."""
    problems: list[str] = []
    if [record.seq for record in log] != list(range(1, len(log) + 1)):
        problems.append("the log has a gap")
    try:
        for length in range(1, len(log) + 1):
            reduce(log[:length])
    except CorruptLog as error:
        problems.append(f"the log does not fold: {error}")
        return problems
    endings = [record for record in log if isinstance(record, RunSettled)]
    if len(endings) != 1 or log[-1] is not endings[0]:
        problems.append(f"the Run has {len(endings)} endings")
    answers: dict[str, int] = {}
    for record in log:
        if isinstance(record, ToolCallFinished):
            answers[record.call_id] = answers.get(record.call_id, 0) + 1
    for record in log:
        if isinstance(record, ModelCallFinished):
            for call in record.calls:
                if answers.get(call.call_id, 0) != 1:
                    problems.append(
                        f"call {call.call_id} has {answers.get(call.call_id, 0)} answers"
                    )
    return problems


_abandoned: list[object] = []
"""Tasks of killed processes: kept, so that no ``finally`` of theirs ever runs."""


def _process[T](work: Awaitable[T], timeout: float) -> T:
    """Run ``work`` like a process: on a loop of its own, which a kill abandons as it stands."""
    loop = asyncio.new_event_loop()

    async def main() -> T:
        async with asyncio.timeout(timeout):
            return await work

    coroutine: Coroutine[Any, Any, T] = main()
    task = loop.create_task(coroutine)
    try:
        result = loop.run_until_complete(task)
    except Killed:
        _abandoned.append((asyncio.all_tasks(loop), task))
        loop.close()
        raise
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()
    return result
