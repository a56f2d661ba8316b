"""A Run in a list, by its header alone."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from psych_runtime.ids import RunId, VersionHash
from psych_runtime.ports.store import RunHeader, RunState
from psych_runtime.reads.lifecycle import Lifecycle
from psych_runtime.reads.listing import summary_of
from psych_runtime.scope import Scope
from psych_runtime.testing.logs import EPOCH


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"state": RunState.RUNNABLE}, Lifecycle.QUEUED),
        ({"state": RunState.RUNNABLE, "epoch": 1}, Lifecycle.RUNNING),
        ({"state": RunState.RUNNING, "epoch": 1}, Lifecycle.RUNNING),
        ({"state": RunState.SUSPENDED, "epoch": 1}, Lifecycle.WAITING),
        ({"state": RunState.SUSPENDED, "epoch": 1, "aborted": True}, Lifecycle.STOPPING),
        ({"state": RunState.RUNNING, "epoch": 1, "aborted": True}, Lifecycle.STOPPING),
        ({"state": RunState.SETTLED, "terminal_state": "completed"}, Lifecycle.DONE),
        ({"state": RunState.SETTLED, "terminal_state": "failed"}, Lifecycle.FAILED),
        (
            {"state": RunState.SETTLED, "terminal_state": "aborted", "aborted": True},
            Lifecycle.STOPPED,
        ),
        ({"state": RunState.SETTLED}, Lifecycle.FAILED),
    ],
)
def test_the_lifecycle_of_a_header(fields: dict[str, Any], expected: Lifecycle) -> None:
    header = RunHeader(
        run_id=RunId("run_a"),
        scope=Scope(tenant="acme"),
        version_hash=VersionHash("v"),
        created_at=EPOCH,
        deadline_at=EPOCH + timedelta(minutes=15),
        **fields,
    )
    summary = summary_of(header)
    assert summary.lifecycle is expected
    assert summary.terminal_state == fields.get("terminal_state")
