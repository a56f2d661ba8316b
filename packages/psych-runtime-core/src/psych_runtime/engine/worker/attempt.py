"""One Attempt: a claimed Run, from opening its log to releasing it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from psych_runtime.engine.closing import closing_records
from psych_runtime.engine.journal import DEFAULT_LINGER_SECONDS, DecisionDropped, Journal
from psych_runtime.engine.lease import LeaseGuard
from psych_runtime.engine.settle import corrupt_failure
from psych_runtime.engine.signals import AbortReason, AbortSignal
from psych_runtime.errors import (
    LeaseLost,
    SeqConflict,
    StoreError,
    StoreRegressed,
    StoreUnavailable,
)
from psych_runtime.ids import AttemptId, RunId, new_attempt_id
from psych_runtime.log.codec import decode_log, encode
from psych_runtime.log.corruption import CorruptLog
from psych_runtime.log.fold import reduce
from psych_runtime.log.records import AbortRequested, AttemptStarted, Record, RunSettled
from psych_runtime.log.values import TerminalState, ToolFailure
from psych_runtime.ports.store import Claim, Lease, RunHeader, RunState, Store, Transition

_log = logging.getLogger("psych_runtime.engine.worker")

AttemptRunner = Callable[[Journal, RunHeader, AbortSignal], Awaitable[None]]
"""Executes a Run for one Attempt: usually a `Runtime`. It returns once the journal is closed, or
when the Run is to be handed back; an exception settles the Run as failed."""


@dataclass(frozen=True, slots=True)
class AttemptSettings:
    """What every Attempt of a Worker shares."""

    store: Store
    runner: AttemptRunner
    guard: LeaseGuard
    grace_seconds: float
    max_attempts: int
    linger_seconds: float = DEFAULT_LINGER_SECONDS
    now: Callable[[], datetime] | None = None


class Attempt:
    """Executes one claim. `run` never raises, except when cancelled."""

    def __init__(self, settings: AttemptSettings, claim: Claim) -> None:
        self.settings = settings
        self.claim = claim
        self.header = claim.header
        self.abort = AbortSignal()
        self.attempt_id: AttemptId = new_attempt_id()
        self.journal: Journal | None = None
        self.task: asyncio.Task[None] | None = None
        self._timers: list[asyncio.TimerHandle] = []
        self._forcing: asyncio.Task[None] | None = None

    @property
    def run_id(self) -> RunId:
        """The Run."""
        return self.header.run_id

    @property
    def _lease(self) -> Lease:
        session = self.settings.guard.session
        return Lease(session.session_id, session.worker_id, self.header.epoch)

    async def run(self) -> None:
        """Open, execute and release the Run."""
        try:
            await self._open_and_execute()
        except CorruptLog as error:
            _log.error("the log of %s is refused: %s", self.run_id, error)
            if self.journal is not None:  # its batch and ours must not be taken for one another
                self.journal.abandon()
                await self.journal.close()
            await self._settle_corrupt(error)
        except (LeaseLost, SeqConflict) as error:
            _log.info("attempt on %s ends: %s", self.run_id, error)
        except StoreError as error:
            _log.warning("attempt on %s ends, it will be taken up again: %s", self.run_id, error)
        finally:
            for timer in self._timers:
                timer.cancel()
            if self.journal is not None:
                self.journal.abandon()
                await self.journal.close()

    async def _open_and_execute(self) -> None:
        stored = self.claim.log
        if stored is None or (stored[-1].seq if stored else 0) != self.header.head_seq:
            stored = tuple(await self.settings.store.read(self.run_id))
        records = decode_log(self.run_id, stored)
        state = reduce(records, run_id=self.run_id)
        journal = self.journal = Journal(
            self.settings.store,
            self.header,
            state,
            lease=self._lease,
            guard=self.settings.guard,
            attempt_id=self.attempt_id,
            history=records,
            linger_seconds=self.settings.linger_seconds,
            now=self.settings.now,
            on_absorbed=self._on_absorbed,
            on_failed=self._on_failed,
        )
        if self.header.crashes > self.settings.max_attempts:
            await self._settle(
                TerminalState.FAILED,
                ToolFailure(
                    kind="attempts_exhausted",
                    message=f"{self.header.crashes} processes died while executing this Run",
                ),
            )
            return
        journal.write(
            AttemptStarted,
            worker_id=self._lease.worker_id,
            attempt_number=state.attempt_count + 1,
            reclaimed_expired_lease=self.claim.reclaimed,
            epoch=self.header.epoch,
        )
        if state.aborted:
            self.abort.fire(AbortReason.INTERRUPT)
        self._arm_deadline()
        try:
            await self.settings.runner(journal, self.header, self.abort)
        except (CorruptLog, LeaseLost, SeqConflict, StoreUnavailable, StoreRegressed):
            raise
        except Exception as error:
            _log.exception("attempt on %s failed", self.run_id)
            await self._settle(
                TerminalState.FAILED,
                ToolFailure(
                    kind="attempt_failed",
                    message=f"{type(error).__name__}: {error}",
                    traceback="".join(traceback.format_exception(error))[-65536:],
                ),
            )
            return
        if not journal.closed and self.abort.writes_allowed:
            await self._hand_back()

    def _on_absorbed(self, record: Record) -> None:
        if isinstance(record, AbortRequested):
            self.abort.fire(AbortReason.INTERRUPT)

    def _on_failed(self, error: BaseException) -> None:
        """Nothing can be written any more: nothing more may run."""
        self.abort.fire(AbortReason.LEASE_LOST)

    def absorb_soon(self) -> None:
        """Look at what others wrote to the Run, in a task of its own."""
        if self.journal is None or self.journal.closed:
            return
        task = asyncio.get_running_loop().create_task(self._absorb())
        _background.add(task)
        task.add_done_callback(_background.discard)

    async def _absorb(self) -> None:
        assert self.journal is not None
        with contextlib.suppress(StoreError, LeaseLost, CorruptLog):
            await self.journal.absorb()

    # -- releasing ----------------------------------------------------------------------------

    async def _hand_back(self) -> None:
        assert self.journal is not None
        while not self.journal.closed:
            with contextlib.suppress(DecisionDropped):
                await self.journal.decide(transition=Transition(RunState.RUNNABLE))

    async def _settle(
        self,
        terminal: TerminalState,
        failure: ToolFailure | None,
        orphaned: AttemptId | None = None,
    ) -> None:
        """End the Run; calls that are still open are answered first."""
        journal = self.journal
        assert journal is not None
        while not journal.closed:
            for kind, fields in closing_records(journal.state, f"the Run ended {terminal.value}"):
                journal.write(kind, **fields)
            with contextlib.suppress(DecisionDropped):
                await journal.decide(
                    journal.make(
                        RunSettled,
                        state=terminal,
                        failure=failure,
                        orphaned_attempt_id=orphaned,
                    ),
                    transition=Transition(RunState.SETTLED, terminal_state=terminal.value),
                )

    async def _settle_corrupt(self, error: CorruptLog) -> None:
        """Settle a Run whose log cannot be folded: appended unfolded, so that nothing waits."""
        header = await self.settings.store.get_run(self.run_id)
        if header is None or header.state is RunState.SETTLED:
            return
        settled = RunSettled(
            run_id=self.run_id,
            seq=header.head_seq + 1,
            at=datetime.now(UTC),
            scope=header.scope,
            attempt_id=self.attempt_id,
            state=TerminalState.FAILED,
            failure=corrupt_failure(error),
        )
        with contextlib.suppress(LeaseLost, StoreError):
            await self.settings.store.append(
                self.run_id,
                [encode(settled)],
                lease=self._lease,
                batch_no=header.batch_no + 1,
                strict_head=header.head_seq,
                transition=Transition(RunState.SETTLED, terminal_state=TerminalState.FAILED.value),
            )

    # -- the deadline -------------------------------------------------------------------------

    def _arm_deadline(self) -> None:
        lease_ends = self.header.lease_expires_at
        assert lease_ends is not None
        store_now = lease_ends - timedelta(seconds=self.settings.guard.session.lease_seconds)
        seconds = (self.header.deadline_at - store_now).total_seconds()
        loop = asyncio.get_running_loop()
        self._timers.append(loop.call_later(max(seconds, 0.0), self._deadline_passed))

    def _deadline_passed(self) -> None:
        self.abort.fire(AbortReason.DEADLINE)
        loop = asyncio.get_running_loop()
        self._timers.append(loop.call_later(self.settings.grace_seconds, self._force))

    def _force(self) -> None:
        """The grace is over: settle over whatever does not end."""
        if self.journal is None or self.journal.closed:
            return
        self._forcing = asyncio.get_running_loop().create_task(self._force_settle())

    async def _force_settle(self) -> None:
        failure = ToolFailure(
            kind="force_settled",
            message=f"work went on for {self.settings.grace_seconds:g} s after the deadline",
        )
        try:
            await self._settle(TerminalState.FORCE_SETTLED, failure, orphaned=self.attempt_id)
        except (LeaseLost, StoreError, CorruptLog) as error:
            _log.warning("%s could not be force-settled: %s", self.run_id, error)
        if self.task is not None:
            self.task.cancel()


_background: set[asyncio.Task[None]] = set()
