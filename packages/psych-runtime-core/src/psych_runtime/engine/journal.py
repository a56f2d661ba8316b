"""The write path of an Attempt: fold now, commit in few, fenced batches.

`docs/design-notes/journal.md` explains facts, decisions and the fence.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from datetime import UTC, datetime
from typing import Any, Protocol, cast

from psych_runtime.engine.lease import LeaseGuard
from psych_runtime.errors import (
    LeaseLost,
    SeqConflict,
    StoreRegressed,
    StoreUnavailable,
)
from psych_runtime.ids import AttemptId, RunId
from psych_runtime.log.codec import decode, encode
from psych_runtime.log.fold import check, fold_unsequenced
from psych_runtime.log.fold.state import RunStateView
from psych_runtime.log.records import Record, RecordBase
from psych_runtime.ports.store import Lease, RunHeader, RunState, Store, Transition

_log = logging.getLogger("psych_runtime.engine.journal")

DEFAULT_LINGER_SECONDS = 0.3
"""How long a lazy record may wait for an urgent one before it is written on its own."""


class Observer(Protocol):
    """Sees every record once, in fold order: own ones when written, foreign ones when absorbed."""

    def add(self, record: Record, /) -> None:
        """Take one record in."""
        ...


class DecisionDropped(Exception):
    """The log had moved on: the foreign records are absorbed, take the decision again."""


class Journal:
    """One Run's log, as its holder writes it.

    Attributes:
        state: The fold of everything written or absorbed so far.
        head: The highest seq that is durable and folded.
        closed: True after a decision released or ended the Run; nothing more can be written.
    """

    def __init__(
        self,
        store: Store,
        header: RunHeader,
        state: RunStateView,
        *,
        lease: Lease,
        guard: LeaseGuard,
        attempt_id: AttemptId,
        history: Sequence[Record] = (),
        linger_seconds: float = DEFAULT_LINGER_SECONDS,
        now: Callable[[], datetime] | None = None,
        on_absorbed: Callable[[Record], None] | None = None,
        on_failed: Callable[[BaseException], None] | None = None,
    ) -> None:
        self.store = store
        self.header = header
        self.state = state
        self.attempt_id = attempt_id
        self.lease = lease
        self.guard = guard
        self.head = state.head_seq
        self.closed = False
        self.observers: list[Observer] = []
        self._history: list[Record] | None = list(history)
        self._linger = linger_seconds
        self._now = now or (lambda: datetime.now(UTC))
        self._on_absorbed = on_absorbed
        self._on_failed = on_failed
        self._batch_no = header.batch_no
        self._pending: list[bytes] = []
        self._absorbed = 0
        self._written = 0
        self._durable = 0
        self._flight: asyncio.Task[bool] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._failure: BaseException | None = None
        self._alone = asyncio.Lock()

    @property
    def run_id(self) -> RunId:
        """The Run."""
        return self.header.run_id

    def take_history(self) -> Sequence[Record]:
        """Every record folded so far, for observers that come late; given out once, then dropped."""
        history, self._history = self._history or [], None
        return history

    def now(self) -> datetime:
        """The writer's wall clock (UTC): what ``at`` is stamped with."""
        return self._now()

    # -- facts --------------------------------------------------------------------------------

    def make[R: RecordBase](self, kind: type[R], /, **fields: Any) -> R:
        """Build a record of this Run at a provisional seq; nothing is folded or queued."""
        return kind(
            run_id=self.run_id,
            seq=self.head + len(self._pending) + 1,
            at=self._now(),
            scope=self.header.scope,
            attempt_id=self.attempt_id,
            **fields,
        )

    def write[R: RecordBase](self, kind: type[R], /, **fields: Any) -> R:
        """Fold a fact and queue it; it rides with the next commit, or goes after the linger.

        Raises:
            CorruptLog: The record is impossible here; nothing was queued.
            UnstorableValueError: It cannot be encoded; nothing was queued.
            LeaseLost: The journal has failed or is closed.
        """
        self._raise_if_unusable()
        record = self.make(kind, **fields)
        body = encode(record)
        self._fold(record)
        self._pending.append(body)
        self._written += 1
        if self._timer is None:
            self._start_timer()
        return record

    async def commit(self) -> None:
        """Return when everything written so far is durable.

        Cancelling the caller does not cancel the write.

        Raises:
            LeaseLost, StoreRegressed: Nothing more can be written.
        """
        target = self._written
        while self._durable < target:
            self._raise_if_unusable()
            await asyncio.shield(self.commit_soon())
        self._raise_if_unusable()

    def commit_soon(self) -> asyncio.Task[bool]:
        """Start writing what is queued, without waiting for it."""
        return self._flight if self._flight is not None else self._start(self._fly())

    # -- decisions ----------------------------------------------------------------------------

    async def decide(self, *records: RecordBase, transition: Transition | None = None) -> None:
        """Write everything queued plus ``records`` and ``transition``, if the head has not moved.

        Build the records with `make`. They are folded only once they are durable.

        Raises:
            DecisionDropped: Somebody else wrote; their records are absorbed, the queued facts
                stay queued, and the decision must be taken again on the new state.
            CorruptLog: The decision is impossible in this state; nothing was written.
        """
        absorbed = self._absorbed
        async with self._alone:
            await self._settle_flight()
            self._raise_if_unusable()
            if self._absorbed != absorbed:  # what this was decided on is no longer so
                raise DecisionDropped
            for record in records:
                check(self.state, record)
            bodies = [encode(record) for record in records]
            sent = self._start(self._send_decision(records, bodies, transition))
            await asyncio.shield(sent)
            if not sent.result():
                raise DecisionDropped

    async def _send_decision(
        self, records: Sequence[RecordBase], bodies: list[bytes], transition: Transition | None
    ) -> bool:
        facts = len(self._pending)
        batch = self._pending + bodies
        try:
            base = await self._append(batch, strict_head=self.head, transition=transition)
        except SeqConflict:
            await self._absorb()
            return False
        for offset, record in enumerate(records):
            seq = base + facts + offset + 1
            self._fold(record.model_copy(update={"seq": seq}))
        self._landed(base, facts, len(batch))
        if transition is not None and transition.state is not RunState.RUNNING:
            self.closed = True
            self._stop_timer()
        return True

    # -- what others wrote --------------------------------------------------------------------

    async def absorb(self) -> None:
        """Read and fold what others have written since the last look."""
        async with self._alone:
            await self._settle_flight()
            if not self.closed and self._failure is None:
                await asyncio.shield(self._start(self._absorb_all()))

    async def _absorb_all(self) -> bool:
        await self._absorb()
        return True

    async def _absorb(self, limit: int | None = None) -> None:
        after = self.head
        stored = await self._answered(
            lambda: self.store.read(self.run_id, after=after, limit=limit)
        )
        for entry in stored:
            record = decode(self.run_id, self.header.scope, entry.seq, entry.body)
            self._fold(record)
            self._absorbed += 1
            self.head = entry.seq
            self.state.head_seq = max(self.state.head_seq, entry.seq)
            if self._on_absorbed is not None:
                self._on_absorbed(record)

    # -- sending ------------------------------------------------------------------------------

    def _start(self, work: Coroutine[Any, Any, bool]) -> asyncio.Task[bool]:
        """Put ``work`` in the air; only one thing talks to this Run's log at a time."""
        flight = asyncio.get_running_loop().create_task(self._in_the_air(work))
        flight.add_done_callback(_retrieve)
        self._flight = flight
        return flight

    async def _in_the_air(self, work: Coroutine[Any, Any, bool]) -> bool:
        try:
            return await work
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            first = self._failure is None
            self._failure = self._failure or error
            if first and self._on_failed is not None:
                self._on_failed(error)
            raise
        finally:
            self._flight = None

    async def _settle_flight(self) -> None:
        while self._flight is not None:
            await asyncio.wait({self._flight})

    async def _fly(self) -> bool:
        batch = list(self._pending)
        if not batch or self.closed or self._failure is not None:
            return True
        base = await self._append(batch)
        if base != self.head:
            await self._absorb(limit=base - self.head)
        self._landed(base, len(batch), len(batch))
        return True

    def _landed(self, base: int, facts: int, total: int) -> None:
        del self._pending[:facts]
        self._durable += facts
        self._batch_no += 1
        self.head = base + total
        self.state.head_seq = self.head
        self._stop_timer()
        if self._pending:
            self._start_timer()

    async def _append(
        self,
        batch: list[bytes],
        *,
        strict_head: int | None = None,
        transition: Transition | None = None,
    ) -> int:
        """Send one batch until its outcome is known (R3: the identical batch, again)."""
        base = await self._answered(
            lambda: self.store.append(
                self.run_id,
                batch,
                lease=self.lease,
                batch_no=self._batch_no + 1,
                strict_head=strict_head,
                transition=transition,
            )
        )
        if base < self.head:
            raise StoreRegressed(self.run_id, self.head, base)
        return base

    async def _answered[T](self, call: Callable[[], Awaitable[T]]) -> T:
        """Make the identical ``call`` until the store answers, for as long as the lease lasts."""
        delay = 0.02
        while True:
            try:
                return await call()
            except StoreUnavailable as error:
                if self.guard.remaining <= 0:
                    raise LeaseLost(self.run_id, self.lease.worker_id) from error
                _log.warning("no answer from the store about %s: %s", self.run_id, error)
                await asyncio.sleep(delay * (0.5 + random.random()))
                delay = min(delay * 2, 2.0)

    def _fold(self, folded: RecordBase) -> None:
        record = cast(Record, folded)
        fold_unsequenced(self.state, record)
        if self._history is not None:
            self._history.append(record)
        for observer in self.observers:
            observer.add(record)

    def _linger_over(self) -> None:
        self._timer = None
        if not self._pending or self.closed or self._failure is not None:
            return
        if self._flight is None:
            self.commit_soon()
        else:  # what is in the air need not carry these records: look again
            self._start_timer()

    def _start_timer(self) -> None:
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(self._linger, self._linger_over)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _raise_if_unusable(self) -> None:
        if self._failure is not None:
            raise self._failure
        if self.closed:
            raise LeaseLost(self.run_id, self.lease.worker_id)

    def abandon(self) -> None:
        """Write nothing more: the lease is lost, or the Attempt is over."""
        if self._failure is None and not self.closed:
            self._failure = LeaseLost(self.run_id, self.lease.worker_id)
        self._stop_timer()

    async def close(self) -> None:
        """Wait for a write under way; drop what was never sent."""
        self._stop_timer()
        flight = self._flight
        if flight is not None:
            await asyncio.wait({flight})


def _retrieve(task: asyncio.Task[bool]) -> None:
    """Keep asyncio from reporting a failure that the journal has already noted."""
    if not task.cancelled():
        task.exception()
