"""The checks on an HTTP tool's argument schema."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

_JSON_TYPES: Final = frozenset(
    {"object", "array", "string", "number", "integer", "boolean", "null"}
)


def schema_problems(schema: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with an argument schema: the field, and why.

    Looked at are the root's ``type``, ``properties`` and ``required``.
    """
    root = schema.get("type")
    if root is None:
        yield (
            "type",
            'the schema says no "type"; write {"type": "object", "properties": {}} for a tool '
            "without arguments",
        )
    elif not isinstance(root, str) or root not in _JSON_TYPES:
        yield "type", f'{root!r} is not a JSON Schema type; arguments are an "object"'
    elif root != "object":
        yield "type", f'arguments are always an "object", not {root!r}'
    properties = schema.get("properties", {})
    if not isinstance(properties, dict):
        yield "properties", f"must be an object of argument schemas, not {properties!r}"
        properties = None
    required = schema.get("required", [])
    if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
        yield "required", f"must be a list of argument names, not {required!r}"
    elif properties is not None:
        for name in required:
            if name not in properties:
                yield "required", f"{name!r} is not one of the properties"
