"""The agent builder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Self

from psych_runtime.builder.shared import SharedBuilder
from psych_runtime.errors import BuilderError
from psych_runtime.spec.agent import AgentSpec, CompactionPolicy, SpawnEnvelope, SubagentRef
from psych_runtime.spec.code_execution import (
    ArtifactPolicy,
    CodeExecution,
    CodeExecutionLimits,
    IsolationLevel,
    NetworkAccess,
    OutputPolicy,
)
from psych_runtime.spec.model import ModelRef
from psych_runtime.spec.skills import Skill
from psych_runtime.spec.tools import A2APeer

if TYPE_CHECKING:
    from psych_runtime.tools.registry import ToolRegistry


def agent(name: str, *, registry: ToolRegistry | None = None) -> AgentBuilder:
    """Start to build an agent.

    Args:
        name: The agent's name.
        registry: Where `tool` registers functions; None makes a new registry.

    Example:
        >>> agent("support").model("small").instructions("Help.").build().name
        'support'
    """
    return AgentBuilder(name, registry=registry)


class AgentBuilder(SharedBuilder):
    """Builds an `AgentSpec`; every method but `build` returns the builder."""

    def __init__(self, name: str, *, registry: ToolRegistry | None = None) -> None:
        super().__init__(registry=registry)
        self._name = name
        self._model: ModelRef | None = None
        self._fields: dict[str, Any] = {}
        self._peers: list[A2APeer] = []
        self._skills: list[Skill] = []
        self._subagents: list[SubagentRef] = []

    def description(self, text: str) -> Self:
        """Say what the agent is for; also its system prompt when there are no instructions."""
        self._fields["description"] = text
        return self

    def instructions(self, text: str) -> Self:
        """Set the body of the system prompt."""
        self._fields["instructions"] = text
        return self

    def model(
        self,
        model: str,
        *,
        temperature: float | None = None,
        top_p: float | None = None,
        max_output_tokens: int | None = None,
        reasoning_effort: Literal["low", "medium", "high"] | None = None,
        fallbacks: Sequence[str] = (),
    ) -> Self:
        """Choose the model; see `ModelRef` for the arguments."""
        self._model = ModelRef(
            model=model,
            temperature=temperature,
            top_p=top_p,
            max_output_tokens=max_output_tokens,
            reasoning_effort=reasoning_effort,
            fallbacks=tuple(fallbacks),
        )
        return self

    def a2a_peer(
        self,
        name: str,
        url: str,
        *,
        credential: str | None = None,
        scheme: str = "Bearer",
        tenant: str | None = None,
        allow: Sequence[str] = (),
        optional: bool = False,
        extensions: Sequence[str] = (),
    ) -> Self:
        """Add a connection to a remote agent; see `A2APeer` for the arguments."""
        self._peers.append(
            A2APeer(
                name=name,
                url=url,
                credential=credential,
                scheme=scheme,
                tenant=tenant,
                allow=tuple(allow),
                optional=optional,
                extensions=tuple(extensions),
            )
        )
        return self

    def skill(self, name: str, description: str, body: str) -> Self:
        """Add an instruction pack that the agent reads when it needs it."""
        self._skills.append(Skill(name=name, description=description, body=body))
        return self

    def subagent(self, name: str, description: str, spec: AgentSpec | AgentBuilder) -> Self:
        """Add an agent to delegate to.

        The functions that a builder registered are registered in this builder's registry too.

        Raises:
            BuilderError: Both builders have a different function under one name.
        """
        self._subagents.append(
            SubagentRef(name=name, description=description, spec=built_agent(self, spec))
        )
        return self

    def spawn(
        self,
        *,
        tools: Sequence[str] = (),
        models: Sequence[str] = (),
        max_depth: int = 2,
        max_alive: int = 3,
        may_message: bool = True,
    ) -> Self:
        """Permit composing background children; see `SpawnEnvelope` for the arguments."""
        self._fields["spawn"] = SpawnEnvelope(
            tools=tuple(tools),
            models=tuple(models),
            max_depth=max_depth,
            max_alive=max_alive,
            may_message=may_message,
        )
        return self

    def compaction(
        self,
        trigger_tokens: int,
        *,
        keep_recent_turns: int = 3,
        model: str | None = None,
        max_summary_tokens: int = 2048,
        summary_instructions: str | None = None,
    ) -> Self:
        """Summarise long conversations; see `CompactionPolicy` for the arguments."""
        self._fields["compaction"] = CompactionPolicy(
            trigger_tokens=trigger_tokens,
            keep_recent_turns=keep_recent_turns,
            model=model,
            max_summary_tokens=max_summary_tokens,
            summary_instructions=summary_instructions,
        )
        return self

    def code_execution(
        self,
        *,
        enabled: bool = True,
        profile: str = "default",
        isolation: IsolationLevel = IsolationLevel.ISOLATED,
        network: NetworkAccess = NetworkAccess.DENIED,
        limits: CodeExecutionLimits | None = None,
        bindings: Sequence[str] | None = None,
        output: OutputPolicy | None = None,
        artifacts: ArtifactPolicy | None = None,
    ) -> Self:
        """Permit running programs; see `CodeExecution` for the arguments.

        Its ``workspace`` and ``language`` have one value each, so they are not arguments.
        """
        self._fields["code_execution"] = CodeExecution(
            enabled=enabled,
            profile=profile,
            isolation=isolation,
            network=network,
            limits=limits or CodeExecutionLimits(),
            bindings=None if bindings is None else tuple(bindings),
            output=output or OutputPolicy(),
            artifacts=artifacts or ArtifactPolicy(),
        )
        return self

    def tasks_enabled(self, enabled: bool = True) -> Self:
        """Offer the built-in tool ``update_tasks``."""
        self._fields["tasks_enabled"] = enabled
        return self

    def components_enabled(self, enabled: bool = True) -> Self:
        """Offer the built-in tool ``show_component``."""
        self._fields["components_enabled"] = enabled
        return self

    def answer_style(self, style: Literal["concise"] | None) -> Self:
        """Ask for short answers (``concise``), or say nothing about it (None)."""
        self._fields["answer_style"] = style
        return self

    def build(self) -> AgentSpec:
        """Return the Spec.

        Raises:
            BuilderError: No model was chosen.
            pydantic.ValidationError: The parts do not fit together.
        """
        if self._model is None:
            raise BuilderError(f"the agent {self._name!r} has no model: call .model(...) first")
        return AgentSpec(
            name=self._name,
            model=self._model,
            a2a_peers=tuple(self._peers),
            skills=tuple(self._skills),
            subagents=tuple(self._subagents),
            **self._shared_fields(),
            **self._fields,
        )


def built_agent(parent: SharedBuilder, spec: AgentSpec | AgentBuilder) -> AgentSpec:
    """Return the Spec of an agent that becomes a part of what ``parent`` builds."""
    if isinstance(spec, AgentBuilder):
        built = spec.build()
        parent._adopt(spec)
        return built
    return spec
