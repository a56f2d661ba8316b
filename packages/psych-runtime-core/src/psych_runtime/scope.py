"""Scope: who a Run belongs to."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

_Key = Annotated[str, StringConstraints(min_length=1, max_length=256)]
_Value = Annotated[str, StringConstraints(max_length=256)]


class Scope(BaseModel):
    """The tenancy stamp of a Run, its Records, its reads and its outbound calls.

    Only ``tenant`` is compared when access is checked; ``principal`` and ``labels`` are opaque
    and recorded as given.

    Example:
        >>> Scope(tenant="acme", principal="user-42").pool_key
        ('acme', 'user-42')
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    tenant: str = Field(min_length=1, max_length=256)
    """Isolation key, 1 to 256 characters, compared exactly."""
    principal: str | None = Field(default=None, max_length=256)
    """Acting identity, opaque."""
    labels: dict[_Key, _Value] = Field(default_factory=dict, max_length=32)
    """At most 32 labels; keys are not empty; keys and values are at most 256 characters."""

    @property
    def pool_key(self) -> tuple[str, str | None]:
        """The key under which connections may be shared: ``(tenant, principal)``."""
        return (self.tenant, self.principal)

    def __str__(self) -> str:
        return f"tenant={self.tenant} principal={self.principal}"
