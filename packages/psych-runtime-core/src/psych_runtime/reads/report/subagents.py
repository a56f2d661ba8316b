"""The child Runs of a Run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from psych_runtime.ids import RunId
from psych_runtime.log.records import Record, SubagentFinished, SubagentMessaged, SubagentSpawned
from psych_runtime.reads.report.run_report import RunReport, SubagentReport
from psych_runtime.reads.report.totals import SubtreeTotals, alone
from psych_runtime.spec.usage import Usage


class Subagents:
    """Collects the child Runs of a log.

    Args:
        children: Reports of child Runs, by id. A child without one is known by what its parent
            recorded when it finished.
    """

    def __init__(self, children: Mapping[RunId, RunReport]) -> None:
        self._rows: dict[RunId, SubagentReport] = {}
        self._children = children

    @property
    def rows(self) -> tuple[SubagentReport, ...]:
        """The children so far, in the order they were started."""
        return tuple(self._with_branch(row) for row in self._rows.values())

    def add(self, record: Record) -> None:
        """Take one record in."""
        if isinstance(record, SubagentSpawned):
            self._spawn(record)
        elif isinstance(record, SubagentMessaged):
            row = self._rows.get(record.child_run_id)
            if row is not None:
                self._change(record.child_run_id, messages_sent=row.messages_sent + 1)
        elif isinstance(record, SubagentFinished):
            self._change(
                record.child_run_id,
                finished_at=record.at,
                terminal_state=record.state,
                output=record.output,
                failure=record.failure,
                usage=record.usage,
                unreported_usage_calls=record.unreported_usage_calls,
                cost=record.cost,
                unpriced_model_calls=record.unpriced_model_calls,
            )

    def _spawn(self, record: SubagentSpawned) -> None:
        self._rows[record.child_run_id] = SubagentReport(
            name=record.name,
            child_run_id=record.child_run_id,
            call_id=record.call_id,
            child_version_hash=record.child_version_hash,
            purpose=record.purpose,
            task=record.task,
            deliverable=record.deliverable,
            tools=record.tools,
            model=record.model,
            delegation_depth=record.delegation_depth,
            background=record.background,
            spawned_at=record.at,
            finished_at=None,
            terminal_state=None,
            output=None,
            failure=None,
            messages_sent=0,
            usage=Usage(),
            cost=None,
            unpriced_model_calls=0,
        )

    def _change(self, child: RunId, **changes: Any) -> None:
        row = self._rows.get(child)
        if row is not None:
            self._rows[child] = row.model_copy(update=changes)

    def _with_branch(self, row: SubagentReport) -> SubagentReport:
        report = self._children.get(row.child_run_id)
        if report is None:
            branch = SubtreeTotals(
                usage=row.usage,
                unreported_usage_calls=row.unreported_usage_calls,
                cost=row.cost,
                unpriced_model_calls=row.unpriced_model_calls,
                cost_is_incomplete=row.unpriced_model_calls > 0,
                runs=1,
                complete=row.terminal_state is not None,
            )
            return row.model_copy(update={"subtree": branch})
        branch = report.subtree or alone(report.totals, complete=report.terminal_state is not None)
        return row.model_copy(
            update={
                "report": report,
                "usage": branch.usage,
                "unreported_usage_calls": branch.unreported_usage_calls,
                "cost": branch.cost,
                "unpriced_model_calls": branch.unpriced_model_calls,
                "subtree": branch,
            }
        )
