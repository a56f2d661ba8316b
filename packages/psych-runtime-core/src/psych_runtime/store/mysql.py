"""`MySQLStore`, at its documented path; it lives in ``psych-runtime-mysql``."""

from psych_runtime.plugins.shim import provided_by

with provided_by("mysql"):
    from psych_runtime_mysql.store import MySQLStore  # type: ignore[import-not-found, unused-ignore]

__all__ = ["MySQLStore"]
