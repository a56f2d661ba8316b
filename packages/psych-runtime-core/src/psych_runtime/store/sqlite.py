"""`SQLiteStore`, at its documented path; it lives in ``psych-runtime-sqlite``."""

from psych_runtime.plugins.shim import provided_by

with provided_by("sqlite"):
    from psych_runtime_sqlite.store import SQLiteStore

__all__ = ["SQLiteStore"]
