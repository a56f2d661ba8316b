"""What is left of a list of names after everyone who may restrict it has done so."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence


def matches_pattern(name: str, pattern: str) -> bool:
    """Return whether a pattern covers a name: ``*``, ``prefix*`` or the exact name."""
    if pattern.endswith("*"):
        return name.startswith(pattern[:-1])
    return name == pattern


def tenant_permitted(offers: Iterable[str], allows: Sequence[str] = ()) -> list[str]:
    """Return the offered names that a tenant may use, in order.

    Args:
        offers: The names.
        allows: Patterns (see `matches_pattern`); empty permits everything.
    """
    return [name for name in offers if _covered(name, allows)]


def narrow(
    server_offers: Iterable[str],
    tenant_allows: Sequence[str] = (),
    spec_grants: Sequence[str] = (),
    callable_now: Collection[str] | None = None,
) -> list[str]:
    """Return the names that are offered, permitted, granted and callable, in the offered order.

    Args:
        server_offers: What there is.
        tenant_allows: The tenant's patterns; empty restricts nothing.
        spec_grants: The Spec's patterns; empty restricts nothing.
        callable_now: Exact names that can be called at this moment; None restricts nothing, an
            empty collection leaves nothing.

    Example:
        >>> narrow(["read", "read_all", "drop"], ["read*"], [], {"read"})
        ['read']
    """
    return [
        name
        for name in tenant_permitted(server_offers, tenant_allows)
        if _covered(name, spec_grants) and (callable_now is None or name in callable_now)
    ]


def _covered(name: str, patterns: Sequence[str]) -> bool:
    return not patterns or any(matches_pattern(name, pattern) for pattern in patterns)
