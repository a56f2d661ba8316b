"""How an input or a queued payload becomes a user message."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

MESSAGE_KEYS = ("message", "input", "text", "prompt")
"""Where the text of a user message is looked for, in this order."""


def first_user_message(value: Mapping[str, Any]) -> str | None:
    """Return the user message that an input stands for.

    The first of ``message``, ``input``, ``text`` and ``prompt`` that is a string with something
    in it; otherwise the whole mapping as JSON with sorted keys; None for an empty mapping.
    """
    for key in MESSAGE_KEYS:
        text = value.get(key)
        if isinstance(text, str) and text.strip():
            return text
    if not value:
        return None
    return json.dumps(dict(value), ensure_ascii=False, sort_keys=True, default=str)
