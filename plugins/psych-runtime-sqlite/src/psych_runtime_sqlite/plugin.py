"""What this distribution offers to Psych Runtime."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING
from urllib.parse import unquote

from psych_runtime.plugins.descriptors import DoctorCheck, DoctorFinding, StoreAdapter
from psych_runtime.plugins.hookspecs import hookimpl

if TYPE_CHECKING:
    from psych_runtime.ports.store import Store

PSYCH_PLUGIN_API = 1


def _open(url: str) -> Store:
    from psych_runtime_sqlite.store import SQLiteStore

    scheme, separator, rest = url.partition("://")
    if scheme != "sqlite" or not separator or not rest.startswith("/") or rest == "/":
        raise ValueError(
            f"{url!r} names no file: write sqlite:///runs.db for a path relative to the working "
            "directory, or sqlite:////var/lib/app/runs.db for an absolute one"
        )
    return SQLiteStore(unquote(rest[1:]))


@hookimpl
def psych_stores() -> Iterable[StoreAdapter]:
    """Declare the SQLite store."""
    yield StoreAdapter(
        name="sqlite",
        schemes=("sqlite",),
        summary="One durable file, shared by the processes of one machine",
        capabilities=frozenset({"durable", "listen"}),
        open=_open,
    )


def _durability(url: str | None) -> Iterable[DoctorFinding]:
    from psych_runtime_sqlite.doctor import durability

    return durability(url)


@hookimpl
def psych_doctor_checks() -> Iterable[DoctorCheck]:
    """Declare the check of a file's durability settings."""
    yield DoctorCheck(
        name="sqlite-durability", summary="Durability", run=_durability, schemes=("sqlite",)
    )
