"""Opening a store for ``psych doctor``, and checking the log of one Run."""

from __future__ import annotations

import json

from psych_runtime.errors import RunNotFound
from psych_runtime.ids import RunId
from psych_runtime.log.codec import decode_log
from psych_runtime.log.corruption import CorruptLog
from psych_runtime.log.fold import reduce
from psych_runtime.ports.store import RunHeader, Store, StoredRecord
from psych_runtime.store.url import store_from_url

from psych_runtime_cli.output import heading, mark, plural

_PAGE = 1000


async def examine(url: str, run_id: str | None) -> int:
    """Open a store, check one Run when asked to, and return the number of problems."""
    store = store_from_url(url)
    try:
        now = await store.now()
        heading("Connection")
        mark("✓", f"the store answers; its clock says {now:%Y-%m-%d %H:%M:%S} UTC")
        return 0 if run_id is None else await _examine_run(store, RunId(run_id))
    finally:
        await store.close()


async def _examine_run(store: Store, run_id: RunId) -> int:
    header = await store.get_run(run_id)
    if header is None:
        raise RunNotFound(run_id)
    heading(f"Run {run_id}")
    ended = f" ({header.terminal_state})" if header.terminal_state else ""
    mark("✓", f"tenant {header.scope.tenant}, {header.state}{ended}, {header.head_seq} records")
    if header.purged:
        mark("·", "its log was purged by retention")
        return 0
    stored = await _read_all(store, run_id)
    problems = _check_head(header, stored)
    try:
        reduce(decode_log(run_id, stored))
    except CorruptLog as error:
        kind = _type_of(error.seq, stored)
        mark("✗", f"record {error.seq}{kind} is corrupt: {error.reason}: {error.detail}")
        mark("·", "only this Run is affected; restore its log from a backup, or admit it again")
        return problems + 1
    mark("✓", f"the log is sound: {plural(len(stored), 'record')} folded")
    return problems


async def _read_all(store: Store, run_id: RunId) -> list[StoredRecord]:
    found: list[StoredRecord] = []
    while page := await store.read(run_id, after=found[-1].seq if found else 0, limit=_PAGE):
        found += page
    return found


def _check_head(header: RunHeader, stored: list[StoredRecord]) -> int:
    last = stored[-1].seq if stored else 0
    # The log may have grown since the header was read; it never shrinks.
    if last >= header.head_seq:
        return 0
    mark("✗", f"the header counts {header.head_seq} records, the log ends at record {last}")
    return 1


def _type_of(seq: int, stored: list[StoredRecord]) -> str:
    body = next((record.body for record in stored if record.seq == seq), None)
    try:
        return f" ({json.loads(body)['t']})" if body else ""
    except (ValueError, KeyError, TypeError):
        return ""
