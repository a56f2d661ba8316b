"""The egress port: which addresses the runtime may talk to."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Protocol, runtime_checkable

from psych_runtime.scope import Scope


@runtime_checkable
class EgressPolicy(Protocol):
    """Decides on every outbound HTTP request before a socket is opened."""

    def allow(self, scope: Scope, url: str) -> bool | Awaitable[bool]:
        """Say whether a Scope may reach a URL. May be an ``async def`` or a plain function.

        ``url`` is whole and normalised, with the query parameters as they will be sent. An
        exception refuses the request too.
        """
        ...
