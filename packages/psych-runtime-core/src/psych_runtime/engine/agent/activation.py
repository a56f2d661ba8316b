"""What every part of one agent's loop shares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from psych_runtime.engine.journal import Journal
from psych_runtime.engine.signals import AbortSignal
from psych_runtime.ids import StepId, ToolCallId
from psych_runtime.log.records import (
    ModelCallFinished,
    QueueConsumed,
    Record,
    ToolCallStarted,
    TurnStarted,
)
from psych_runtime.ports.messages import Message
from psych_runtime.ports.model import ModelClient
from psych_runtime.reads.conversation import Conversation
from psych_runtime.spec.agent import AgentSpec
from psych_runtime.tools.registry import ToolRegistry
from psych_runtime.tools.threads import ToolThreads

if TYPE_CHECKING:
    from psych_runtime.engine.runtime import Runtime


_BEGINS_ANEW = (TurnStarted, QueueConsumed)


class TurnTracker:
    """Notes what the fold does not keep: used call ids, and an answer that awaits settlement."""

    def __init__(self, step_id: StepId | None) -> None:
        self._step_id = step_id
        self.call_ids: set[ToolCallId] = set()
        self.answer: ModelCallFinished | None = None

    def add(self, record: Record, /) -> None:
        """Take one record in."""
        if isinstance(record, ModelCallFinished):
            self.call_ids.update(call.call_id for call in record.calls)
            if record.step_id == self._step_id:
                self.answer = None if record.calls else record
        elif isinstance(record, ToolCallStarted):
            self.call_ids.add(record.call_id)
        elif isinstance(record, _BEGINS_ANEW) and record.step_id == self._step_id:
            self.answer = None


@dataclass(slots=True)
class Activation:
    """One agent at work inside a Run: the Run's own (``step_id`` None) or a workflow step's."""

    runtime: Runtime
    journal: Journal
    abort: AbortSignal
    spec: AgentSpec
    model: ModelClient
    registry: ToolRegistry
    threads: ToolThreads
    conversation: Conversation
    tracker: TurnTracker
    step_id: StepId | None = None
    history: tuple[Message, ...] = ()
    offered: frozenset[str] | None = None
    """Names of the tools offered in the latest turn; None until this Attempt has made an offer."""
