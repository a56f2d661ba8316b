"""Model-facing names of tools that live elsewhere: MCP servers and A2A peers."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

MAX_LENGTH = 64
"""The longest tool name that model providers accept."""

_DIGEST_LENGTH = 10
_KEPT = MAX_LENGTH - _DIGEST_LENGTH - 1
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")
_DIGEST = re.compile(rf"_[0-9a-f]{{{_DIGEST_LENGTH}}}")


def mcp_tool_name(server: str, tool: str) -> str:
    """Return the model-facing name of a server's tool: ``server__tool`` where that is a valid name.

    Otherwise unsafe characters become ``_``, and the first 53 characters and ten hex digits of the
    original's SHA-256 make a name of at most 64 characters that no other tool has.

    Args:
        server: The server's name in the Spec.
        tool: The tool's name on the server.

    Example:
        >>> mcp_tool_name("crm", "find_customer")
        'crm__find_customer'
    """
    return _minted(f"{server}__{tool}")


def a2a_tool_name(peer: str, skill_id: str) -> str:
    """Return the model-facing name of a peer's skill, made like `mcp_tool_name`."""
    return _minted(f"{peer}__{skill_id}")


def qualified_owner(name: str, owners: Iterable[str]) -> str | None:
    """Return the server or peer that a model-facing name belongs to, or None.

    Args:
        name: A tool name as the model uses it.
        owners: Names of servers and peers. When several fit, the longest one wins.
    """
    found: str | None = None
    for owner in owners:
        if _belongs(name, owner_prefix(owner)) and (found is None or len(owner) > len(found)):
            found = owner
    return found


def owner_prefix(owner: str) -> str:
    """Return what the names of an owner's tools start with, before any shortening."""
    return _UNSAFE.sub("_", owner) + "__"


def _belongs(name: str, prefix: str) -> bool:
    if name.startswith(prefix):
        return len(name) > len(prefix)
    shortened = len(name) == MAX_LENGTH and _DIGEST.fullmatch(name[_KEPT:]) is not None
    return shortened and len(prefix) > _KEPT and name[:_KEPT] == prefix[:_KEPT]


def _minted(original: str) -> str:
    safe = _UNSAFE.sub("_", original)
    if safe == original and len(safe) <= MAX_LENGTH:
        return safe
    digest = hashlib.sha256(original.encode()).hexdigest()[:_DIGEST_LENGTH]
    return f"{safe[:_KEPT]}_{digest}"
