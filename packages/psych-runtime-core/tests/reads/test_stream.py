"""Following a Run: backlog, wake-ups, the fallback poll, and every ending."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from typing import Any

import pytest
from psych_runtime.errors import RunAborted, RunFailed, RunNotFound, RunPurged
from psych_runtime.ids import RunId
from psych_runtime.log.corruption import CorruptionReason, CorruptLog
from psych_runtime.log.values import TerminalState, ToolFailure
from psych_runtime.ports.store import RunHeader, RunState, StoredRecord, Transition
from psych_runtime.reads import stream as stream_module
from psych_runtime.reads.stream import stream, stream_text, stream_until_settled
from psych_runtime.scope import Scope
from psych_runtime.store.memory import InMemoryStore
from psych_runtime.testing.store_wrapper import StoreWrapper

NewLog = Callable[..., Any]
Put = Callable[..., Any]


class Deaf(StoreWrapper):
    """A store without wake-ups that counts header reads."""

    def __init__(self, inner: Any) -> None:
        super().__init__(inner)
        self.looks = 0

    def listen(self, listener: Any) -> Callable[[], None]:
        return lambda: None

    async def get_run(self, run_id: RunId) -> RunHeader | None:
        self.looks += 1
        return await super().get_run(run_id)


async def seqs(records: Any) -> list[int]:
    return [record.seq async for record in records]


async def test_the_backlog_ends_with_the_terminal_record(
    store: InMemoryStore, new_log: NewLog, put: Put
) -> None:
    log = new_log().begun().turns("hi").settle()
    await put(log)
    assert [record async for record in stream(store, log.run_id)] == log.records
    assert await seqs(stream(store, log.run_id, after=3)) == [4, 5, 6]
    assert await seqs(stream(store, log.run_id, after=6)) == []


async def test_a_backlog_of_several_pages_is_read_without_a_gap(
    store: InMemoryStore, new_log: NewLog, put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_module, "PAGE_SIZE", 3)
    log = new_log().begun()
    for _ in range(4):
        log.turns("hi")
    await put(log.settle())
    assert await seqs(stream(store, log.run_id)) == list(range(1, len(log.records) + 1))


@pytest.fixture
def asleep(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Set whenever a reader has nothing to do; from then on only a wake-up brings it back."""
    event = asyncio.Event()
    real = stream_module._woken_within

    async def noted(woken: asyncio.Event, seconds: float) -> bool:
        event.set()
        return await real(woken, 3600.0)

    monkeypatch.setattr(stream_module, "_woken_within", noted)
    return event


async def test_a_wake_up_brings_new_records_before_the_next_poll(
    store: InMemoryStore, new_log: NewLog, put: Put, asleep: asyncio.Event
) -> None:
    stored = await put(new_log().begun())
    async with asyncio.timeout(5), aclosing(stream(store, stored.log.run_id)) as records:
        assert [(await anext(records)).seq for _ in range(2)] == [1, 2]
        coming = asyncio.ensure_future(anext(records))
        await asleep.wait()
        stored.log.turns("hi").settle()
        await stored.push()
        assert (await coming).seq == 3
        assert await seqs(records) == [4, 5, 6]


async def test_a_store_without_wake_ups_is_polled_ever_more_rarely(
    store: InMemoryStore, new_log: NewLog, put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_module, "FIRST_POLL_SECONDS", 0.001)
    monkeypatch.setattr(stream_module, "LAST_POLL_SECONDS", 0.004)
    waits: list[float] = []
    real = stream_module._woken_within

    async def noted(woken: asyncio.Event, seconds: float) -> bool:
        waits.append(seconds)
        if len(waits) == 5:
            stored.log.settle()
            await stored.push()
        return await real(woken, seconds)

    monkeypatch.setattr(stream_module, "_woken_within", noted)
    stored = await put(new_log().begun())
    assert await seqs(stream(Deaf(store), stored.log.run_id)) == [1, 2, 3]
    assert waits == [0.001, 0.002, 0.004, 0.004, 0.004]


@pytest.mark.parametrize("read", [stream, stream_text])
async def test_a_reader_that_closes_leaves_no_listener(
    store: InMemoryStore, new_log: NewLog, put: Put, asleep: asyncio.Event, read: Any
) -> None:
    stored = await put(new_log().begun())
    async with asyncio.timeout(5), aclosing(read(store, stored.log.run_id)) as items:
        waiting = asyncio.ensure_future(_last(items))
        await asleep.wait()
        assert store._wakeups.wanted
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
    assert not store._wakeups.wanted


async def test_a_reader_that_breaks_off_leaves_no_listener(
    store: InMemoryStore, new_log: NewLog, put: Put
) -> None:
    stored = await put(new_log().begun())
    async with aclosing(stream(store, stored.log.run_id)) as records:
        async for _ in records:
            break
        assert store._wakeups.wanted
    assert not store._wakeups.wanted


async def _collect(items: Any, into: list[Any]) -> None:
    async for item in items:
        into.append(item)


async def _last(items: Any) -> None:
    async for _ in items:
        pass


async def test_a_waiting_run_keeps_the_stream_open(
    store: InMemoryStore, new_log: NewLog, put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = await put(new_log().begun())
    stored.log.suspended(wait_id="w")
    await stored.push(Transition(RunState.SUSPENDED))
    looks = 0

    async def nothing_comes(woken: asyncio.Event, seconds: float) -> bool:
        nonlocal looks
        looks += 1
        if looks == 20:
            raise InterruptedError
        return False

    monkeypatch.setattr(stream_module, "_woken_within", nothing_comes)
    with pytest.raises(InterruptedError):
        await _last(stream(store, stored.log.run_id))


async def test_waiting_for_the_end_has_a_timeout(
    store: InMemoryStore, new_log: NewLog, put: Put
) -> None:
    stored = await put(new_log().begun())
    with pytest.raises(TimeoutError):
        await stream_until_settled(store, stored.log.run_id, timeout=0)
    assert not store._wakeups.wanted
    stored.log.settle()
    await stored.push()
    records = await stream_until_settled(store, stored.log.run_id, after=1, timeout=60)
    assert list(records) == stored.log.records[1:]


async def test_a28_a_run_settled_without_a_terminal_record_ends_the_stream(
    store: InMemoryStore, new_log: NewLog, put: Put
) -> None:
    stored = await put(new_log().begun())
    stored.log.turns("half")
    await stored.push(Transition(RunState.SETTLED, terminal_state="failed"))
    async with asyncio.timeout(5):
        assert await seqs(stream(store, stored.log.run_id)) == [1, 2, 3, 4, 5]
        with pytest.raises(RunFailed):
            await _last(stream_text(store, stored.log.run_id))


class Holed(StoreWrapper):
    """A store that has lost the third record."""

    async def read(
        self, run_id: RunId, *, after: int = 0, limit: int | None = None
    ) -> list[StoredRecord]:
        stored = await super().read(run_id, after=after, limit=limit)
        return [item for item in stored if item.seq != 3]


async def test_a_gap_is_a_corrupt_log(store: InMemoryStore, new_log: NewLog, put: Put) -> None:
    log = new_log().begun().turns("hi").settle()
    await put(log)
    with pytest.raises(CorruptLog) as caught:
        await _last(stream(Holed(store), log.run_id))
    assert (caught.value.reason, caught.value.seq) == (CorruptionReason.NON_CONSECUTIVE_SEQ, 3)


class PurgedMeanwhile(StoreWrapper):
    """A store whose Run is purged between the look at the header and the read."""

    async def read(
        self, run_id: RunId, *, after: int = 0, limit: int | None = None
    ) -> list[StoredRecord]:
        header = await self.inner.get_run(run_id)
        assert header is not None
        await self.inner.purge(header.created_at.replace(year=9999), tenant=header.scope.tenant)
        return await super().read(run_id, after=after, limit=limit)


async def test_a_run_that_is_purged_meanwhile_says_so(
    store: InMemoryStore, new_log: NewLog, put: Put
) -> None:
    log = new_log().begun().settle()
    await put(log)
    with pytest.raises(RunPurged):
        await _last(stream(PurgedMeanwhile(store), log.run_id))
    with pytest.raises(RunPurged):
        await _last(stream(store, log.run_id))


async def test_text_of_a_completed_run(store: InMemoryStore, new_log: NewLog, put: Put) -> None:
    log = new_log().begun().turns("one", [("c1", "look")]).run_call("c1").turns("").turns("two")
    await put(log.settle())
    assert [text async for text in stream_text(store, log.run_id)] == ["one", "two"]


@pytest.mark.parametrize("after", [0, 6])
async def test_text_of_a_failed_run_ends_with_the_failure(
    store: InMemoryStore, new_log: NewLog, put: Put, after: int
) -> None:
    failure = ToolFailure(kind="budget_exhausted", message="all turns are used")
    log = new_log().begun().turns("one").settle(TerminalState.FAILED, failure=failure)
    await put(log)
    got: list[str] = []
    with pytest.raises(RunFailed) as caught:
        await _collect(stream_text(store, log.run_id, after=after), got)
    assert got == ([] if after else ["one"])
    assert caught.value.failure == failure


@pytest.mark.parametrize(
    "state", [TerminalState.ABORTED, TerminalState.ABANDONED, TerminalState.FORCE_SETTLED]
)
async def test_text_of_a_stopped_run_ends_with_the_state(
    store: InMemoryStore, new_log: NewLog, put: Put, state: TerminalState
) -> None:
    log = new_log().begun().settle(state)
    await put(log)
    with pytest.raises(RunAborted) as caught:
        await _last(stream_text(store, log.run_id))
    assert caught.value.state == state.value


async def test_a_foreign_stream_is_an_unknown_one(
    store: InMemoryStore, new_log: NewLog, put: Put
) -> None:
    log = new_log().begun().settle()
    await put(log)
    texts = set()
    for run_id, tenant in ((log.run_id, "other"), (RunId("run_none"), "acme")):
        with pytest.raises(RunNotFound) as caught:
            await _last(stream(store, run_id, scope=Scope(tenant=tenant)))
        texts.add(str(caught.value).replace(run_id, "ID"))
    assert len(texts) == 1
