"""What has to happen to Runs by themselves: deadlines, expiries, timers, undelivered duties."""

from __future__ import annotations

import logging
from datetime import UTC, datetime

from psych_runtime.engine.settle import corrupt_failure, settle_unheld
from psych_runtime.errors import GuardFailed, PsychError, RunNotFound, SeqConflict
from psych_runtime.log.codec import decode_log, encode
from psych_runtime.log.corruption import CorruptLog
from psych_runtime.log.fold import reduce
from psych_runtime.log.records import Resumed, WaitExpired
from psych_runtime.log.values import SuspendReason, TerminalState, ToolFailure
from psych_runtime.ports.store import (
    Due,
    DueKind,
    External,
    Guard,
    OpenWait,
    RunHeader,
    Store,
)

_log = logging.getLogger("psych_runtime.engine.supervisor")


async def supervise(store: Store, limit: int = 100) -> int:
    """Handle everything that is due, once; return how many Runs were looked at.

    Two supervisors may do this at the same time: every write is guarded. A failure on one Run is
    logged and does not keep the others waiting.
    """
    due = await store.due(limit)
    for item in due:
        try:
            await _handle(store, item)
        except CorruptLog as error:
            await settle_unheld(
                store, item.header.run_id, TerminalState.FAILED, corrupt_failure(error)
            )
        except PsychError as error:
            _log.warning("%s of Run %s: %s", item.kind, item.header.run_id, error)
        except Exception:
            _log.exception("%s of Run %s", item.kind, item.header.run_id)
    return len(due)


async def _handle(store: Store, item: Due) -> None:
    header = item.header
    if item.kind is DueKind.DEADLINE:
        await settle_unheld(
            store,
            header.run_id,
            TerminalState.ABORTED,
            ToolFailure(kind="deadline", message="the Run ran past its deadline"),
        )
    elif item.kind is DueKind.ABORTED:
        await settle_unheld(store, header.run_id, TerminalState.ABORTED, None)
    elif item.kind is DueKind.OUTBOX:
        await deliver_outbox(store, header)
    else:
        now = await store.now()
        for wait in header.waits:
            if item.kind is DueKind.TIMER and wait.wake_at is not None and wait.wake_at <= now:
                await _wake(store, header, wait)
            elif item.kind is DueKind.WAIT_EXPIRED and wait.expires_at <= now:
                await expire(store, header, wait)


async def _wake(store: Store, header: RunHeader, wait: OpenWait) -> None:
    record = Resumed(
        run_id=header.run_id,
        seq=header.head_seq + 1,
        at=datetime.now(UTC),
        scope=header.scope,
        wait_id=wait.wait_id,
        payload={"woken_by": "timer"},
    )
    await _close_wait(store, header, wait, encode(record), f"timer:{wait.wait_id}")


async def expire(store: Store, header: RunHeader, wait: OpenWait) -> None:
    """End a wait that nobody answered: an approval is denied and the Run goes on; any other wait
    abandons the Run.
    """
    state = reduce(decode_log(header.run_id, await store.read(header.run_id)), run_id=header.run_id)
    open_wait = state.waits.get(wait.wait_id)
    if open_wait is None:
        return
    denies = open_wait.reason is SuspendReason.APPROVAL
    record = WaitExpired(
        run_id=header.run_id,
        seq=header.head_seq + 1,
        at=datetime.now(UTC),
        scope=header.scope,
        wait_id=wait.wait_id,
        reason=open_wait.reason,
        action="deny" if denies else "abandon",
    )
    if denies:
        await _close_wait(store, header, wait, encode(record), f"expired:{wait.wait_id}")
    else:
        await settle_unheld(
            store,
            header.run_id,
            TerminalState.ABANDONED,
            ToolFailure(
                kind="suspension_expired",
                message=f"nobody answered the {open_wait.reason.value} wait in time",
            ),
            expired=record,
        )


async def _close_wait(
    store: Store, header: RunHeader, wait: OpenWait, body: bytes, key: str
) -> None:
    try:
        await store.append_external(
            header.run_id,
            External(
                bodies=(body,),
                key=key,
                guards=frozenset({Guard.WAIT_OPEN}),
                wait_id=wait.wait_id,
                closes_wait=True,
                wake=True,
            ),
        )
    except (GuardFailed, SeqConflict, RunNotFound):
        _log.debug("wait %s of %s was closed by somebody else", wait.wait_id, header.run_id)


async def deliver_outbox(store: Store, header: RunHeader) -> None:
    """Deliver every duty recorded on ``header`` and clear it."""
    for entry in header.outbox:
        try:
            await store.append_external(
                entry.target_run_id, External(bodies=(entry.body,), key=entry.key, wake=True)
            )
        except (GuardFailed, RunNotFound) as error:
            _log.info("duty %s of %s has no taker: %s", entry.key, header.run_id, error)
        await store.append_external(
            header.run_id,
            External(bodies=(), key=f"delivered:{entry.key}", clears_outbox=entry.key),
        )
