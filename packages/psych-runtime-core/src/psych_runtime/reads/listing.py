"""One line per Run, from headers alone."""

from __future__ import annotations

from datetime import datetime

from psych_runtime.ids import RunId, VersionHash, WorkerId
from psych_runtime.log.values import TerminalState
from psych_runtime.ports.store import OpenWait, RunHeader
from psych_runtime.reads.lifecycle import Lifecycle, lifecycle_of_header
from psych_runtime.reads.model import ReadModel
from psych_runtime.scope import Scope


class RunSummary(ReadModel):
    """A Run as a list shows it. All times are UTC."""

    run_id: RunId
    scope: Scope
    version_hash: VersionHash
    name: str
    """The Spec's name."""
    lifecycle: Lifecycle
    terminal_state: TerminalState | None = None
    created_at: datetime
    settled_at: datetime | None = None
    deadline_at: datetime
    suspended_at: datetime | None = None
    waits: tuple[OpenWait, ...] = ()
    """What it waits for, oldest first."""
    lease_holder: WorkerId | None = None
    """The Worker at it."""
    attempt_count: int = 0
    """How often a Worker took it."""
    crashes: int = 0
    """How often it was taken from a Worker that had died."""
    head_seq: int = 0
    """The seq of its last Record."""
    priority: int = 0
    parent_run_id: RunId | None = None
    continues_run_id: RunId | None = None
    purged: bool = False
    """Its log is gone."""


class RunsPage(ReadModel):
    """One page of Runs, newest first."""

    runs: tuple[RunSummary, ...] = ()
    cursor: str | None = None
    """Pass it on for the next page; None at the end."""


def summary_of(header: RunHeader) -> RunSummary:
    """Return the line that a list shows for this Run."""
    ending = header.terminal_state
    return RunSummary(
        run_id=header.run_id,
        scope=header.scope,
        version_hash=header.version_hash,
        name=header.name,
        lifecycle=lifecycle_of_header(header),
        terminal_state=TerminalState(ending) if ending is not None else None,
        created_at=header.created_at,
        settled_at=header.settled_at,
        deadline_at=header.deadline_at,
        suspended_at=header.suspended_at,
        waits=header.waits,
        lease_holder=header.lease_holder,
        attempt_count=header.attempt_count,
        crashes=header.crashes,
        head_seq=header.head_seq,
        priority=header.priority,
        parent_run_id=header.parent_run_id,
        continues_run_id=header.continues_run_id,
        purged=header.purged,
    )
