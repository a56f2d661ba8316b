"""What every Record carries."""

from __future__ import annotations

from typing import ClassVar

from pydantic import AwareDatetime, Field

from psych_runtime.ids import AttemptId, RunId
from psych_runtime.log.frozen import FrozenModel
from psych_runtime.scope import Scope


class RecordBase(FrozenModel):
    """One entry of a Run's log.

    Every subclass has a ``type`` with its stored name. A new field needs a default, so that older
    rows load; a changed meaning needs a higher ``schema_version`` and an upcaster.
    """

    schema_version: ClassVar[int] = 1

    type: str
    run_id: RunId
    """Whose log this is."""
    seq: int = Field(ge=1)
    """Position, from 1 without a gap."""
    at: AwareDatetime
    """The writer's wall clock (UTC). Nothing is ordered or fenced by it."""
    scope: Scope
    """The Run's tenancy stamp."""
    attempt_id: AttemptId | None = None
    """The Attempt that wrote it; None for what came from outside."""
