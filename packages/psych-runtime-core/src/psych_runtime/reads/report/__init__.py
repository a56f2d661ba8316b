"""The report: everything that happened in a Run, what it took and what it cost."""

from psych_runtime.reads.report.builder import build_report, child_run_ids
from psych_runtime.reads.report.compactions import CompactionReport
from psych_runtime.reads.report.latency import LatencyReport
from psych_runtime.reads.report.model_calls import ModelCallReport
from psych_runtime.reads.report.run_report import RunReport, StepReport, SubagentReport
from psych_runtime.reads.report.streaks import FailureStreakTrip
from psych_runtime.reads.report.suspensions import SuspensionReport
from psych_runtime.reads.report.tool_calls import LateResult, ToolCallReport
from psych_runtime.reads.report.totals import SubtreeTotals, TotalsReport

__all__ = [
    "CompactionReport",
    "FailureStreakTrip",
    "LateResult",
    "LatencyReport",
    "ModelCallReport",
    "RunReport",
    "StepReport",
    "SubagentReport",
    "SubtreeTotals",
    "SuspensionReport",
    "ToolCallReport",
    "TotalsReport",
    "build_report",
    "child_run_ids",
]
