"""Reading the argument text that a model wrote for a tool call."""

from __future__ import annotations

import json
from typing import Any

from psych_runtime.errors import UnstorableValueError
from psych_runtime.log.jsonable import to_json_value

MALFORMED = "malformed_arguments"


def parse_arguments(raw: str) -> tuple[dict[str, Any], str | None, str]:
    """Parse the arguments of one call. Never raises.

    Blank text is no arguments. NaN and infinities are read; of equal keys the last one counts.

    Returns:
        The arguments, the kind of problem or None, and what is wrong. With a problem the arguments
        are empty: the call must be answered with it and not executed.
    """
    if not raw.strip():
        return {}, None, ""
    try:
        value = to_json_value(json.loads(raw))
    except json.JSONDecodeError as error:
        near = raw[max(0, error.pos - 20) : error.pos + 20]
        return _refused(
            f"the arguments are not valid JSON: {error.msg} at character {error.pos}, near {near!r}"
        )
    except RecursionError:
        return _refused("the arguments are nested too deeply")
    except UnstorableValueError as error:
        return _refused(f"the arguments cannot be used: {error}")
    except ValueError as error:
        return _refused(f"the arguments cannot be read: {error}")
    if not isinstance(value, dict):
        return _refused(f"the arguments must be a JSON object, but are {_kind(value)}")
    return value, None, ""


def _refused(message: str) -> tuple[dict[str, Any], str, str]:
    return {}, MALFORMED, message


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return "a string"
    return "a list" if isinstance(value, list) else "a number"
