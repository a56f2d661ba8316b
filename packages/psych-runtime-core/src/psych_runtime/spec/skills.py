"""Instructions that an agent reads when it needs them."""

from __future__ import annotations

import re
from typing import Final

from pydantic import Field

from psych_runtime.spec.base import SpecModel
from psych_runtime.spec.names import Name
from psych_runtime.spec.tools import Text

_LINK: Final = re.compile(r"\[\[skill:([^\[\]\n]*)\]\]")


class Skill(SpecModel):
    """An instruction pack: its description is always in the prompt, its body only on demand."""

    name: Name
    """What ``load_skill`` takes."""
    description: Text = Field(min_length=1, max_length=1024)
    body: Text = Field(min_length=1)
    """May link to another skill with ``[[skill:name]]``."""


def linked_skills(text: str) -> list[str]:
    """Return the names that ``[[skill:name]]`` links in a text point to, in order, each once."""
    return list(dict.fromkeys(match.strip() for match in _LINK.findall(text)))
