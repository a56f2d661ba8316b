"""Identifiers: the NewTypes and the two ways one is made."""

from __future__ import annotations

import hashlib
import os
import time
from typing import NewType

RunId = NewType("RunId", str)
"""A Run."""
StepId = NewType("StepId", str)
"""A workflow step at one position of one Run; derived, never random."""
AttemptId = NewType("AttemptId", str)
"""One pass of work on a Run."""
WorkerId = NewType("WorkerId", str)
"""A Worker."""
ToolCallId = NewType("ToolCallId", str)
"""A tool call, unique in its Run."""
VersionHash = NewType("VersionHash", str)
"""A Version: ``sha256:`` and the hex digest of its canonical bytes."""


def _new_id(prefix: str) -> str:
    """Return ``prefix_`` + 12 hex digits of millisecond time + 24 random hex digits."""
    return f"{prefix}_{int(time.time() * 1000) & 0xFFFFFFFFFFFF:012x}{os.urandom(12).hex()}"


def new_run_id() -> RunId:
    """Make a Run id (``run_…``). Ids made later sort later, to the millisecond."""
    return RunId(_new_id("run"))


def new_attempt_id() -> AttemptId:
    """Make an Attempt id (``att_…``)."""
    return AttemptId(_new_id("att"))


def new_worker_id() -> WorkerId:
    """Make a Worker id (``wrk_…``)."""
    return WorkerId(_new_id("wrk"))


def new_call_id() -> ToolCallId:
    """Make a tool call id (``call_…``)."""
    return ToolCallId(_new_id("call"))


def new_entry_id() -> str:
    """Make a queue entry id (``qe_…``)."""
    return _new_id("qe")


def derive_step_id(run_id: RunId, path: tuple[str | int, ...]) -> StepId:
    """Return the id of the step at ``path`` of a Run: the same inputs always give the same id."""
    digest = hashlib.sha256(run_id.encode())
    for element in path:
        tag = b"i" if isinstance(element, int) else b"s"
        digest.update(b"\x1f" + tag + str(element).encode())
    return StepId(f"stp_{digest.hexdigest()[:32]}")


def derive_run_id(parent: RunId, call_id: str) -> RunId:
    """Return the id of the child Run that ``call_id`` of ``parent`` starts, so that recovery
    admits the same child again instead of another one.
    """
    digest = hashlib.sha256(f"{parent}\x1f{call_id}".encode()).hexdigest()
    return RunId(f"run_{digest[:36]}")
