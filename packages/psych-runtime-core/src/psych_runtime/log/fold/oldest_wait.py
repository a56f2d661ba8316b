"""The view of a Run's waits for readers that know only one: the oldest."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from psych_runtime.ids import StepId, ToolCallId
from psych_runtime.log.values import SuspendReason
from psych_runtime.spec.questions import AskedQuestion

if TYPE_CHECKING:
    from psych_runtime.log.fold.entries import OpenToolCall, OpenWait


class OldestWait:
    """Properties that describe the oldest open wait of a suspended Run; empty otherwise."""

    __slots__ = ()

    if TYPE_CHECKING:
        waits: dict[str, OpenWait]
        open_tool_calls: dict[ToolCallId, OpenToolCall]

        @property
        def suspended(self) -> bool: ...

    @property
    def oldest_wait(self) -> OpenWait | None:
        """The wait that was opened first, also while the Run goes on."""
        return next(iter(self.waits.values()), None)

    @property
    def _shown(self) -> OpenWait | None:
        return self.oldest_wait if self.suspended else None

    @property
    def suspend_reason(self) -> SuspendReason | None:
        """What the Run waits for."""
        return wait.reason if (wait := self._shown) else None

    @property
    def suspend_expires_at(self) -> datetime | None:
        """When that wait expires."""
        return wait.expires_at if (wait := self._shown) else None

    @property
    def suspended_at(self) -> datetime | None:
        """When that wait was opened."""
        return wait.opened_at if (wait := self._shown) else None

    @property
    def pending_approval_call_id(self) -> ToolCallId | None:
        """The call that waits for a decision or an answer."""
        return wait.call_id if (wait := self._shown) else None

    @property
    def pending_call(self) -> OpenToolCall | None:
        """That call, if it was started."""
        call_id = self.pending_approval_call_id
        return None if call_id is None else self.open_tool_calls.get(call_id)

    @property
    def suspend_question(self) -> str | None:
        """The question in one line."""
        return wait.question if (wait := self._shown) else None

    @property
    def suspend_questions(self) -> tuple[AskedQuestion, ...]:
        """The structured questions."""
        return wait.questions if (wait := self._shown) else ()

    @property
    def suspended_step_id(self) -> StepId | None:
        """The step that waits."""
        return wait.step_id if (wait := self._shown) else None

    @property
    def suspended_step_name(self) -> str | None:
        """That step's name."""
        return wait.step_name if (wait := self._shown) else None

    @property
    def suspend_payload_schema(self) -> dict[str, Any]:
        """The schema of what a resume must bring."""
        return wait.payload_schema if (wait := self._shown) else {}

    @property
    def suspend_event(self) -> str | None:
        """The event that is expected."""
        return wait.event if (wait := self._shown) else None

    @property
    def suspend_wake_at(self) -> datetime | None:
        """When the wait ends by itself."""
        return wait.wake_at if (wait := self._shown) else None
