"""The two simplest egress policies."""

from __future__ import annotations

from psych_runtime.scope import Scope


class AllowAll:
    """Every Scope may reach every URL."""

    async def allow(self, scope: Scope, url: str) -> bool:
        """Return True."""
        return True


class DenyAll:
    """No Scope may reach anything."""

    async def allow(self, scope: Scope, url: str) -> bool:
        """Return False."""
        return False
