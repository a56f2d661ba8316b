"""What to show a person about where a Run stands."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from psych_runtime.log.values import TerminalState
from psych_runtime.ports.store import RunHeader, RunState


class Lifecycle(StrEnum):
    """Where a Run stands, in one word."""

    QUEUED = "queued"
    """No Attempt yet."""
    RUNNING = "running"
    """At work, or ready for a Worker to go on with it."""
    WAITING = "waiting"
    """Suspended until something happens."""
    STOPPING = "stopping"
    """Somebody asked it to stop, and it has not ended yet."""
    DONE = "done"
    """Completed."""
    FAILED = "failed"
    """Failed."""
    STOPPED = "stopped"
    """Aborted, abandoned or force-settled."""


SETTLED_LIFECYCLE: Mapping[TerminalState, Lifecycle] = MappingProxyType(
    {
        TerminalState.COMPLETED: Lifecycle.DONE,
        TerminalState.FAILED: Lifecycle.FAILED,
        TerminalState.ABORTED: Lifecycle.STOPPED,
        TerminalState.ABANDONED: Lifecycle.STOPPED,
        TerminalState.FORCE_SETTLED: Lifecycle.STOPPED,
    }
)
"""The `Lifecycle` of each ending."""


def lifecycle_of_header(header: RunHeader) -> Lifecycle:
    """Return where a Run stands by its header alone, without reading its log."""
    if header.state is RunState.SETTLED:
        if header.terminal_state is None:
            return Lifecycle.FAILED
        return SETTLED_LIFECYCLE[TerminalState(header.terminal_state)]
    if header.aborted:
        return Lifecycle.STOPPING
    if header.state is RunState.SUSPENDED:
        return Lifecycle.WAITING
    if header.epoch == 0:
        return Lifecycle.QUEUED
    return Lifecycle.RUNNING
