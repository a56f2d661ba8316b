"""The calls of one turn run side by side, each with a life of its own in the log."""

from __future__ import annotations

import asyncio
import threading
import time

from agents import agent, execute, of_type
from psych_runtime import ToolContext, ToolRegistry
from psych_runtime.ports.store import Store
from psych_runtime.testing.fake_model import FakeModel


def three(name: str) -> FakeModel:
    return FakeModel().turn(tool_calls=[(name, {"n": n}) for n in range(3)]).turn(text="done")


async def test_three_tools_of_300_ms_take_about_300_ms(store: Store) -> None:
    registry = ToolRegistry()

    @registry.register
    async def work(n: int) -> int:
        """Work."""
        await asyncio.sleep(0.3)
        return n

    began = time.perf_counter()
    log = await execute(store, agent("work"), three("work"), registry)
    took = time.perf_counter() - began
    assert [record.result for record in of_type(log, "tool_call_finished")] == [0, 1, 2]
    assert took < 0.7, f"three parallel tools of 0.3 s took {took:.2f} s"


async def test_c133_sync_tools_run_side_by_side_and_off_the_loop(store: Store) -> None:
    registry = ToolRegistry()
    meeting = threading.Barrier(3, timeout=10)
    threads: set[int] = set()

    @registry.register
    def work(n: int) -> int:
        """Meet the other two, which only works when all three run at once."""
        meeting.wait()
        threads.add(threading.get_ident())
        return n

    log = await execute(store, agent("work"), three("work"), registry)
    assert [record.outcome for record in of_type(log, "tool_call_finished")] == ["ok"] * 3
    assert threading.get_ident() not in threads
    assert len(threads) == 3


async def test_c135_a_sync_tool_can_call_async_code_on_the_host_loop(store: Store) -> None:
    registry = ToolRegistry()
    home = asyncio.get_running_loop()
    seen: list[bool] = []

    async def client_call() -> str:
        seen.append(asyncio.get_running_loop() is home)
        await asyncio.sleep(0)
        return "from the loop"

    @registry.register
    def work(n: int, context: ToolContext) -> str:
        """Use a client that is bound to the loop."""
        return context.run_async(client_call())

    log = await execute(store, agent("work"), three("work"), registry)
    assert [r.result for r in of_type(log, "tool_call_finished")] == ["from the loop"] * 3
    assert seen == [True] * 3


async def test_results_reach_the_model_in_its_own_order(store: Store) -> None:
    registry = ToolRegistry()

    @registry.register
    async def work(n: int) -> str:
        """The first call is the slowest."""
        await asyncio.sleep(0.1 * (2 - n))
        return f"result {n}"

    model = three("work")
    log = await execute(store, agent("work"), model, registry)
    finished = [record.result for record in of_type(log, "tool_call_finished")]
    assert finished == ["result 2", "result 1", "result 0"]
    contents = [message.content for message in model.last_request.messages[-3:]]
    assert contents == ["result 0", "result 1", "result 2"]


async def test_serial_calls_follow_each_other_and_exclusive_ones_run_alone(store: Store) -> None:
    registry = ToolRegistry()
    running = 0
    most = {"serial": 0, "alone": 0}

    async def busy(kind: str) -> None:
        nonlocal running
        running += 1
        most[kind] = max(most[kind], running)
        await asyncio.sleep(0.02)
        running -= 1

    @registry.register(serial="account")
    async def in_turn(n: int) -> None:
        """One after another."""
        await busy("serial")

    @registry.register(exclusive=True)
    async def alone(n: int) -> None:
        """Nothing next to it."""
        await busy("alone")

    model = (
        FakeModel()
        .turn(tool_calls=[("in_turn", {"n": n}) for n in range(3)])
        .turn(tool_calls=[("alone", {"n": n}) for n in range(3)])
        .turn(text="done")
    )
    log = await execute(store, agent("in_turn", "alone"), model, registry)
    assert len(of_type(log, "tool_call_finished")) == 6
    assert most == {"serial": 1, "alone": 1}
