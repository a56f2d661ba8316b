"""What the model is told in a turn, and a small cache of it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable

from psych_runtime.model.prompt import prompt_digest
from psych_runtime.spec.definitions import ToolDefinition


class Offer:
    """The system prompt, the tools, and their digest."""

    __slots__ = ("definitions", "digest", "names", "system_prompt")

    def __init__(self, system_prompt: str, definitions: tuple[ToolDefinition, ...]) -> None:
        self.system_prompt = system_prompt
        self.definitions = definitions
        self.names = frozenset(definition.name for definition in definitions)
        self.digest = prompt_digest(system_prompt, definitions)


class OfferCache:
    """The latest offers by everything they depend on. Runs of one Version share theirs."""

    def __init__(self, size: int = 256) -> None:
        self._size = size
        self._offers: OrderedDict[Hashable, Offer] = OrderedDict()

    def get(self, key: Hashable) -> Offer | None:
        """The offer under ``key``, if it is still kept."""
        return self._offers.get(key)

    def put(self, key: Hashable, offer: Offer) -> None:
        """Keep an offer; the oldest goes when there are too many."""
        self._offers[key] = offer
        if len(self._offers) > self._size:
            self._offers.popitem(last=False)
