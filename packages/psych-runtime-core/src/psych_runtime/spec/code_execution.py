"""What an agent asks of the sandbox that runs its programs."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, Self

from pydantic import Field, field_validator, model_validator

from psych_runtime.spec.base import SpecModel, refuse_repeated
from psych_runtime.spec.names import Name


class IsolationLevel(StrEnum):
    """How well a program is kept apart from the host."""

    ISOLATED = "isolated"
    """A kernel boundary: own files, no network unless granted, contained processes, limits."""
    PROCESS = "process"
    """A separate process with limits; for trusted code only, never chosen automatically."""

    def satisfies(self, wanted: IsolationLevel) -> bool:
        """Return whether this level is at least as strong as ``wanted``."""
        return self is wanted or self is IsolationLevel.ISOLATED


class Enforcement(StrEnum):
    """How sure it is that a guarantee holds."""

    ENFORCED = "enforced"
    """Applied and, where that is possible, seen from the inside."""
    UNVERIFIED = "unverified"
    """Applied or promised, not confirmed."""
    UNAVAILABLE = "unavailable"
    """Not provided, or switched off."""


class NetworkAccess(StrEnum):
    """Whether a program may open sockets."""

    DENIED = "denied"
    UNRESTRICTED = "unrestricted"


class WorkspacePolicy(StrEnum):
    """What becomes of a program's working directory."""

    EPHEMERAL = "ephemeral"
    """Empty at the start, gone at the end."""


class OutputPreservation(StrEnum):
    """What happens to output that is longer than its preview."""

    WHEN_AVAILABLE = "when_available"
    REQUIRED = "required"
    NEVER = "never"


class ArtifactCollection(StrEnum):
    """Whether files that a program leaves behind are kept."""

    COLLECT = "collect"
    IGNORE = "ignore"


class CodeExecutionLimits(SpecModel):
    """Caps asked for; they can only narrow the profile's. None asks for none."""

    cpu_seconds: float | None = Field(default=None, gt=0, le=3600)
    wall_seconds: float | None = Field(default=None, gt=0, le=3600)
    memory_bytes: int | None = Field(default=None, gt=0)
    file_size_bytes: int | None = Field(default=None, gt=0)
    """Largest single file."""
    process_count: int | None = Field(default=None, gt=0, le=4096)
    """Processes, or threads on Linux."""


class OutputPolicy(SpecModel):
    """How much output is shown and kept, per stream."""

    preview_bytes: int = Field(default=4000, ge=256, le=65536)
    """Shown to the model."""
    max_bytes: int = Field(default=8388608, ge=4096, le=268435456)
    """Captured."""
    preserve: OutputPreservation = OutputPreservation.WHEN_AVAILABLE

    @model_validator(mode="after")
    def _preview_is_captured(self) -> Self:
        if self.preview_bytes > self.max_bytes:
            raise ValueError(
                f"preview_bytes is {self.preview_bytes}, more than the {self.max_bytes} of "
                "max_bytes that are captured"
            )
        return self


class ArtifactPolicy(SpecModel):
    """Which files are kept after a program ends."""

    collection: ArtifactCollection = ArtifactCollection.COLLECT
    max_count: int = Field(default=16, ge=0, le=256)
    max_total_bytes: int = Field(default=16777216, ge=0, le=268435456)
    """Bytes over all files."""


class CodeExecution(SpecModel):
    """Permission to run programs with the built-in tool ``run_code``, and under which terms."""

    enabled: bool = True
    profile: Name = "default"
    """The sandbox profile, which the deployment defines."""
    isolation: IsolationLevel = IsolationLevel.ISOLATED
    """The weakest isolation that will do."""
    network: NetworkAccess = NetworkAccess.DENIED
    limits: CodeExecutionLimits = Field(default_factory=CodeExecutionLimits)
    bindings: tuple[str, ...] | None = None
    """Tools a program may call; None binds every tool that is callable in the turn."""
    workspace: WorkspacePolicy = WorkspacePolicy.EPHEMERAL
    output: OutputPolicy = Field(default_factory=OutputPolicy)
    artifacts: ArtifactPolicy = Field(default_factory=ArtifactPolicy)
    language: Literal["python"] = "python"

    @field_validator("bindings")
    @classmethod
    def _sort_bindings(cls, bindings: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if bindings is None:
            return None
        refuse_repeated("binding", bindings)
        return tuple(sorted(bindings))
