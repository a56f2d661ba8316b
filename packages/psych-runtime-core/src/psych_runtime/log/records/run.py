"""Records about a Run as a whole: its beginning, its Attempts, its end."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import AwareDatetime, Field

from psych_runtime.ids import AttemptId, RunId, VersionHash, WorkerId
from psych_runtime.log.records.base import RecordBase
from psych_runtime.log.values import TerminalState, ToolFailure


class RunAdmitted(RecordBase):
    """The Run exists. Always record 1, and the only stored record that carries the Scope."""

    type: Literal["run_admitted"] = "run_admitted"
    version_hash: VersionHash
    """Pinned for the Run's life."""
    name: str = ""
    """The Spec's name."""
    input: dict[str, Any] = Field(default_factory=dict)
    idempotency_key: str | None = Field(default=None, max_length=256)
    deadline_at: AwareDatetime
    """Absolute; time spent waiting is added to it."""
    priority: int = 0
    """Higher is claimed first within a tenant."""
    concurrency_key: str | None = Field(default=None, max_length=256)
    """Runs of one tenant with the same key execute one at a time."""
    parent_run_id: RunId | None = None
    """The Run that delegated to this one."""
    delegation_depth: int = Field(default=0, ge=0)
    replays_run_id: RunId | None = None
    """Source of a workflow replay."""
    replay_from_step: str | None = Field(default=None, max_length=128)
    breakpoints: tuple[str, ...] = ()
    """Names of steps to pause before."""
    step_mode: bool = False
    """Pause before every step."""
    continues_run_id: RunId | None = None
    """The previous Run of the conversation."""
    forked_from_run_id: RunId | None = None
    """The Run whose log up to ``forked_at_seq`` this one starts from."""
    forked_at_seq: int | None = Field(default=None, ge=1)


class AttemptStarted(RecordBase):
    """A Worker took the Run up. Whatever turn or model call was open is over."""

    type: Literal["attempt_started"] = "attempt_started"
    worker_id: WorkerId
    attempt_number: int = Field(ge=1)
    """One more than the previous."""
    epoch: int = Field(default=0, ge=0)
    """The store's fence for this Attempt."""
    reclaimed_expired_lease: bool = False
    """The previous Attempt's process went away; one model call may be unreported."""


class AbortRequested(RecordBase):
    """Somebody asked the Run to stop."""

    type: Literal["abort_requested"] = "abort_requested"
    reason: str = Field(default="", max_length=1024)
    requested_by: str | None = Field(default=None, max_length=256)


class RunPaused(RecordBase):
    """An operator holds the Run back at its next safe point."""

    type: Literal["run_paused"] = "run_paused"
    by: str | None = Field(default=None, max_length=256)
    reason: str = Field(default="", max_length=1024)


class RunUnpaused(RecordBase):
    """An operator lets the Run go on."""

    type: Literal["run_unpaused"] = "run_unpaused"
    by: str | None = Field(default=None, max_length=256)
    reason: str = Field(default="", max_length=1024)


class RunSettled(RecordBase):
    """The Run has ended. Always the last record."""

    type: Literal["run_settled"] = "run_settled"
    state: TerminalState
    output: dict[str, Any] | None = None
    """``{"text": …}`` for an agent, the mapped outputs for a workflow."""
    failure: ToolFailure | None = None
    orphaned_attempt_id: AttemptId | None = None
    """The Attempt whose work did not unwind, when force-settled."""
