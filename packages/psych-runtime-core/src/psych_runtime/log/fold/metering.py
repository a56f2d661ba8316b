"""Adding up tokens and money."""

from __future__ import annotations

from psych_runtime.log.corruption import CorruptionReason
from psych_runtime.log.fold.refusing import refuse
from psych_runtime.log.fold.state import RunStateView
from psych_runtime.log.records import RecordBase
from psych_runtime.spec.usage import Cost, Usage


def check_cost(state: RunStateView, record: RecordBase, cost: Cost | None) -> None:
    """Refuse a second currency."""
    if cost is not None and state.cost is not None and cost.currency != state.cost.currency:
        refuse(
            record,
            CorruptionReason.INCONSISTENT_COST,
            f"a cost in {cost.currency} in a Run that counts in {state.cost.currency}",
        )


def add_usage(state: RunStateView, usage: Usage, *, reported: bool, cost: Cost | None) -> None:
    """Count one call to a model."""
    if reported:
        state.usage = state.usage + usage
    else:
        state.unreported_usage_calls += 1
        if usage.total_billable:
            state.usage = state.usage + usage
    if cost is None:
        state.unpriced_model_calls += 1
        return
    state.cost = cost if state.cost is None else state.cost + cost
    if cost.source == "provider":
        state.provider_reported_costs += 1
