"""The error for a log that the protocol could not have produced."""

from __future__ import annotations

from enum import StrEnum

from psych_runtime.errors import PsychError
from psych_runtime.ids import RunId


class CorruptionReason(StrEnum):
    """What is impossible about a log."""

    MULTIPLE_OPEN_OPERATIONS = "multiple_open_operations"
    """Two operations are open at once, or one was opened twice."""
    UNKNOWN_OPERATION = "unknown_operation"
    """A record refers to something that never started, or to another Run or tenant."""
    RECORD_AFTER_FINISH = "record_after_finish"
    """A record follows the settlement."""
    NON_CONSECUTIVE_SEQ = "non_consecutive_seq"
    """The sequence has a gap or a repetition."""
    NON_CONSECUTIVE_ATTEMPT = "non_consecutive_attempt"
    """Attempt, turn or step-attempt numbers skip."""
    QUEUE_AFTER_ABORT = "queue_after_abort"
    """A steer or follow-up was accepted after an abort."""
    INVALID_QUEUE_CANCELLATION = "invalid_queue_cancellation"
    """There is nothing pending to cancel."""
    INCONSISTENT_STEP = "inconsistent_step"
    """A step completes unstarted or twice, or starts again after it completed."""
    TOOL_CALL_MISMATCH = "tool_call_mismatch"
    """A record about a call that is not open."""
    DUPLICATE_TOOL_INVOCATION = "duplicate_tool_invocation"
    """A call id was started or asked for twice."""
    PROVISIONED_ENTRY_MISMATCH = "provisioned_entry_mismatch"
    """A queue entry id was used twice, or consumed without being queued."""
    INVALID_DEFERRED_HANDLE = "invalid_deferred_handle"
    """A handle that no result of this Run has."""
    INVALID_COMPACTION_REASON = "invalid_compaction_reason"
    """A compaction replaces an impossible range."""
    INCONSISTENT_COST = "inconsistent_cost"
    """Two currencies in one Run."""
    UNREADABLE_RECORD = "unreadable_record"
    """A stored body is not a record this release can read."""


class CorruptLog(PsychError):
    """A log that the protocol could not have produced; it is never repaired while reading.

    Attributes:
        reason: The kind of contradiction.
        run_id: The Run.
        seq: Position of the record that contradicts what came before it.
        detail: What exactly does not fit.
    """

    def __init__(self, reason: CorruptionReason, run_id: RunId, seq: int, detail: str) -> None:
        self.reason = reason
        self.run_id = run_id
        self.seq = seq
        self.detail = detail
        super().__init__(f"the log of {run_id} is corrupt at record {seq} ({reason}): {detail}")

    def __reduce__(self) -> tuple[type[CorruptLog], tuple[CorruptionReason, RunId, int, str]]:
        return CorruptLog, (self.reason, self.run_id, self.seq, self.detail)
