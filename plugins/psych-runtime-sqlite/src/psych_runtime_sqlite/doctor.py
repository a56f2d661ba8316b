"""What ``psych doctor --store sqlite:///…`` looks at before the store is opened."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from urllib.parse import unquote

from psych_runtime.errors import StoreError
from psych_runtime.plugins.descriptors import DoctorFinding

from psych_runtime_sqlite.connection import connect

_SYNCHRONOUS = ("OFF", "NORMAL", "FULL", "EXTRA")
_FULL = 2


def durability(url: str | None) -> Iterable[DoctorFinding]:
    """Report whether a committed write survives a power cut, on the connection the store uses."""
    path = Path(unquote((url or "").partition("://")[2].removeprefix("/")))
    if not path.is_file():
        yield DoctorFinding(
            ok=False,
            text=f"there is no file {path}",
            advice="the first `await store.migrate()` creates it; check the path",
        )
        return
    try:
        connection = connect(str(path))
    except StoreError as error:
        yield DoctorFinding(ok=False, text=str(error))
        return
    with closing(connection):
        (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
        (level,) = connection.execute("PRAGMA synchronous").fetchone()
    yield DoctorFinding(
        ok=mode == "wal",
        text=f"journal_mode {mode}",
        advice="" if mode == "wal" else "this file system cannot share a WAL; use a local disk",
    )
    yield DoctorFinding(
        ok=level >= _FULL,
        text=f"synchronous {_SYNCHRONOUS[level]}",
        advice="" if level >= _FULL else "a power cut can lose the last writes",
    )
