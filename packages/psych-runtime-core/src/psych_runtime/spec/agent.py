"""The agent Spec."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from psych_runtime.spec.base import SpecModel, by_unique_name
from psych_runtime.spec.code_execution import CodeExecution
from psych_runtime.spec.limits import Limits, SuspensionPolicy
from psych_runtime.spec.model import ModelRef
from psych_runtime.spec.names import BINDABLE_BUILT_INS, Name
from psych_runtime.spec.remote_names import qualified_owner
from psych_runtime.spec.skills import Skill
from psych_runtime.spec.tools import (
    A2APeerSet,
    McpServerSet,
    NameSet,
    Text,
    ToolSet,
    check_tool_names,
)

MIN_PURPOSE = 20
"""Shortest purpose of a composed child, in characters."""
MIN_TASK = 40
"""Shortest task of a composed child, in characters."""
MIN_DELIVERABLE = 15
"""Shortest deliverable of a composed child, in characters."""


class SpawnEnvelope(SpecModel):
    """Permission to compose background children, and what they may have at most."""

    tools: NameSet = ()
    """Patterns over the agent's own tools; empty lets a child have all of them."""
    models: NameSet = ()
    """Models a child may use; empty permits only the agent's own."""
    max_depth: int = Field(default=2, ge=1, le=16)
    """How deep composed children may nest; `Limits.max_delegation_depth` holds as well."""
    max_alive: int = Field(default=3, ge=1, le=32)
    """Composed children that may run at once."""
    may_message: bool = True
    """Offers ``message_subagent``."""


class CompactionPolicy(SpecModel):
    """When and how a long conversation is summarised."""

    trigger_tokens: int = Field(gt=0)
    """Summarise when the last prompt had at least so many tokens."""
    keep_recent_turns: int = Field(default=3, gt=0, le=100)
    """Turns that stay word for word."""
    model: str | None = None
    """The model that summarises; None uses the agent's."""
    max_summary_tokens: int = Field(default=2048, gt=0, le=32000)
    summary_instructions: str | None = Field(default=None, max_length=4000)
    """Added to the built-in rules of a summary."""


class SubagentRef(SpecModel):
    """An agent that another one may delegate to."""

    name: Name
    """The value of the ``subagent`` argument of ``delegate``."""
    description: Text = Field(min_length=20, max_length=2048)
    """Tells the model when to delegate; at least 20 characters."""
    spec: AgentSpec
    """The agent itself; it is part of the parent's hash."""


SkillSet = Annotated[tuple[Skill, ...], AfterValidator(by_unique_name("skill"))]
SubagentSet = Annotated[tuple[SubagentRef, ...], AfterValidator(by_unique_name("subagent"))]


class AgentSpec(SpecModel):
    """An agent: what it is told, which model it uses, and what it may do.

    Collections whose order means nothing are sorted by name, so two Specs that say the same are
    equal and have the same hash.

    Example:
        >>> AgentSpec(name="support", model=ModelRef(model="small")).limits.max_turns
        32
    """

    kind: Literal["agent"] = "agent"
    name: Name
    description: Text = Field(default="", max_length=4096)
    """Used as the system prompt when ``instructions`` are blank."""
    instructions: Text = ""
    """The body of the system prompt."""
    model: ModelRef
    tools: ToolSet = ()
    mcp_servers: McpServerSet = ()
    a2a_peers: A2APeerSet = ()
    skills: SkillSet = ()
    subagents: SubagentSet = ()
    """Agents it may delegate to and wait for."""
    spawn: SpawnEnvelope | None = None
    """None: it may not compose children."""
    compaction: CompactionPolicy | None = None
    """None: the conversation is never summarised."""
    code_execution: CodeExecution | None = None
    """None: it may not run programs."""
    limits: Limits = Field(default_factory=Limits)
    suspension: SuspensionPolicy = Field(default_factory=SuspensionPolicy)
    tasks_enabled: bool = False
    """Offers ``update_tasks``."""
    components_enabled: bool = False
    """Offers ``show_component``."""
    answer_style: Literal["concise"] | None = None
    """``concise`` asks for short answers; None says nothing about it."""

    @model_validator(mode="after")
    def _check_names(self) -> Self:
        owners = [server.name for server in self.mcp_servers]
        owners += [peer.name for peer in self.a2a_peers]
        check_tool_names(self.tools, owners)
        bindings = self.code_execution.bindings if self.code_execution else None
        known = BINDABLE_BUILT_INS.union(tool.name for tool in self.tools)
        for name in bindings or ():
            if name not in known and qualified_owner(name, owners) is None:
                raise ValueError(
                    f"code_execution.bindings names {name!r}, which is neither a tool of this "
                    f"agent, nor one of its servers' or peers', nor {', '.join(sorted(BINDABLE_BUILT_INS))}"
                )
        return self
