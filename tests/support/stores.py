"""The stores that the end-to-end tests run on."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from psych_runtime.ports.store import Store
from psych_runtime.store.memory import InMemoryStore
from psych_runtime.store.sqlite import SQLiteStore

STORES = ("memory", "sqlite")


def open_store(kind: str, folder: Path, clock: Callable[[], datetime] | None = None) -> Store:
    """A fresh store of ``kind``; SQLite files go under ``folder``."""
    if kind == "memory":
        return InMemoryStore(clock=clock)
    options: dict[str, Any] = {} if clock is None else {"clock": clock}
    number = len(list(folder.glob("*.db")))
    return SQLiteStore(folder / f"psych-{number}.db", **options)
