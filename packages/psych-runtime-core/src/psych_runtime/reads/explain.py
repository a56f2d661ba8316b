"""Why a Run is where it is: what it waits for, who holds it, and what would move it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Literal

from psych_runtime.ids import RunId, StepId, ToolCallId, WorkerId
from psych_runtime.log.corruption import CorruptLog
from psych_runtime.log.fold.entries import OpenWait
from psych_runtime.log.fold.state import RunStateView
from psych_runtime.log.values import SuspendReason
from psych_runtime.ports.store import RunHeader, RunState
from psych_runtime.reads.lifecycle import Lifecycle, lifecycle_of_header
from psych_runtime.reads.model import ReadModel
from psych_runtime.reads.status import lifecycle_of

DueWhat = Literal["deadline", "lease", "wait_expires", "wakes", "step_retry"]


class WaitExplanation(ReadModel):
    """One open wait, in words. Times are UTC."""

    wait_id: str
    reason: SuspendReason | None
    """None when only the header is readable."""
    waiting_for: str
    """What it waits for."""
    moved_by: str
    """What would end it."""
    call_id: ToolCallId | None = None
    step_id: StepId | None = None
    expires_at: datetime
    wake_at: datetime | None = None


class NextDue(ReadModel):
    """The next thing that happens to the Run by the clock alone."""

    at: datetime
    """UTC; in the past when it is overdue."""
    what: DueWhat
    detail: str
    """In words."""


class Explanation(ReadModel):
    """Why a Run is where it is. Times are UTC."""

    run_id: RunId
    lifecycle: Lifecycle
    state: RunState
    """What the header says about who may work on it."""
    summary: str
    """The answer in one or two sentences."""
    waits: tuple[WaitExplanation, ...] = ()
    """What it waits for, oldest first."""
    doing: tuple[str, ...] = ()
    """What is under way, or was when the last Worker left it."""
    held_by: WorkerId | None = None
    """The Worker that holds it."""
    held_until: datetime | None = None
    """When another Worker may take it, unless the holder renews."""
    lease_lapsed: bool = False
    """That time has passed."""
    moved_by: tuple[str, ...] = ()
    """What would move the Run on."""
    next_due: NextDue | None = None
    """What the clock does next; None when nothing is due."""
    deadline_at: datetime
    attempt_count: int = 0
    crashes: int = 0
    """How often it was taken from a Worker that had died."""
    undelivered_to: tuple[RunId, ...] = ()
    """Runs that this one still has to tell something."""
    corruption: str | None = None
    """What is wrong with the log, if it cannot be read."""


def explanation_of(
    header: RunHeader,
    state: RunStateView | None,
    *,
    now: datetime,
    corruption: CorruptLog | None = None,
) -> Explanation:
    """Explain a Run.

    Args:
        header: Its header.
        state: Its folded log; None when the log cannot be read.
        now: The store's time (UTC).
        corruption: Why the log cannot be read.
    """
    waits = _waits(header, state)
    lapsed = (
        header.state is RunState.RUNNING
        and header.lease_expires_at is not None
        and header.lease_expires_at <= now
    )
    return Explanation(
        run_id=header.run_id,
        lifecycle=lifecycle_of(state, header) if state else lifecycle_of_header(header),
        state=header.state,
        summary=_summary(header, state, waits, lapsed, corruption),
        waits=waits,
        doing=_doing(state),
        held_by=header.lease_holder,
        held_until=header.lease_expires_at,
        lease_lapsed=lapsed,
        moved_by=_moved_by(header, state, waits, lapsed),
        next_due=_next_due(header, state, waits),
        deadline_at=header.deadline_at,
        attempt_count=header.attempt_count,
        crashes=header.crashes,
        undelivered_to=tuple(dict.fromkeys(entry.target_run_id for entry in header.outbox)),
        corruption=str(corruption) if corruption else None,
    )


def _waits(header: RunHeader, state: RunStateView | None) -> tuple[WaitExplanation, ...]:
    if header.state is RunState.SETTLED:
        return ()
    if state is not None:
        return tuple(_explained(each) for each in state.waits.values())
    return tuple(
        WaitExplanation(
            wait_id=each.wait_id,
            reason=None,
            waiting_for=f"wait {each.wait_id}",
            moved_by="an answer to it",
            expires_at=each.expires_at,
            wake_at=each.wake_at,
        )
        for each in header.waits
    )


def _explained(wait: OpenWait) -> WaitExplanation:
    waiting_for, moved_by = _words(wait)
    return WaitExplanation(
        wait_id=wait.wait_id,
        reason=wait.reason,
        waiting_for=waiting_for,
        moved_by=moved_by,
        call_id=wait.call_id,
        step_id=wait.step_id,
        expires_at=wait.expires_at,
        wake_at=wait.wake_at,
    )


def _words(wait: OpenWait) -> tuple[str, str]:
    step = f"step {wait.step_name!r}" if wait.step_name else "a step"
    which = f" for call {wait.call_id}" if wait.call_id else ""
    match wait.reason:
        case SuspendReason.APPROVAL:
            what = wait.tool or wait.question or wait.step_name or wait.wait_id
            return f"a person's approval of {what}", f"resume(approved=True or False){which}"
        case SuspendReason.QUESTION:
            return (
                f"a person's answer to: {wait.question or wait.wait_id}",
                f"resume(payload={{'answer': …}}){which}",
            )
        case SuspendReason.EXTERNAL:
            return (
                f"the event {wait.event!r} for {step}",
                "resume(payload=…) with what the event brings",
            )
        case SuspendReason.TIMER:
            when = wait.wake_at.isoformat() if wait.wake_at else "its time"
            return f"a timer of {step}, until {when}", f"the clock, at {when}"
        case SuspendReason.BREAKPOINT:
            return f"somebody at the breakpoint before {step}", "resume()"
        case SuspendReason.CHILDREN:
            return "its child Runs to finish", "the end of a child Run"


def _doing(state: RunStateView | None) -> tuple[str, ...]:
    if state is None or state.settled:
        return ()
    doing = ["a model call"] if state.model_call_open else []
    doing += [
        f"tool {call.tool} ({call.call_id})"
        for call in state.open_tool_calls.values()
        if call.call_id not in state.waits
    ]
    doing += [f"child Run {child.run_id} ({child.name})" for child in state.live_children]
    return tuple(doing)


def _summary(
    header: RunHeader,
    state: RunStateView | None,
    waits: tuple[WaitExplanation, ...],
    lapsed: bool,
    corruption: CorruptLog | None,
) -> str:
    if corruption is not None:
        ended = " It is settled." if header.state is RunState.SETTLED else ""
        return f"Its log cannot be read: {corruption}.{ended}"
    if header.state is RunState.SETTLED:
        failure = state.failure if state else None
        detail = f": {failure.kind}: {failure.message}" if failure else "."
        return f"It ended {header.terminal_state or 'without a recorded ending'}{detail}"
    if header.state is RunState.RUNNING:
        who = f"Worker {header.lease_holder}"
        if lapsed:
            return f"{who} held it and has not renewed its lease; any Worker may take it."
        stopping = " It was asked to stop." if header.aborted else ""
        return f"{who} is at work on it.{stopping}"
    if header.aborted:
        return "It was asked to stop, and waits for a Worker or a supervisor to end it."
    if header.state is RunState.SUSPENDED:
        if not waits:
            return "It is parked until a time that only its store knows."
        return f"It waits for {_all(each.waiting_for for each in waits)}."
    if state is not None and state.paused:
        return "An operator has paused it."
    begun = "go on with it" if header.epoch else "begin it"
    return f"It is ready; it needs a Worker to {begun}."


def _moved_by(
    header: RunHeader,
    state: RunStateView | None,
    waits: tuple[WaitExplanation, ...],
    lapsed: bool,
) -> tuple[str, ...]:
    if header.state is RunState.SETTLED:
        return ()
    if header.state is RunState.RUNNING and not lapsed:
        moves = [f"the work of {header.lease_holder}"]
    elif header.state is RunState.SUSPENDED and not header.aborted:
        moves = [each.moved_by for each in waits]
    elif state is not None and state.paused and not header.aborted:
        moves = ["an operator who lets it go on"]
    else:
        moves = ["a Worker that claims it"]
        if header.concurrency_key is not None:
            moves.append(
                f"the end of every earlier Run with concurrency key {header.concurrency_key!r}"
            )
    if not header.aborted:
        moves.append("interrupt(), which ends it")
    return tuple(moves)


def _next_due(
    header: RunHeader, state: RunStateView | None, waits: tuple[WaitExplanation, ...]
) -> NextDue | None:
    if header.state is RunState.SETTLED:
        return None
    due: list[NextDue] = []
    for each in waits:
        if each.wake_at is not None:
            due.append(NextDue(at=each.wake_at, what="wakes", detail=f"{each.wait_id} wakes"))
        detail = f"{each.wait_id} expires: {each.waiting_for}"
        due.append(NextDue(at=each.expires_at, what="wait_expires", detail=detail))
    if header.state is RunState.RUNNING and header.lease_expires_at is not None:
        detail = f"the lease of {header.lease_holder} lapses unless it renews"
        due.append(NextDue(at=header.lease_expires_at, what="lease", detail=detail))
    if header.state is not RunState.SUSPENDED:
        detail = "the Run is over its time and is stopped"
        due.append(NextDue(at=header.deadline_at, what="deadline", detail=detail))
    for step in state.steps.values() if state else ():
        if step.will_retry and step.retry_at is not None:
            detail = f"step {step.name!r} is tried again"
            due.append(NextDue(at=step.retry_at, what="step_retry", detail=detail))
    return min(due, key=lambda each: each.at, default=None)


def _all(parts: Iterable[str]) -> str:
    return "; and for ".join(parts)
