"""`PostgresStore`, at its documented path; it lives in ``psych-runtime-postgres``."""

from psych_runtime.plugins.shim import provided_by

with provided_by("postgres"):
    from psych_runtime_postgres.store import PostgresStore  # type: ignore[import-not-found, unused-ignore]

__all__ = ["PostgresStore"]
