import asyncio
import contextvars
import gc
import logging
import subprocess
import sys
import threading
import time
import weakref
from typing import Any

import pytest
from psych_runtime.tools.threads import ToolThreads


async def test_functions_run_side_by_side_and_the_loop_goes_on() -> None:
    threads = ToolThreads(max_workers=3)
    meeting = threading.Barrier(3, timeout=10)
    ticks = 0

    async def heartbeat() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0)

    beating = asyncio.create_task(heartbeat())
    await asyncio.gather(*[threads.run(meeting.wait) for _ in range(3)])
    beating.cancel()
    assert ticks > 0


async def test_no_more_than_the_limit_run_at_once() -> None:
    threads = ToolThreads(max_workers=2)
    lock = threading.Lock()
    running = most = 0

    def work() -> int:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.005)
        with lock:
            running -= 1
        return threading.get_ident()

    used = await asyncio.gather(*[threads.run(work) for _ in range(10)])
    assert most == 2
    assert len(set(used)) == 2


async def test_idle_threads_are_used_again() -> None:
    threads = ToolThreads(max_workers=8)
    used = {await threads.run(threading.get_ident) for _ in range(20)}
    assert len(used) <= 2  # a thread counts as idle a moment after its result


async def test_context_variables_are_copied() -> None:
    variable = contextvars.ContextVar("variable", default=0)
    variable.set(1)

    def work() -> int:
        seen = variable.get()
        variable.set(2)
        return seen

    assert await ToolThreads().run(work) == 1
    assert variable.get() == 1


async def test_errors_come_back() -> None:
    class Special(BaseException): ...

    def fail(error: BaseException) -> None:
        raise error

    for error in (ValueError("v"), StopAsyncIteration(), Special()):
        with pytest.raises(type(error)):
            await ToolThreads().run(lambda error=error: fail(error))  # type: ignore[misc]


async def test_a_late_result_is_delivered_once() -> None:
    threads = ToolThreads()
    started, go = asyncio.Event(), threading.Event()
    late: asyncio.Queue[str] = asyncio.Queue()
    loop = asyncio.get_running_loop()

    def work() -> str:
        go.wait(10)
        return "result"

    task = asyncio.create_task(
        threads.run(
            work,
            on_start=started.set,
            on_late=lambda result: loop.call_soon_threadsafe(late.put_nowait, result),
        )
    )
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert late.empty()
    go.set()
    assert await late.get() == "result"
    await threads.run(lambda: None)
    assert late.empty()


@pytest.mark.parametrize("ticks", [0, 1])
async def test_a_result_is_late_when_the_cancellation_overtakes_it(ticks: int) -> None:
    threads = ToolThreads()
    late: list[str] = []
    task = asyncio.create_task(threads.run(lambda: "result", on_late=late.append))
    await asyncio.sleep(0)
    # The thread is done and has posted its result; the loop was busy here and has not seen it.
    assert threads._pool.idle.acquire(timeout=10)
    for _ in range(ticks):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert late == ["result"]


async def test_a_function_cancelled_while_waiting_never_starts() -> None:
    threads = ToolThreads(max_workers=1)
    go = threading.Event()
    ran: list[str] = []
    busy = asyncio.create_task(threads.run(lambda: go.wait(10)))
    waiting = asyncio.create_task(threads.run(lambda: ran.append("ran"), on_late=ran.append))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    go.set()
    await busy
    await threads.run(lambda: ran.append("next"))
    assert ran == ["next"]


async def test_a_late_error_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    threads = ToolThreads(max_workers=1)
    started, go = asyncio.Event(), threading.Event()

    def work() -> None:
        go.wait(10)
        raise ValueError("too late")

    late: list[Any] = []
    task = asyncio.create_task(threads.run(work, on_start=started.set, on_late=late.append))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    with caplog.at_level(logging.WARNING, "psych_runtime.tools.threads"):
        go.set()
        await threads.run(lambda: None)  # the only thread: after the failed one
    assert "too late" in caplog.text
    assert late == []


def test_a_result_after_the_loop_has_closed_is_late() -> None:
    threads = ToolThreads()
    go, arrived = threading.Event(), threading.Event()
    late: list[str] = []

    def work() -> str:
        go.wait(10)
        return "result"

    def keep(result: str) -> None:
        late.append(result)
        arrived.set()

    async def start() -> None:
        running = asyncio.Event()
        task = asyncio.create_task(threads.run(work, on_start=running.set, on_late=keep))
        await running.wait()
        task.cancel()

    asyncio.run(start())
    go.set()
    assert arrived.wait(10)
    assert late == ["result"]


async def test_close_finishes_what_was_given_and_takes_no_more() -> None:
    threads = ToolThreads(max_workers=1)
    jobs = [asyncio.create_task(threads.run(threading.current_thread)) for _ in range(3)]
    await asyncio.sleep(0)
    threads.close()
    threads.close()
    used = await asyncio.gather(*jobs)
    with pytest.raises(RuntimeError, match="closed"):
        await threads.run(lambda: None)
    for thread in used:
        thread.join(10)
        assert not thread.is_alive()


async def test_threads_end_when_nobody_holds_them() -> None:
    threads = ToolThreads()
    thread = await threads.run(threading.current_thread)
    gone = weakref.ref(threads)
    del threads
    gc.collect()
    assert gone() is None
    thread.join(10)
    assert not thread.is_alive()


@pytest.mark.slow
def test_a_hanging_tool_does_not_keep_the_process() -> None:
    code = (
        "import asyncio, threading\n"
        "from psych_runtime.tools.threads import ToolThreads\n"
        "async def main():\n"
        "    running = asyncio.Event()\n"
        "    hang = ToolThreads().run(threading.Event().wait, on_start=running.set)\n"
        "    task = asyncio.create_task(hang)\n"
        "    await running.wait()\n"
        "    task.cancel()\n"
        "asyncio.run(main())\n"
        "print('over')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr, done.returncode) == ("over\n", "", 0)


def test_the_limit_is_checked() -> None:
    with pytest.raises(ValueError, match="1 or more"):
        ToolThreads(max_workers=0)
