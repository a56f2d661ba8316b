"""What a Run, and a Run with its children, used up."""

from __future__ import annotations

from typing import Literal

from psych_runtime.log.fold.state import RunStateView
from psych_runtime.reads.model import ReadModel
from psych_runtime.reads.report.latency import LatencyReport
from psych_runtime.spec.usage import Cost, Usage


class TotalsReport(ReadModel):
    """The sums of one Run, without its children."""

    usage: Usage
    """Every call, summaries included."""
    usage_source: Literal["provider", "partial", "unknown"] = "provider"
    """``provider``: every call had counters; ``partial``: some; ``unknown``: none, or no call."""
    unreported_usage_calls: int = 0
    """Calls for which the provider sent no counters."""
    cost: Cost | None
    """None when no call had a price."""
    unpriced_model_calls: int
    """Calls that ``cost`` leaves out."""
    cost_is_incomplete: bool
    """Whether ``cost`` leaves something out."""
    provider_reported_costs: int = 0
    """Calls priced by the provider itself."""
    model_calls: int
    """Finished ones."""
    failed_model_calls: int
    tool_calls: int
    """Settled ones."""
    latency: LatencyReport
    compaction_calls: int = 0
    """Summaries."""


class SubtreeTotals(ReadModel):
    """The sums of a Run and everything below it."""

    usage: Usage
    unreported_usage_calls: int = 0
    """Calls for which the provider sent no counters."""
    cost: Cost | None
    """None when no call had a price."""
    unpriced_model_calls: int
    """Calls that ``cost`` leaves out."""
    cost_is_incomplete: bool
    """Whether ``cost`` leaves something out."""
    runs: int
    """How many Runs are counted, this one included."""
    complete: bool
    """Whether every counted branch has ended and could be read."""


def totals_of(state: RunStateView, latency: LatencyReport) -> TotalsReport:
    """Return the sums of a folded log."""
    calls = state.model_calls + state.compaction_calls + state.answering_failed_calls
    return TotalsReport(
        usage=state.usage,
        usage_source=_source(calls, state.unreported_usage_calls),
        unreported_usage_calls=state.unreported_usage_calls,
        cost=state.cost,
        unpriced_model_calls=state.unpriced_model_calls,
        cost_is_incomplete=state.unpriced_model_calls > 0,
        provider_reported_costs=state.provider_reported_costs,
        model_calls=state.model_calls,
        failed_model_calls=state.failed_model_calls,
        tool_calls=len(state.tool_results),
        latency=latency,
        compaction_calls=state.compaction_calls,
    )


def _source(calls: int, unreported: int) -> Literal["provider", "partial", "unknown"]:
    if calls == 0 or unreported >= calls:
        return "unknown"
    return "partial" if unreported else "provider"


def alone(totals: TotalsReport, *, complete: bool) -> SubtreeTotals:
    """Return the sums of one Run as a subtree without branches."""
    return SubtreeTotals(
        usage=totals.usage,
        unreported_usage_calls=totals.unreported_usage_calls,
        cost=totals.cost,
        unpriced_model_calls=totals.unpriced_model_calls,
        cost_is_incomplete=totals.cost_is_incomplete,
        runs=1,
        complete=complete,
    )


def together(first: SubtreeTotals, second: SubtreeTotals) -> SubtreeTotals:
    """Return the sums of two subtrees. A cost in another currency cannot be added: it is left out
    and counted as incomplete.
    """
    cost, fits = _added(first.cost, second.cost)
    unpriced = first.unpriced_model_calls + second.unpriced_model_calls
    return SubtreeTotals(
        usage=first.usage + second.usage,
        unreported_usage_calls=first.unreported_usage_calls + second.unreported_usage_calls,
        cost=cost,
        unpriced_model_calls=unpriced,
        cost_is_incomplete=(
            not fits or first.cost_is_incomplete or second.cost_is_incomplete or unpriced > 0
        ),
        runs=first.runs + second.runs,
        complete=first.complete and second.complete,
    )


def _added(first: Cost | None, second: Cost | None) -> tuple[Cost | None, bool]:
    if first is None or second is None:
        return first or second, True
    if first.currency != second.currency:
        return first, False
    return first + second, True
