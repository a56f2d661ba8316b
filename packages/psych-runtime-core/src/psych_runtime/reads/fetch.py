"""Reading a Run from a Store: the header, then the log, with the caller's Scope checked first."""

from __future__ import annotations

from psych_runtime.errors import RunNotFound, RunPurged
from psych_runtime.ids import RunId
from psych_runtime.log.codec import decode, decode_log
from psych_runtime.log.corruption import CorruptionReason, CorruptLog
from psych_runtime.log.fold import reduce
from psych_runtime.log.fold.state import RunStateView
from psych_runtime.log.records import Record
from psych_runtime.ports.store import RunHeader, Store, StoredRecord
from psych_runtime.scope import Scope


async def load_header(store: Store, run_id: RunId, scope: Scope | None = None) -> RunHeader:
    """Return a Run's header.

    Args:
        store: Where the Run is.
        run_id: The Run.
        scope: The caller's Scope; its tenant must be the Run's. None: any Run.

    Raises:
        RunNotFound: No such Run, or it belongs to another tenant (the answer is the same).
        RunPurged: Retention has removed its log.
    """
    header = await store.get_run(run_id)
    if header is None or (scope is not None and header.scope.tenant != scope.tenant):
        raise RunNotFound(run_id)
    if header.purged:
        raise RunPurged(run_id)
    return header


async def load(
    store: Store, run_id: RunId, scope: Scope | None = None
) -> tuple[RunHeader, tuple[Record, ...]]:
    """Return a Run's header and its whole log; no record is read before the Scope is checked.

    Raises:
        RunNotFound, RunPurged: See `load_header`.
        CorruptLog: The log has a gap or does not decode.
    """
    header = await load_header(store, run_id, scope)
    stored = await store.read(run_id)
    if not stored or not _whole(stored, header, after=0, limit=None):
        header = await load_header(store, run_id, scope)
        raise _gap(run_id, stored, after=0)
    return header, tuple(decode_log(run_id, stored, header.scope))


async def load_range(
    store: Store,
    header: RunHeader,
    *,
    after: int = 0,
    limit: int | None = None,
) -> tuple[Record, ...]:
    """Return the records of a Run after seq ``after``, at most ``limit``.

    Raises:
        RunPurged: The log was removed in the meantime.
        CorruptLog: There is a gap, or a record does not decode.
    """
    stored = await store.read(header.run_id, after=after, limit=limit)
    if not _whole(stored, header, after=after, limit=limit):
        await load_header(store, header.run_id)
        raise _gap(header.run_id, stored, after=after)
    return tuple(decode(header.run_id, header.scope, item.seq, item.body) for item in stored)


async def load_state(
    store: Store, run_id: RunId, scope: Scope | None = None
) -> tuple[RunHeader, tuple[Record, ...], RunStateView]:
    """Return a Run's header, its log, and the fold of it.

    Raises:
        RunNotFound, RunPurged, CorruptLog: See `load`.
    """
    header, records = await load(store, run_id, scope)
    return header, records, reduce(records, run_id=run_id)


def _whole(stored: list[StoredRecord], header: RunHeader, *, after: int, limit: int | None) -> bool:
    """Whether these are the records after ``after``, up to the header's head or the limit."""
    if any(item.seq != after + offset for offset, item in enumerate(stored, start=1)):
        return False
    wanted = max(header.head_seq - after, 0)
    return len(stored) >= (wanted if limit is None else min(wanted, limit))


def _gap(run_id: RunId, stored: list[StoredRecord], *, after: int) -> CorruptLog:
    """Return the error for a log in which a seq is missing after ``after``."""
    expected = after + 1
    for item in stored:
        if item.seq != expected:
            break
        expected += 1
    found = next((item.seq for item in stored if item.seq > expected), None)
    detail = f"record {expected} is missing" + (f", the next one is {found}" if found else "")
    return CorruptLog(CorruptionReason.NON_CONSECUTIVE_SEQ, run_id, expected, detail)
