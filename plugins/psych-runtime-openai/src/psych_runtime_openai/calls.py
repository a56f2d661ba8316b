"""Puts the pieces of streamed tool calls in order.

Providers disagree on how a piece names its call: by index, by id, by neither, or by an index that
several calls share. Here each piece is given to one call, numbered in order of appearance.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from psych_runtime.ids import new_call_id
from psych_runtime.ports.model import ToolCallDelta

_KNOWN_FIELDS = frozenset({"index", "id", "type", "function"})
UNNAMED_TOOL = "unnamed_tool"
"""The name of a call that the provider never named; no tool is called like this."""


@dataclass(slots=True)
class _Call:
    position: int
    id: str
    wire_id: str | None
    wire_index: int | None
    name: str = ""
    fragments: list[str] = field(default_factory=list)
    announced: bool = False

    @property
    def arguments(self) -> str:
        return "".join(self.fragments)

    def is_whole(self) -> bool:
        """Its arguments are a complete object already."""
        if not self.fragments or not self.fragments[-1].rstrip().endswith("}"):
            return False
        try:
            json.loads(self.arguments)
        except ValueError:
            return False
        return True


class CallAssembler:
    """Turns the ``tool_calls`` of deltas into `ToolCallDelta` events.

    Args:
        make_id: Makes the id of a call that arrives without one, or with one used already.
    """

    def __init__(self, make_id: Callable[[], str] = new_call_id) -> None:
        self._make_id = make_id
        self._calls: list[_Call] = []

    def __len__(self) -> int:
        return len(self._calls)

    def feed(self, items: list[Any]) -> Iterator[ToolCallDelta]:
        """Yield the events of one delta's ``tool_calls``."""
        for place, item in enumerate(items):
            if isinstance(item, dict):
                yield from self._piece(item, place)

    def finish(self) -> Iterator[ToolCallDelta]:
        """Yield what was held back because a call was never named."""
        for call in self._calls:
            if not call.announced:
                call.announced = True
                yield ToolCallDelta(call.position, call.id, UNNAMED_TOOL, call.arguments)

    def _piece(self, item: dict[str, Any], place: int) -> Iterator[ToolCallDelta]:
        function = item.get("function")
        function = function if isinstance(function, dict) else {}
        name = function.get("name")
        name = name if isinstance(name, str) else ""
        fragment = function.get("arguments")
        if fragment is None:
            fragment = ""
        elif not isinstance(fragment, str):
            fragment = json.dumps(fragment)
        extra = {
            key: value
            for key, value in item.items()
            if key not in _KNOWN_FIELDS and value is not None
        }
        call = self._find(item, name, fragment, place)
        call.name = call.name or name
        if fragment:
            call.fragments.append(fragment)
        if not call.announced:
            if call.name:
                call.announced = True
                yield ToolCallDelta(
                    call.position, call.id, call.name, call.arguments, extra or None
                )
            elif extra:
                yield ToolCallDelta(call.position, extra=extra)
        elif fragment or extra:
            yield ToolCallDelta(call.position, arguments_fragment=fragment, extra=extra or None)

    def _find(self, item: dict[str, Any], name: str, fragment: str, place: int) -> _Call:
        wire_id, index = item.get("id"), item.get("index")
        wire_id = wire_id if isinstance(wire_id, str) and wire_id else None
        index = index if isinstance(index, int) and not isinstance(index, bool) else None
        call = self._candidate(wire_id, index, name, place)
        if call is None or _starts_another(call, name, fragment):
            fresh = wire_id is not None and all(other.id != wire_id for other in self._calls)
            own = wire_id if wire_id is not None and fresh else self._make_id()
            call = _Call(len(self._calls), own, wire_id, index)
            self._calls.append(call)
        return call

    def _candidate(
        self, wire_id: str | None, index: int | None, name: str, place: int
    ) -> _Call | None:
        """Return the call that a piece continues, or None when it begins one."""
        latest_first = self._calls[::-1]
        if wire_id is not None:
            for call in latest_first:
                same_place = index is None or call.wire_index in (None, index)
                if call.wire_id == wire_id and same_place:
                    return call
        if index is not None:
            at = next((call for call in latest_first if call.wire_index == index), None)
            # Some servers give every call index 0 and tell them apart by id.
            return None if wire_id is not None and name and at is not None and at.name else at
        if wire_id is not None or not latest_first:
            return None
        if name:
            repeats = place == 0 and latest_first[0].name in ("", name)
            return latest_first[0] if repeats else None
        return self._calls[place] if 0 < place < len(self._calls) else latest_first[0]


def _starts_another(call: _Call, name: str, fragment: str) -> bool:
    """A name begins another call when it differs, or comes with more after whole arguments;
    otherwise a server merely repeats it.
    """
    if not name or not call.name:
        return False
    return name != call.name or (bool(fragment) and call.is_whole())
