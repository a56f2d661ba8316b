"""Publishing a Spec: everything that can be wrong with it is said here, not mid-conversation."""

from __future__ import annotations

from typing import Any

from psych_runtime.ports.store import Store
from psych_runtime.spec.validation import ValidationContext, validate_spec
from psych_runtime.spec.version import Spec, Version, load_spec, make_version


async def publish(
    store: Store,
    spec: Spec | dict[str, Any] | str,
    *,
    context: ValidationContext | None = None,
) -> Version:
    """Validate a Spec and store it as an immutable Version; publishing it again returns the first.

    Args:
        store: Where the Version goes.
        spec: A Spec, or the same as a dict or JSON text.
        context: What is known of the deployment; each empty part of it skips its checks.

    Raises:
        SpecValidationError: Lists every problem at once, each with its path.
    """
    loaded = load_spec(spec)
    validate_spec(loaded, context or ValidationContext())
    version = make_version(loaded)
    stored = await store.get_version(version.hash)
    if stored is not None:
        return stored
    await store.put_version(version)
    return version
