"""The in-memory reference store: one process, nothing survives it."""

from psych_runtime.store.memory.store import InMemoryStore

__all__ = ["InMemoryStore"]
