"""The secrets port: credential names in Specs become values only here, per Scope."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from pydantic import SecretStr

from psych_runtime.scope import Scope


@dataclass(frozen=True, slots=True)
class ResolvedCredential:
    """A credential's value, and a name for it that is safe to keep.

    Attributes:
        identity: The same for the same value, another one after it changes; used as a key for
            pooled connections. See `stable_credential_identity`.
        secret: The value; masked when printed.
    """

    identity: str
    secret: SecretStr


@runtime_checkable
class SecretResolver(Protocol):
    """Looks credentials up."""

    async def resolve(self, scope: Scope, name: str) -> ResolvedCredential | None:
        """Return the credential that ``scope`` has under ``name``, or None.

        Raises:
            TransientError: The lookup failed and may work later.
        """
        ...


def stable_credential_identity(scope: Scope, name: str, value: str) -> str:
    """Return a digest over tenant, principal, name and value, from which none can be read."""
    digest = hashlib.sha256()
    for part in (scope.tenant, scope.principal, name, value):
        data = b"" if part is None else part.encode("utf-8", "surrogatepass")
        # The length goes first, so that moving a character to the next part changes the digest.
        size = -1 if part is None else len(data)
        digest.update(b"%d:" % size + data)
    return digest.hexdigest()


class InMemorySecretResolver:
    """Credentials kept in this process, per tenant, principal and name.

    Example:
        >>> secrets = InMemorySecretResolver()
        >>> secrets.set(Scope(tenant="acme"), "crm", "token")
    """

    def __init__(self) -> None:
        self._values: dict[tuple[str, str | None, str], str] = {}

    def set(self, scope: Scope, name: str, value: str | SecretStr) -> None:
        """Store ``value``, in place of an earlier one."""
        text = value.get_secret_value() if isinstance(value, SecretStr) else value
        self._values[(*scope.pool_key, name)] = text

    def clear(self, scope: Scope, name: str) -> None:
        """Forget a credential; nothing happens when there is none."""
        self._values.pop((*scope.pool_key, name), None)

    async def resolve(self, scope: Scope, name: str) -> ResolvedCredential | None:
        """Return the credential of exactly this tenant and principal, or None."""
        value = self._values.get((*scope.pool_key, name))
        if value is None:
            return None
        return ResolvedCredential(stable_credential_identity(scope, name, value), SecretStr(value))
