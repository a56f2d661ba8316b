"""Opening an adapter by URL."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from psych_runtime.plugins.registry import PluginRegistry
    from psych_runtime.ports.model import ModelClient
    from psych_runtime.ports.store import Store


def store_from_url(url: str, *, registry: PluginRegistry | None = None) -> Store:
    """Open a store: ``memory://``, ``sqlite:///runs.db``, ``postgresql://…`` or a plugin's own.

    Nothing connects yet; call ``await store.migrate()`` next.

    Args:
        url: Its scheme picks the adapter, the rest is the adapter's.
        registry: Where to look; None: the installed plugins.

    Raises:
        PluginNotInstalledError: The adapter is one of ours and not installed; the message has the
            install line.
        UnknownAdapterError: No adapter answers to the scheme, or there is none.
        PluginError: The plugin that answers is broken, disabled, or one of two.
    """
    store: Store = _resolve("StoreAdapter", url, registry)(url)
    return store


def model_from_url(url: str, *, registry: PluginRegistry | None = None) -> ModelClient:
    """Open a model client by URL. Arguments and errors as in `store_from_url`."""
    client: ModelClient = _resolve("ModelAdapter", url, registry)(url)
    return client


def sandbox_from_url(url: str, *, registry: PluginRegistry | None = None) -> Any:
    """Open a sandbox by URL. Arguments and errors as in `store_from_url`."""
    return _resolve("SandboxAdapter", url, registry)(url)


def _resolve(kind: str, url: str, registry: PluginRegistry | None) -> Callable[[str], Any]:
    # Imported here: importing psych_runtime must load neither pluggy nor a plugin.
    from psych_runtime.plugins import descriptors
    from psych_runtime.plugins.registry import default_registry

    adapter = (registry or default_registry()).for_url(getattr(descriptors, kind), url)
    opener: Callable[[str], Any] = adapter.open
    return opener
