"""What anybody may do to a Run from outside: interrupt it, send to it, answer what it waits for."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from psych_runtime.engine.resend import until_known
from psych_runtime.engine.settle import settle_unheld
from psych_runtime.errors import (
    GuardFailed,
    InvalidInput,
    RunAlreadySettled,
    RunNotFound,
    RunNotSuspended,
    SuspensionExpired,
)
from psych_runtime.ids import RunId, ToolCallId, new_entry_id
from psych_runtime.log.codec import decode_log, encode
from psych_runtime.log.fold import reduce
from psych_runtime.log.fold.state import RunStateView
from psych_runtime.log.jsonable import to_json_value
from psych_runtime.log.records import AbortRequested, QueueEnqueued, RecordBase, Resumed
from psych_runtime.log.values import QueueKind, SuspendReason, TerminalState, ToolFailure
from psych_runtime.ports.store import External, ExternalResult, Guard, RunHeader, RunState, Store
from psych_runtime.scope import Scope


async def interrupt(
    store: Store,
    run_id: RunId,
    *,
    reason: str = "",
    by: str | None = None,
    scope: Scope | None = None,
) -> None:
    """Stop a Run. A running model call or interruptible tool is cancelled within a second, from
    whichever process; a tool that is not interruptible finishes first. A Run that waits, or that
    nobody has begun, ends at once. On a Run that has ended or is stopping this does nothing.

    Args:
        store: Where the Run lives.
        run_id: The Run.
        reason: Recorded, at most 1,024 characters.
        by: Who asked, at most 256 characters; recorded.
        scope: When given, a Run of another tenant is answered like an unknown one.

    Raises:
        RunNotFound: Unknown Run, or another tenant's.
    """
    header = await _header(store, run_id, scope)
    record = _make(AbortRequested, header, reason=reason, requested_by=by)
    try:
        result = await _append(
            store,
            run_id,
            External(
                bodies=(encode(record),),
                key=new_entry_id(),
                guards=frozenset({Guard.NOT_SETTLED, Guard.NOT_ABORTED}),
                aborts=True,
            ),
        )
    except GuardFailed:
        return
    if result.state is RunState.RUNNABLE:
        await settle_unheld(
            store,
            run_id,
            TerminalState.ABORTED,
            None,
            only_if=frozenset({RunState.RUNNABLE, RunState.SUSPENDED}),
        )


async def send(
    store: Store,
    run_id: RunId,
    *,
    message: dict[str, Any] | str,
    queue: QueueKind = QueueKind.STEER,
    scope: Scope | None = None,
) -> str:
    """Put a message into a Run's queue; return the entry's id.

    ``STEER`` reaches the model at the start of its next turn, ``FOLLOW_UP`` when it would
    otherwise have finished, ``NEXT_RUN`` the Run that is dispatched with ``continues=`` this one.

    Raises:
        RunNotFound: Unknown Run, or another tenant's.
        RunAlreadySettled: It has ended, or (for STEER and FOLLOW_UP) it is stopping.
        UnstorableValueError: The message cannot be represented as JSON.
    """
    header = await _header(store, run_id, scope)
    payload = {"message": message} if isinstance(message, str) else to_json_value(message)
    entry_id = new_entry_id()
    record = _make(QueueEnqueued, header, queue=queue, entry_id=entry_id, payload=payload)
    guards = {Guard.NOT_SETTLED}
    if queue is not QueueKind.NEXT_RUN:
        guards.add(Guard.NOT_ABORTED)
    try:
        await _append(
            store,
            run_id,
            External(bodies=(encode(record),), key=entry_id, guards=frozenset(guards)),
        )
    except GuardFailed as error:
        raise RunAlreadySettled(run_id) from error
    return entry_id


async def resume(
    store: Store,
    run_id: RunId,
    *,
    payload: dict[str, Any] | None = None,
    approved: bool | None = None,
    call_id: ToolCallId | None = None,
    by: str | None = None,
    scope: Scope | None = None,
) -> None:
    """Answer what a Run waits for; a Worker goes on with it.

    Args:
        store: Where the Run lives.
        run_id: The Run.
        payload: The data that the wait asked for.
        approved: The decision, for an approval.
        call_id: Which call is meant; needed when several wait.
        by: Who decided; recorded.
        scope: When given, a Run of another tenant is answered like an unknown one.

    Raises:
        RunNotFound: Unknown Run, or another tenant's.
        RunNotSuspended: It does not wait (any more), or not for this call.
        SuspensionExpired: The answer came too late; the Run has been moved on.
        InvalidInput: Several calls wait and ``call_id`` is missing, or an approval was answered
            without ``approved``.
    """
    header = await _header(store, run_id, scope)
    if header.state is RunState.SETTLED:
        raise RunNotSuspended(run_id, "settled")
    state = reduce(decode_log(run_id, await store.read(run_id)), run_id=run_id)
    wait_id = _pick(state, header, call_id)
    wait = state.waits[wait_id]
    if wait.reason is SuspendReason.APPROVAL and approved is None:
        raise InvalidInput(f"Run {run_id} waits for an approval: pass approved=True or False")
    if await store.now() >= wait.expires_at:
        if wait.reason is not SuspendReason.APPROVAL:
            await settle_unheld(
                store,
                run_id,
                TerminalState.ABANDONED,
                ToolFailure(
                    kind="suspension_expired",
                    message=f"the {wait.reason.value} wait was answered too late",
                ),
            )
        raise SuspensionExpired(run_id, wait.reason.value, wait.expires_at)
    record = _make(
        Resumed,
        header,
        wait_id=wait_id,
        payload=to_json_value(payload or {}),
        approved=approved,
        resumed_by=by,
    )
    try:
        await _append(
            store,
            run_id,
            External(
                bodies=(encode(record),),
                key=new_entry_id(),
                guards=frozenset({Guard.WAIT_OPEN}),
                wait_id=wait_id,
                closes_wait=True,
                wake=True,
            ),
        )
    except GuardFailed as error:
        raise RunNotSuspended(run_id, "running", ": somebody else has answered") from error


async def _append(store: Store, run_id: RunId, external: External) -> ExternalResult:
    return await until_known(lambda: store.append_external(run_id, external))


def _pick(state: RunStateView, header: RunHeader, call_id: ToolCallId | None) -> str:
    open_waits = {wait.wait_id for wait in header.waits}
    waiting = [wait_id for wait_id in state.waits if wait_id in open_waits]
    if call_id is not None:
        if call_id not in waiting:
            raise RunNotSuspended(state.run_id, header.state.value, f", and not for {call_id}")
        return call_id
    if not waiting:
        raise RunNotSuspended(state.run_id, header.state.value)
    if len(waiting) > 1:
        raise InvalidInput(
            f"Run {state.run_id} waits for several answers; pass call_id= with one of "
            + ", ".join(waiting)
        )
    return waiting[0]


async def _header(store: Store, run_id: RunId, scope: Scope | None) -> RunHeader:
    header = await store.get_run(run_id)
    if header is None or (scope is not None and header.scope.tenant != scope.tenant):
        raise RunNotFound(run_id)
    return header


def _make[R: RecordBase](kind: type[R], header: RunHeader, **fields: Any) -> R:
    return kind(
        run_id=header.run_id,
        seq=header.head_seq + 1,
        at=datetime.now(UTC),
        scope=header.scope,
        **fields,
    )
