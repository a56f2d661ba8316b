"""The workflow builder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

from psych_runtime.builder.agent import AgentBuilder, built_agent
from psych_runtime.builder.shared import SharedBuilder
from psych_runtime.builder.values import value_path, value_refs
from psych_runtime.errors import BuilderError
from psych_runtime.spec.agent import AgentSpec
from psych_runtime.spec.conditions import Condition, LiteralValue, ValuePath
from psych_runtime.spec.questions import AskedQuestion
from psych_runtime.spec.steps import (
    AgentStep,
    HumanStep,
    MapStep,
    RetryPolicy,
    SetStateStep,
    SleepStep,
    StepBase,
    ToolStep,
    WaitStep,
)
from psych_runtime.spec.workflow import (
    BranchCase,
    BranchStep,
    ForEachStep,
    LoopStep,
    ParallelStep,
    WorkflowSpec,
    WorkflowStep,
    WorkflowStepRef,
)

if TYPE_CHECKING:
    from psych_runtime.tools.registry import ToolRegistry


def workflow(name: str, *, registry: ToolRegistry | None = None) -> WorkflowBuilder:
    """Start to build a workflow.

    Args:
        name: The workflow's name.
        registry: Where `tool` registers functions; None makes a new registry.

    Example:
        >>> workflow("nightly").sleep("pause", seconds=60).build().steps[0].kind
        'sleep'
    """
    return WorkflowBuilder(name, registry=registry)


class WorkflowBuilder(SharedBuilder):
    """Builds a `WorkflowSpec`; every method but `build` returns the builder.

    Methods that add a step take the step's other fields as ``options``: ``description``, ``when``,
    ``retry``, ``timeout_seconds``, ``on_failure``, ``output_schema``, ``ends_workflow``, and those
    of its kind. Where values are looked up (``input``, ``output`` ...), a plain value is taken as a
    literal.
    """

    def __init__(self, name: str, *, registry: ToolRegistry | None = None) -> None:
        super().__init__(registry=registry)
        self._name = name
        self._fields: dict[str, Any] = {}
        self._state: dict[str, Any] = {}
        self._output: dict[str, ValuePath | LiteralValue] | None = None
        self._steps: list[StepBase] = []

    def description(self, text: str) -> Self:
        """Say what the workflow is for."""
        self._fields["description"] = text
        return self

    def input_schema(self, schema: dict[str, Any]) -> Self:
        """Set the JSON Schema that a Run's input must satisfy."""
        self._fields["input_schema"] = schema
        return self

    def initial_state(self, **values: Any) -> Self:
        """Add values that ``state`` starts with."""
        self._state |= values
        return self

    def output(self, **fields: Any) -> Self:
        """Add fields of the output; without any, the outputs of the steps are collected."""
        self._output = {**(self._output or {}), **value_refs(fields)}
        return self

    def retry(
        self,
        max_attempts: int,
        *,
        backoff_seconds: float = 0.0,
        multiplier: float = 2.0,
        max_backoff_seconds: float = 3600.0,
        retry_on: Sequence[str] = (),
    ) -> Self:
        """Set how failed steps are tried again; see `RetryPolicy` for the arguments."""
        self._fields["retry"] = RetryPolicy(
            max_attempts=max_attempts,
            backoff_seconds=backoff_seconds,
            multiplier=multiplier,
            max_backoff_seconds=max_backoff_seconds,
            retry_on=tuple(retry_on),
        )
        return self

    def step(self, step: WorkflowStep) -> Self:
        """Add a step of any kind."""
        self._steps.append(step)
        return self

    def tool_step(
        self,
        name: str,
        tool: str,
        arguments: Mapping[str, object] | None = None,
        *,
        arguments_from: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> Self:
        """Add a step that calls a tool, with arguments given here and looked up at run time."""
        return self.step(
            ToolStep(
                name=name,
                tool=tool,
                arguments=dict(arguments or {}),
                arguments_from=value_refs(arguments_from or {}),
                **options,
            )
        )

    def agent_step(
        self,
        name: str,
        spec: AgentSpec | AgentBuilder,
        *,
        input: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> Self:
        """Add a step that runs an agent; a builder's functions are registered here too."""
        inner = built_agent(self, spec)
        return self.step(AgentStep(name=name, spec=inner, input=value_refs(input or {}), **options))

    def workflow_step(
        self,
        name: str,
        spec: WorkflowSpec | WorkflowBuilder,
        *,
        input: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> Self:
        """Add a step that runs a workflow; a builder's functions are registered here too."""
        if isinstance(spec, WorkflowBuilder):
            inner = spec.build()
            self._adopt(spec)
        else:
            inner = spec
        return self.step(
            WorkflowStepRef(name=name, spec=inner, input=value_refs(input or {}), **options)
        )

    def parallel(self, name: str, *branches: WorkflowStep, **options: Any) -> Self:
        """Add a step that runs its branches at the same time."""
        return self.step(ParallelStep(name=name, branches=branches, **options))

    def branch(
        self,
        name: str,
        *cases: tuple[str, Condition, WorkflowStep],
        otherwise: WorkflowStep | None = None,
        **options: Any,
    ) -> Self:
        """Add a step that chooses between cases, each a name, a condition and a step."""
        arms = tuple(
            BranchCase(name=case, when=condition, step=step) for case, condition, step in cases
        )
        return self.step(BranchStep(name=name, cases=arms, otherwise=otherwise, **options))

    def foreach(
        self, name: str, items: ValuePath | str, body: WorkflowStep, **options: Any
    ) -> Self:
        """Add a step that runs its body once per element of a list."""
        return self.step(ForEachStep(name=name, items=value_path(items), body=body, **options))

    def loop(
        self,
        name: str,
        body: WorkflowStep,
        *,
        until: Condition | None = None,
        while_: Condition | None = None,
        **options: Any,
    ) -> Self:
        """Add a step that repeats its body until a condition holds, or while one does."""
        return self.step(LoopStep(name=name, body=body, until=until, while_=while_, **options))

    def map(self, name: str, **fields: Any) -> Self:
        """Add a step that makes an object out of values."""
        return self.step(MapStep(name=name, output=value_refs(fields)))

    def set_state(self, name: str, **values: Any) -> Self:
        """Add a step that writes values into the state."""
        return self.step(SetStateStep(name=name, values=value_refs(values)))

    def sleep(
        self,
        name: str,
        *,
        seconds: float | None = None,
        until: ValuePath | str | None = None,
        **options: Any,
    ) -> Self:
        """Add a step that waits for some seconds, or until an ISO 8601 time that is looked up."""
        target = None if until is None else value_path(until)
        return self.step(SleepStep(name=name, seconds=seconds, until=target, **options))

    def wait(
        self,
        name: str,
        event: str,
        *,
        payload_schema: dict[str, Any] | None = None,
        timeout_seconds: float | None = None,
        **options: Any,
    ) -> Self:
        """Add a step that waits for an event from outside."""
        return self.step(
            WaitStep(
                name=name,
                event=event,
                payload_schema=payload_schema or {},
                timeout_seconds=timeout_seconds,
                **options,
            )
        )

    def human(
        self,
        name: str,
        prompt: str,
        *,
        questions: Sequence[AskedQuestion] = (),
        expires_seconds: float | None = None,
        **options: Any,
    ) -> Self:
        """Add a step that asks a person."""
        return self.step(
            HumanStep(
                name=name,
                prompt=prompt,
                questions=tuple(questions),
                expires_seconds=expires_seconds,
                **options,
            )
        )

    def build(self) -> WorkflowSpec:
        """Return the Spec.

        Raises:
            BuilderError: There is no step.
            pydantic.ValidationError: The parts do not fit together.
        """
        if not self._steps:
            raise BuilderError(f"the workflow {self._name!r} has no steps: add one first")
        return WorkflowSpec(
            name=self._name,
            steps=tuple(self._steps),
            initial_state=self._state,
            output=self._output,
            **self._shared_fields(),
            **self._fields,
        )
