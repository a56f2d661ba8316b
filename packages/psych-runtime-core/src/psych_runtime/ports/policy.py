"""The policy port: the host's say in which Runs and tool calls may happen."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol, Self, runtime_checkable

from psych_runtime.scope import Scope

if TYPE_CHECKING:
    from psych_runtime.spec.version import Version


class ToolClass(StrEnum):
    """What a tool may do to the world, as far as it says so."""

    READ_ONLY = "read-only"
    """Changes nothing. Only when nothing stronger is marked."""
    WRITE = "write"
    """Changes something; also every tool that is not marked."""
    DESTRUCTIVE = "destructive"
    """Removes or overwrites something. Wins over the other marks."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What a policy says.

    Attributes:
        allowed: Whether it may go ahead now.
        reason: Shown to the model and kept in the log.
        requires_approval: A person is asked first; their answer decides.
    """

    allowed: bool
    reason: str = ""
    requires_approval: bool = False

    @classmethod
    def allow(cls) -> Self:
        """Go ahead."""
        return cls(True)

    @classmethod
    def deny(cls, reason: str) -> Self:
        """Refuse; the model is told ``reason``."""
        return cls(False, reason)

    @classmethod
    def ask(cls, reason: str = "") -> Self:
        """Wait until a person has decided; they are shown ``reason``."""
        return cls(False, reason, requires_approval=True)


@runtime_checkable
class Policy(Protocol):
    """Decides on Runs and tool calls. A policy that raises refuses."""

    async def allow_tool(self, scope: Scope, tool: str, args: dict[str, Any]) -> Decision:
        """Decide on one call, made by a model, by a program or by a workflow step.

        Args:
            scope: On whose behalf.
            tool: The model-facing name.
            args: As the model wrote them, not validated yet.
        """
        ...

    async def allow_run(self, scope: Scope, version: Version) -> Decision:
        """Decide on a new Run of ``version``, before it is admitted."""
        ...


class AllowAll:
    """The default policy: everything may happen."""

    async def allow_tool(self, scope: Scope, tool: str, args: dict[str, Any]) -> Decision:
        """Allow."""
        return Decision.allow()

    async def allow_run(self, scope: Scope, version: Version) -> Decision:
        """Allow."""
        return Decision.allow()
