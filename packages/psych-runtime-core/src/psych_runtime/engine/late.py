"""Results that arrive after their call was settled."""

from __future__ import annotations

import contextlib
import logging

from psych_runtime.engine.journal import Journal
from psych_runtime.errors import LeaseLost, PsychError
from psych_runtime.ids import ToolCallId
from psych_runtime.log.codec import decode_log, encode
from psych_runtime.log.fold import check, reduce
from psych_runtime.log.records import ToolResultLate
from psych_runtime.ports.store import External
from psych_runtime.tools.execution import CallResult

_log = logging.getLogger("psych_runtime.engine.late")


async def write_late_result(journal: Journal, call_id: ToolCallId, result: CallResult) -> None:
    """Append a late result to the Run if it still runs; otherwise only log that there was one.

    The call's start must be durable by then: the record would contradict the log otherwise.
    """
    record = ToolResultLate(
        run_id=journal.run_id,
        seq=max(journal.head, 1),
        at=journal.now(),
        scope=journal.header.scope,
        call_id=call_id,
        outcome=result.outcome,
        result=result.result,
        failure=result.failure,
        duration_seconds=result.duration_seconds,
    )
    try:
        with contextlib.suppress(LeaseLost):
            await journal.commit()
        stored = await journal.store.read(journal.run_id)
        check(reduce(decode_log(journal.run_id, stored), run_id=journal.run_id), record)
        await journal.store.append_external(
            journal.run_id, External(bodies=(encode(record),), key=f"late:{call_id}")
        )
    except PsychError as error:
        _log.warning("the late result of call %s was not recorded: %s", call_id, error)
