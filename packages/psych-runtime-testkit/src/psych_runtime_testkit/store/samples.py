"""Things to store."""

from __future__ import annotations

from psych_runtime.spec.agent import AgentSpec
from psych_runtime.spec.model import ModelRef
from psych_runtime.spec.version import Version, make_version


def sample_version(name: str, *, instructions: str = "Answer briefly.") -> Version:
    """A small agent's Version."""
    spec = AgentSpec(name=name, instructions=instructions, model=ModelRef(model="any"))
    return make_version(spec)
