"""One turn: offer tools, assemble the prompt, ask the model, record what came back."""

from __future__ import annotations

import asyncio
from typing import Any

from psych_runtime.engine.agent.activation import Activation
from psych_runtime.engine.agent.asked_calls import asked_calls
from psych_runtime.engine.agent.builtins import builtin_definitions
from psych_runtime.engine.agent.offer import Offer
from psych_runtime.engine.agent.streaming import Streamed, read_stream
from psych_runtime.engine.signals import Stopped, until_aborted
from psych_runtime.errors import AccessDenied, ToolSchemaError
from psych_runtime.log.records import (
    ModelCallFailed,
    ModelCallFinished,
    ModelCallStarted,
    PromptDefined,
    TurnStarted,
)
from psych_runtime.log.values import ModelTimings, ToolFailure
from psych_runtime.model.pricing import resolve_cost
from psych_runtime.model.prompt import assemble_system_prompt
from psych_runtime.model.transient import is_transient, retry_delay
from psych_runtime.ports.messages import SystemMessage
from psych_runtime.ports.model import ModelRequest
from psych_runtime.tools.resolver import resolve_tools


class ModelTurn:
    """Takes turns for one activation."""

    def __init__(self, activation: Activation) -> None:
        self._on = activation
        self._next_model = 0

    def offer(self) -> Offer:
        """The current offer; the same object for as long as no tool is withheld anew.

        Raises:
            AccessDenied, ToolSchemaError: The Spec's tools cannot be offered by this process.
        """
        on = self._on
        threshold = on.spec.limits.failure_streak_threshold
        streaks = on.journal.state.failure_streaks
        withheld = frozenset(tool for tool, streak in streaks.items() if streak >= threshold)
        key = (on.journal.header.version_hash, on.step_id, withheld, tuple(on.runtime.memories))
        offer = on.runtime.offers.get(key)
        if offer is None:
            resolved = resolve_tools(
                on.spec.tools,
                on.registry,
                failure_streaks=dict(streaks),
                threshold=threshold,
                extra=builtin_definitions(on.spec),
            )
            prompt = assemble_system_prompt(
                instructions=on.spec.instructions,
                description=on.spec.description,
                answer_style=on.spec.answer_style,
                memories=on.runtime.memories,
                notices=resolved.advisories,
            )
            offer = Offer(prompt, resolved.definitions)
            on.runtime.offers.put(key, offer)
        on.offered = offer.names
        return offer

    def cannot_offer(self) -> ToolFailure | None:
        """Make the offer that the calls of an earlier Attempt are judged by, unless there is one;
        return why that is impossible.
        """
        if self._on.offered is None:
            try:
                self.offer()
            except (AccessDenied, ToolSchemaError) as error:
                return ToolFailure(kind="tool_resolution", message=str(error))
        return None

    async def take(self) -> ToolFailure | None:
        """Take one turn. Returns the failure that ends the Run, or None.

        Raises:
            Stopped: The abort signal cut the call short (what had arrived is recorded).
        """
        on = self._on
        journal = on.journal
        offer = self.offer()
        turn = journal.state.turn + 1
        models = (on.spec.model.model, *on.spec.model.fallbacks)
        model = models[self._next_model % len(models)]
        journal.write(TurnStarted, turn=turn, step_id=on.step_id)
        if offer.digest not in journal.state.prompts:
            journal.write(
                PromptDefined,
                digest=offer.digest,
                system_prompt=offer.system_prompt,
                tools=offer.definitions,
                step_id=on.step_id,
            )
        journal.write(
            ModelCallStarted,
            turn=turn,
            model=model,
            prompt_digest=offer.digest,
            step_id=on.step_id,
        )
        streamed = Streamed()
        try:
            request = self._request(model, offer)
            await until_aborted(read_stream(on.model, request, streamed), on.abort)
        except Stopped as stopped:
            message = f"stopped while the model was answering: {stopped}"
            if on.abort.writes_allowed:
                self._failed(turn, model, streamed, ToolFailure(kind="aborted", message=message))
            raise
        except Exception as error:
            return await self._on_error(turn, model, len(models), streamed, error)
        self._next_model = 0
        self._finished(turn, model, streamed)
        return None

    def _request(self, model: str, offer: Offer) -> ModelRequest:
        on = self._on
        ref = on.spec.model
        system = (SystemMessage(content=offer.system_prompt),) if offer.system_prompt else ()
        return ModelRequest(
            model=model,
            messages=(*system, *on.history, *on.conversation.messages()),
            tools=offer.definitions,
            temperature=ref.temperature,
            top_p=ref.top_p,
            max_output_tokens=ref.max_output_tokens,
            reasoning_effort=ref.reasoning_effort,
            cache_breakpoints=(0,) if system else (),
            idle_timeout_seconds=on.spec.limits.stream_idle_seconds,
        )

    def _finished(self, turn: int, model: str, streamed: Streamed) -> None:
        on = self._on
        done = streamed.done
        assert done is not None
        on.journal.write(
            ModelCallFinished,
            turn=turn,
            model=model,
            usage=done.usage,
            usage_reported=done.usage_reported,
            cost=resolve_cost(
                model,
                done.usage,
                on.runtime.prices,
                done.cost,
                on.runtime.cost_policy,
                usage_reported=done.usage_reported,
            ),
            timings=_timings(streamed),
            finish_reason=done.finish_reason or "stop",
            text="".join(streamed.text),
            calls=asked_calls(on, streamed),
            reasoning="".join(streamed.reasoning),
            reasoning_blocks=tuple(streamed.reasoning_blocks),
            provider_extra=streamed.provider_extra,
            step_id=on.step_id,
        )

    def _failed(
        self,
        turn: int,
        model: str,
        streamed: Streamed,
        failure: ToolFailure,
        *,
        retry_in: float | None = None,
    ) -> None:
        extra: dict[str, Any] = {}
        if streamed.done is not None:
            extra = {"usage": streamed.done.usage, "usage_reported": streamed.done.usage_reported}
        self._on.journal.write(
            ModelCallFailed,
            turn=turn,
            model=model,
            failure=failure,
            will_retry=retry_in is not None,
            retry_delay_seconds=retry_in,
            timings=_timings(streamed),
            text="".join(streamed.text),
            step_id=self._on.step_id,
            **extra,
        )

    async def _on_error(
        self, turn: int, model: str, models: int, streamed: Streamed, error: Exception
    ) -> ToolFailure | None:
        """Record a failed call; wait and return None when the next turn should try again."""
        on = self._on
        transient = is_transient(error)
        failure = ToolFailure(
            kind=type(error).__name__, message=str(error) or repr(error), transient=transient
        )
        used = on.journal.state.transient_retries_used
        if not transient or used >= on.spec.limits.transient_retry_budget:
            self._failed(turn, model, streamed, failure)
            return failure
        self._next_model += 1
        delay = 0.0
        if self._next_model % models == 0:  # every model has been tried: only now wait
            delay = retry_delay(self._next_model // models, error)
        self._failed(turn, model, streamed, failure, retry_in=delay)
        await on.journal.commit()
        if delay > 0:
            await until_aborted(asyncio.sleep(delay), on.abort)
        return None


def _timings(streamed: Streamed) -> ModelTimings:
    return ModelTimings(
        time_to_first_token_seconds=streamed.time_to_first_token,
        stream_duration_seconds=streamed.seconds,
    )
