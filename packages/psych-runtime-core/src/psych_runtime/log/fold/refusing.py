"""How a handler refuses a record."""

from __future__ import annotations

from typing import NoReturn

from psych_runtime.log.corruption import CorruptionReason, CorruptLog
from psych_runtime.log.records import RecordBase

MULTIPLE_OPEN = CorruptionReason.MULTIPLE_OPEN_OPERATIONS
UNKNOWN = CorruptionReason.UNKNOWN_OPERATION
NON_CONSECUTIVE = CorruptionReason.NON_CONSECUTIVE_ATTEMPT


def refuse(record: RecordBase, reason: CorruptionReason, detail: str) -> NoReturn:
    """Raise `CorruptLog` for ``record``."""
    raise CorruptLog(reason, record.run_id, record.seq, f"{record.type}: {detail}")
