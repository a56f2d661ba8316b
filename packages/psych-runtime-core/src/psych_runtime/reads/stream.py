"""Following a Run: its backlog, then every Record as it becomes durable."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, contextmanager

from psych_runtime.errors import RunAborted, RunFailed
from psych_runtime.ids import RunId
from psych_runtime.log.records import ModelCallFinished, Record, RunSettled
from psych_runtime.log.values import TerminalState, ToolFailure
from psych_runtime.ports.store import RunState, Store, WakeKind
from psych_runtime.reads.fetch import load_header, load_range
from psych_runtime.scope import Scope

PAGE_SIZE = 200
"""Records read at once."""

FIRST_POLL_SECONDS = 0.05
"""How soon a reader looks again after something new, when the store sends no wake-ups."""

LAST_POLL_SECONDS = 1.0
"""What the time between two looks doubles up to while nothing happens."""


async def stream(
    store: Store, run_id: RunId, *, after: int = 0, scope: Scope | None = None
) -> AsyncGenerator[Record]:
    """Yield a Run's Records in order, and end after ``run_settled``.

    The backlog comes first, then each Record soon after it is durable. A waiting Run keeps the
    stream open. It also ends when the Run is settled without a terminal Record (a corrupt log).
    Closing the stream does not stop the Run; `interrupt` does.

    Args:
        store: Where the Run is.
        run_id: The Run.
        after: The seq of the last Record seen; the stream goes on from there and misses nothing.
        scope: The caller's Scope; its tenant must be the Run's. None: any Run.

    Raises:
        RunNotFound: No such Run, or it belongs to another tenant.
        RunPurged: Retention has removed the log.
        CorruptLog: A seq is missing, or a Record does not decode.
    """
    cursor = after
    poll = FIRST_POLL_SECONDS
    with _wake_ups(store, run_id) as woken:
        while True:
            woken.clear()
            header = await load_header(store, run_id, scope)
            if header.head_seq <= cursor:
                if header.state is RunState.SETTLED:
                    return
                if await _woken_within(woken, poll):
                    poll = FIRST_POLL_SECONDS
                else:
                    poll = min(poll * 2, LAST_POLL_SECONDS)
                continue
            poll = FIRST_POLL_SECONDS
            for record in await load_range(store, header, after=cursor, limit=PAGE_SIZE):
                cursor = record.seq
                yield record
                if isinstance(record, RunSettled):
                    return


async def stream_text(
    store: Store, run_id: RunId, *, after: int = 0, scope: Scope | None = None
) -> AsyncGenerator[str]:
    """Yield the text of each model call of a Run, and return when the Run has completed.

    Args:
        store: Where the Run is.
        run_id: The Run.
        after: The seq of the last Record seen.
        scope: The caller's Scope; its tenant must be the Run's. None: any Run.

    Raises:
        RunFailed: The Run ended failed.
        RunAborted: The Run ended aborted, abandoned or force-settled.
        RunNotFound, RunPurged, CorruptLog: As in `stream`.
    """
    async with aclosing(stream(store, run_id, after=after, scope=scope)) as records:
        async for record in records:
            if isinstance(record, ModelCallFinished) and record.text:
                yield record.text
            elif isinstance(record, RunSettled):
                _raise_unless_completed(run_id, record.state, record.failure)
                return
    await _raise_for_header(store, run_id, scope)


async def stream_until_settled(
    store: Store,
    run_id: RunId,
    *,
    after: int = 0,
    timeout: float | None = None,
    scope: Scope | None = None,
) -> tuple[Record, ...]:
    """Return a Run's Records after seq ``after``, once the Run has ended.

    Args:
        store: Where the Run is.
        run_id: The Run.
        after: The seq of the last Record seen.
        timeout: Seconds to wait for the end; None waits as long as it takes.
        scope: The caller's Scope; its tenant must be the Run's. None: any Run.

    Raises:
        TimeoutError: The Run had not ended in time. It goes on.
        RunNotFound, RunPurged, CorruptLog: As in `stream`.
    """
    seen: list[Record] = []
    async with (
        asyncio.timeout(timeout),
        aclosing(stream(store, run_id, after=after, scope=scope)) as records,
    ):
        async for record in records:
            seen.append(record)
    return tuple(seen)


@contextmanager
def _wake_ups(store: Store, run_id: RunId) -> Iterator[asyncio.Event]:
    """An event that the store's hints about this Run set, for as long as the block runs."""
    woken = asyncio.Event()

    def hint(about: RunId, kind: WakeKind) -> None:
        if about == run_id:
            woken.set()

    stop = store.listen(hint)
    try:
        yield woken
    finally:
        stop()


async def _woken_within(woken: asyncio.Event, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            await woken.wait()
    except TimeoutError:
        return False
    return True


def _raise_unless_completed(
    run_id: RunId, state: TerminalState, failure: ToolFailure | None
) -> None:
    if state is TerminalState.FAILED:
        raise RunFailed(run_id, failure)
    if state is not TerminalState.COMPLETED:
        raise RunAborted(run_id, state.value)


async def _raise_for_header(store: Store, run_id: RunId, scope: Scope | None) -> None:
    """Judge a Run whose terminal Record the stream did not show: it lies before ``after``, or
    the log has none.
    """
    header = await load_header(store, run_id, scope)
    if header.terminal_state is None:
        raise RunFailed(run_id, None)
    last = await load_range(store, header, after=header.head_seq - 1)
    failure = last[0].failure if last and isinstance(last[0], RunSettled) else None
    _raise_unless_completed(run_id, TerminalState(header.terminal_state), failure)
