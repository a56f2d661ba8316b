"""What a tool can say about a call of its own that nobody saw the end of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Self

Verdict = Literal["happened", "did_not_happen", "unknown"]


@dataclass(frozen=True, slots=True)
class Reconciliation:
    """A reconciler's answer: did the call that was cut off by a crash take effect?

    Attributes:
        verdict: ``happened``, ``did_not_happen`` or ``unknown``.
        result: What the call returned, or would have returned, when it happened.
        detail: Why it is unknown, for people.

    Example:
        ```python
        async def find_charge(cents: int, context: ToolContext) -> Reconciliation:
            charge = await payments.find(context.idempotency_key)
            if charge is None:
                return Reconciliation.did_not_happen()
            return Reconciliation.happened(charge.id)


        @registry.register(reconcile=find_charge)
        async def charge(cents: int, context: ToolContext) -> str: ...
        ```
    """

    verdict: Verdict
    result: Any = None
    detail: str = ""

    @classmethod
    def happened(cls, result: Any = None) -> Self:
        """The effect is there; ``result`` answers the call, and it is not made again."""
        return cls("happened", result)

    @classmethod
    def did_not_happen(cls) -> Self:
        """There is no effect; the call is made again."""
        return cls("did_not_happen")

    @classmethod
    def unknown(cls, detail: str = "") -> Self:
        """It cannot be found out; the call is settled as unknown unless it is safe to retry."""
        return cls("unknown", detail=detail)
