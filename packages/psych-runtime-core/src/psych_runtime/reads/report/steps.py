"""The step attempts of a workflow Run."""

from __future__ import annotations

from collections.abc import Mapping

from psych_runtime.ids import RunId, StepId
from psych_runtime.log.records import Record, StepCompleted, StepStarted
from psych_runtime.reads.report.run_report import RunReport, StepReport


class Steps:
    """Collects the step attempts of a log.

    Args:
        children: Reports of child Runs, by id.
    """

    def __init__(self, children: Mapping[RunId, RunReport]) -> None:
        self.rows: list[StepReport] = []
        self._children = children
        self._open: dict[StepId, int] = {}

    def add(self, record: Record) -> None:
        """Take one record in."""
        if isinstance(record, StepStarted):
            self._start(record)
        elif isinstance(record, StepCompleted):
            self._complete(record)

    def _start(self, record: StepStarted) -> None:
        self._open[record.step_id] = len(self.rows)
        self.rows.append(
            StepReport(
                step_id=record.step_id,
                name=record.name,
                kind=record.kind,
                attempt_number=record.attempt_number,
                input=record.input,
                completed=False,
                output=None,
                failure=None,
                child_run_id=None,
                path=record.path,
                parent_step_id=record.parent_step_id,
                iteration=record.iteration,
                replayed_from=record.replayed_from,
                started_at=record.at,
            )
        )

    def _complete(self, record: StepCompleted) -> None:
        index = self._open.pop(record.step_id, None)
        if index is None:
            return
        child = record.child_run_id
        self.rows[index] = self.rows[index].model_copy(
            update={
                "completed": True,
                "output": record.output,
                "failure": record.failure,
                "child_run_id": child,
                "child": self._children.get(child) if child is not None else None,
                "skipped": record.skipped,
                "will_retry": record.will_retry,
                "completed_at": record.at,
            }
        )
