"""Calls that were made before and would only give the same result again."""

from __future__ import annotations

from psych_runtime.engine.agent.activation import Activation
from psych_runtime.log.fold.repetition import call_key
from psych_runtime.log.values import ModelToolCall
from psych_runtime.tools.guards import RepetitionVerdict, assess_repetition


def repetition_of(on: Activation, call: ModelToolCall) -> RepetitionVerdict:
    """Judge ``call`` by how often in a row it has already given one and the same result."""
    key = call_key(call.name, call.arguments)
    tally = on.journal.state.repeat_counts.get(key)
    limits = on.spec.limits
    return assess_repetition(
        key,
        1 + (tally.count if tally is not None else 0),
        threshold=limits.repeat_call_threshold,
        hard_stop=limits.repeat_call_hard_stop,
    )
