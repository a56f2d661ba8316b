"""What the core itself provides, declared through the same hooks as everybody else's adapters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from psych_runtime.plugins.descriptors import StoreAdapter
from psych_runtime.plugins.hookspecs import hookimpl

if TYPE_CHECKING:
    from psych_runtime.ports.store import Store

PSYCH_PLUGIN_API = 1


def _open_memory(url: str) -> Store:
    from psych_runtime.store.memory import InMemoryStore

    return InMemoryStore()


@hookimpl
def psych_stores() -> Iterable[StoreAdapter]:
    """Declare the in-memory store; every `memory://` URL opens a new, empty one."""
    yield StoreAdapter(
        name="memory",
        schemes=("memory",),
        summary="In-memory reference store; its data dies with the process",
        open=_open_memory,
    )
