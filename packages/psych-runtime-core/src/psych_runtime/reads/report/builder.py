"""Building the report of a Run from its log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from psych_runtime.ids import RunId
from psych_runtime.log.fold import fold, initial_state
from psych_runtime.log.fold.state import RunStateView
from psych_runtime.log.records import Record, StepCompleted, SubagentSpawned
from psych_runtime.ports.store import RunHeader
from psych_runtime.reads.report.compactions import Compactions
from psych_runtime.reads.report.latency import Latency
from psych_runtime.reads.report.model_calls import ModelCalls
from psych_runtime.reads.report.run_report import RunReport
from psych_runtime.reads.report.steps import Steps
from psych_runtime.reads.report.streaks import FailureStreaks
from psych_runtime.reads.report.subagents import Subagents
from psych_runtime.reads.report.suspensions import Suspensions
from psych_runtime.reads.report.tool_calls import ToolCalls
from psych_runtime.reads.report.totals import (
    SubtreeTotals,
    TotalsReport,
    alone,
    together,
    totals_of,
)
from psych_runtime.spec.version import Version


def child_run_ids(records: Sequence[Record]) -> tuple[RunId, ...]:
    """Return the ids of a Run's children, in the order the log names them."""
    found: dict[RunId, None] = {}
    for record in records:
        if isinstance(record, SubagentSpawned) or (
            isinstance(record, StepCompleted) and record.child_run_id is not None
        ):
            assert record.child_run_id is not None
            found.setdefault(record.child_run_id)
    return tuple(found)


def build_report(
    header: RunHeader,
    records: Sequence[Record],
    version: Version,
    children: Mapping[RunId, RunReport],
) -> RunReport:
    """Return the report of a Run.

    Args:
        header: The Run's header.
        records: Its whole log; at least the first Record.
        version: Its Version.
        children: Reports of child Runs to put in, by id.

    Raises:
        CorruptLog: The log contradicts itself.
    """
    spec = version.spec
    state = initial_state(header.run_id, header.scope)
    threshold = getattr(spec.limits, "failure_streak_threshold", None)
    model_calls, tool_calls, steps = ModelCalls(), ToolCalls(), Steps(children)
    suspensions, compactions, subagents = Suspensions(), Compactions(), Subagents(children)
    latency, streaks = Latency(), FailureStreaks(threshold)
    collectors = (
        model_calls, tool_calls, steps, suspensions, compactions, subagents, latency
    )  # fmt: skip
    for record in records:
        fold(state, record)
        for collector in collectors:
            collector.add(record)
        streaks.add(record, state)
    totals = totals_of(state, latency.report())
    return RunReport(
        run_id=header.run_id,
        scope=header.scope,
        version_hash=header.version_hash,
        spec_name=spec.name,
        system_prompt=model_calls.last_prompt or "",
        steps=tuple(steps.rows),
        tool_calls=tool_calls.rows,
        model_calls=tuple(model_calls.rows),
        suspensions=tuple(suspensions.rows),
        failure_streak_trips=tuple(streaks.rows),
        terminal_state=state.terminal_state,
        output=state.output,
        failure=state.failure,
        orphaned_attempt_id=state.orphaned_attempt_id,
        admitted_at=records[0].at,
        settled_at=state.settled_at,
        totals=totals,
        components=tuple(state.components),
        subagents=subagents.rows,
        subtree=_subtree(state, totals, subagents, steps),
        tasks=state.tasks,
        compactions=tuple(compactions.rows),
        continues_run_id=state.continues_run_id,
    )


def _subtree(
    state: RunStateView, totals: TotalsReport, subagents: Subagents, steps: Steps
) -> SubtreeTotals | None:
    """Return this Run with its children, or None when it has none."""
    branches = [row.subtree for row in subagents.rows if row.subtree is not None]
    named = {row.child_run_id for row in subagents.rows}
    unread = False
    for row in steps.rows:
        if row.child_run_id is None or row.child_run_id in named:
            continue
        named.add(row.child_run_id)
        if row.child is None:
            unread = True
        else:
            ended = row.child.terminal_state is not None
            branches.append(row.child.subtree or alone(row.child.totals, complete=ended))
    if not named:
        return None
    whole = alone(totals, complete=state.settled and not unread)
    for branch in branches:
        whole = together(whole, branch)
    return whole
