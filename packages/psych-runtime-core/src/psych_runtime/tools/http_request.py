"""From an HTTP tool's template and a model's arguments to a request."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from psych_runtime.ports.policy import ToolClass
from psych_runtime.spec.definitions import ToolDefinition
from psych_runtime.spec.tools import HttpTool

_PLACEHOLDER: Final = re.compile(r"\{([^{}/?#]+)\}")
_WITH_BODY: Final = frozenset({"POST", "PUT", "PATCH"})


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """What is sent.

    Attributes:
        url: With every placeholder filled.
        params: Query parameters to add.
        content: The body; None for none.
        headers: Without credentials.
    """

    url: str
    params: dict[str, list[str]]
    content: bytes | None
    headers: dict[str, str]


def http_definition(tool: HttpTool) -> ToolDefinition:
    """Return how an HTTP tool is shown to the model. GET is read-only, anything else a write."""
    tool_class = ToolClass.READ_ONLY if tool.method == "GET" else ToolClass.WRITE
    return ToolDefinition(
        name=tool.name,
        description=tool.description,
        input_schema=tool.input_schema or {"type": "object", "properties": {}},
        annotations=frozenset({tool_class.value}),
    )


def build_request(tool: HttpTool, arguments: Mapping[str, Any]) -> HttpRequest:
    """Fill the URL's placeholders; the other arguments become the JSON body or the query.

    Raises:
        ValueError: A placeholder has no usable value, or a value cannot be JSON.
    """
    template, mark, query = tool.url.partition("?")
    used = set(_PLACEHOLDER.findall(tool.url))
    path = _PLACEHOLDER.sub(lambda match: _filled(tool, match[1], arguments, True), template)
    _check_segments(tool, template, path)
    query = _PLACEHOLDER.sub(lambda match: _filled(tool, match[1], arguments, False), query)
    rest = {name: value for name, value in arguments.items() if name not in used}
    headers = dict(tool.headers)
    if tool.method not in _WITH_BODY:
        return HttpRequest(f"{path}{mark}{query}", _params(rest), None, headers)
    content = json.dumps(rest, allow_nan=False, separators=(",", ":")).encode()
    if not any(name.lower() == "content-type" for name in headers):
        headers["content-type"] = "application/json"
    return HttpRequest(f"{path}{mark}{query}", {}, content, headers)


def _filled(tool: HttpTool, name: str, arguments: Mapping[str, Any], in_path: bool) -> str:
    value = arguments.get(name)
    if value is None:
        raise ValueError(f"{tool.name} needs the argument {name!r}: it is part of the URL")
    if isinstance(value, dict | list):
        raise ValueError(f"the argument {name!r} is part of the URL: pass a text or a number")
    words = _words(value)
    if in_path and not words:
        raise ValueError(f"the argument {name!r} is part of the URL's path and cannot be empty")
    return quote(words, safe="", errors="replace")


def _check_segments(tool: HttpTool, template: str, path: str) -> None:
    """Refuse values that would climb to another path."""
    before, after = template.split("/"), path.split("/")
    for written, segment in zip(before, after, strict=True):
        if segment in (".", "..") and written != segment:
            raise ValueError(f"{segment!r} cannot be a part of the URL's path of {tool.name}")


def _params(rest: Mapping[str, Any]) -> dict[str, list[str]]:
    params: dict[str, list[str]] = {}
    for name, value in rest.items():
        values = value if isinstance(value, list) else [value]
        words = [_sendable(_words(item)) for item in values if item is not None]
        if words:
            params[_sendable(name)] = words
    return params


def _words(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict | list):
        return json.dumps(value, allow_nan=False, separators=(",", ":"))
    return str(value)


def _sendable(words: str) -> str:
    return words.encode("utf-8", "replace").decode()
