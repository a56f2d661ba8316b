"""From streamed call fragments to whole calls with ids of our own."""

from __future__ import annotations

from psych_runtime.engine.agent.activation import Activation
from psych_runtime.engine.agent.streaming import Streamed
from psych_runtime.ids import ToolCallId, new_call_id
from psych_runtime.log.values import ModelToolCall
from psych_runtime.tools.arguments import parse_arguments


def asked_calls(on: Activation, streamed: Streamed) -> tuple[ModelToolCall, ...]:
    """The calls of one answer, in the model's order.

    A call that must not run carries a ``problem``: it is answered as data. Ids are unique in the
    Run: an id that the model left out, or used in an earlier turn, gets one of ours, and the
    model's own is kept as ``wire_id``.
    """
    calls: list[ModelToolCall] = []
    seen: set[str] = set()
    cut_off = _cut_off(on, streamed)
    limit = on.spec.limits.max_tool_calls_per_turn
    for position, (_, parts) in enumerate(sorted(streamed.calls.items())):
        raw = "".join(parts.arguments)
        arguments, problem, _ = parse_arguments(raw)
        wire_id = parts.id or None
        if wire_id is not None and wire_id in seen:
            problem = "duplicate_call_id"
        elif cut_off:
            problem = "truncated"
        elif position >= limit:
            problem = "too_many_calls"
        if wire_id is not None and wire_id not in seen and wire_id not in on.tracker.call_ids:
            call_id = ToolCallId(wire_id)
        else:
            call_id = new_call_id()
        if wire_id is not None:
            seen.add(wire_id)
        calls.append(
            ModelToolCall(
                call_id=call_id,
                name=parts.name,
                arguments=arguments,
                raw_arguments=raw if problem is not None else None,
                problem=problem,
                wire_id=wire_id if wire_id != call_id else None,
                extra=parts.extra,
            )
        )
    return tuple(calls)


def _cut_off(on: Activation, streamed: Streamed) -> bool:
    """Whether the answer ran into the output limit, so that its last call may be half a call."""
    done = streamed.done
    if done is None or not streamed.calls:
        return False
    limit = on.spec.model.max_output_tokens
    at_limit = limit is not None and done.usage_reported and done.usage.output >= limit
    return done.finish_reason in ("length", "model_length", "max_tokens") or at_limit
