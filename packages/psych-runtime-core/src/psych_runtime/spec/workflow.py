"""The workflow Spec, and the steps that hold other steps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Final, Literal, Self

from pydantic import Field, model_validator

from psych_runtime.spec.base import SpecModel, refuse_repeated
from psych_runtime.spec.conditions import Condition, Mapping, ValuePath
from psych_runtime.spec.json_values import JsonObject
from psych_runtime.spec.limits import Limits, SuspensionPolicy
from psych_runtime.spec.names import Name
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
from psych_runtime.spec.tools import McpServerSet, Text, ToolSet, check_tool_names

STEP_KINDS: Final = (
    "agent",
    "tool",
    "workflow",
    "parallel",
    "branch",
    "foreach",
    "loop",
    "map",
    "set_state",
    "sleep",
    "wait",
    "human",
)


class WorkflowStepRef(StepBase):
    """Runs another workflow inside this one."""

    kind: Literal["workflow"] = "workflow"
    spec: WorkflowSpec
    input: Mapping = Field(default_factory=dict)
    """Empty: the input of this workflow."""


class ParallelStep(StepBase):
    """Runs its branches at the same time."""

    kind: Literal["parallel"] = "parallel"
    branches: tuple[WorkflowStep, ...] = Field(min_length=1)
    on_branch_failure: Literal["fail_fast", "wait_all"] = "fail_fast"
    """Whether the first failure cancels the other branches."""


class BranchCase(SpecModel):
    """One arm of a `BranchStep`."""

    name: Name
    when: Condition
    step: WorkflowStep


class BranchStep(StepBase):
    """Runs the step of the first case that holds, or of all that hold."""

    kind: Literal["branch"] = "branch"
    cases: tuple[BranchCase, ...] = Field(min_length=1)
    otherwise: WorkflowStep | None = None
    """Runs when no case holds."""
    mode: Literal["first", "all"] = "first"

    @model_validator(mode="after")
    def _unique_cases(self) -> Self:
        refuse_repeated("case", (case.name for case in self.cases))
        return self


class ForEachStep(StepBase):
    """Runs its body once per element of a list."""

    kind: Literal["foreach"] = "foreach"
    items: ValuePath
    body: WorkflowStep
    concurrency: int = Field(default=1, ge=1, le=64)
    """Elements worked on at the same time."""
    on_item_failure: Literal["fail_fast", "wait_all"] = "fail_fast"
    """Whether the first failure stops the others."""


class LoopStep(StepBase):
    """Repeats its body; exactly one of ``until`` and ``while_`` is given.

    In JSON the field ``while_`` may also be written ``while``.
    """

    kind: Literal["loop"] = "loop"
    body: WorkflowStep
    until: Condition | None = None
    """Stops when this holds after an iteration."""
    while_: Condition | None = Field(default=None, alias="while")
    """Goes on as long as this holds after an iteration."""
    max_iterations: int = Field(default=100, ge=1, le=10000)
    """Reaching it fails the step."""

    @model_validator(mode="after")
    def _one_test(self) -> Self:
        if (self.until is None) == (self.while_ is None):
            raise ValueError("a loop step needs exactly one of until and while")
        return self


WorkflowStep = Annotated[
    AgentStep
    | ToolStep
    | WorkflowStepRef
    | ParallelStep
    | BranchStep
    | ForEachStep
    | LoopStep
    | MapStep
    | SetStateStep
    | SleepStep
    | WaitStep
    | HumanStep,
    Field(discriminator="kind"),
]


class WorkflowSpec(SpecModel):
    """A workflow: steps in order, and what they share.

    Step names are unique over the whole tree; a nested workflow has names of its own.
    """

    kind: Literal["workflow"] = "workflow"
    name: Name
    description: Text = Field(default="", max_length=4096)
    steps: tuple[WorkflowStep, ...] = Field(min_length=1)
    tools: ToolSet = ()
    mcp_servers: McpServerSet = ()
    limits: Limits = Field(default_factory=Limits)
    suspension: SuspensionPolicy = Field(default_factory=SuspensionPolicy)
    input_schema: JsonObject | None = None
    """JSON Schema that the Run's input must satisfy."""
    initial_state: JsonObject = Field(default_factory=dict)
    """What ``state`` starts as."""
    output: Mapping | None = None
    """The output; None collects the outputs of the top-level steps by name."""
    retry: RetryPolicy = Field(default_factory=RetryPolicy)
    """For steps that have no policy of their own."""

    @model_validator(mode="after")
    def _check_names(self) -> Self:
        refuse_repeated("step", (step.name for step in iter_steps(self.steps)))
        check_tool_names(self.tools, (server.name for server in self.mcp_servers))
        return self


def step_children(step: StepBase) -> Iterator[StepBase]:
    """Yield the steps directly inside a step, not those of a nested workflow."""
    match step:
        case ParallelStep():
            yield from step.branches
        case BranchStep():
            yield from (case.step for case in step.cases)
            if step.otherwise is not None:
                yield step.otherwise
        case ForEachStep() | LoopStep():
            yield step.body


def iter_steps(steps: Iterable[StepBase]) -> Iterator[StepBase]:
    """Yield every step depth-first, a step before those inside it.

    Steps of nested workflows are not entered.
    """
    for step in steps:
        yield step
        yield from iter_steps(step_children(step))
