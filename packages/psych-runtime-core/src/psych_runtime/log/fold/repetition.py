"""Telling the same call with the same result from another."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from pydantic_core import PydanticSerializationError, to_json

from psych_runtime.log.records import ToolCallFinished
from psych_runtime.log.values import MediaPart


def call_key(tool: str, arguments: dict[str, Any]) -> str:
    """16 hex digits that are the same for the same tool and arguments, in any order."""
    return _short(_json([tool, _in_order(arguments)]))


def result_digest(record: ToolCallFinished) -> str:
    """16 hex digits that are the same for the same content, wherever it is stored."""
    if record.result_handle is None and not record.attachments and not record.parts:
        return _short(_json(record.result))
    content: list[Any] = [record.result_digest, record.result]
    if record.result_digest is None and record.result is None:
        content += [record.preview, record.result_bytes]
    content += [(item.name, item.sha256, item.observed_bytes) for item in record.attachments]
    content += [_part(part) for part in record.parts]
    return _short(_json(content))


def _part(part: MediaPart) -> tuple[str | None, ...]:
    data = None if part.data is None else hashlib.sha256(part.data).hexdigest()
    return (part.kind, part.content_type, part.text, data, part.uri, part.name)


def _in_order(value: Any) -> Any:
    if type(value) is dict:
        return {key: _in_order(value[key]) for key in sorted(value)}
    if type(value) is list:
        return [_in_order(item) for item in value]
    return value


def _json(value: Any) -> bytes:
    try:
        return to_json(value, inf_nan_mode="constants")
    except PydanticSerializationError:
        # Text that UTF-8 has no form for.
        return json.dumps(value).encode()


def _short(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]
