"""How values look in columns: times as microseconds, waits and outboxes as JSON."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import accumulate

from psych_runtime.errors import UnstorableValueError
from psych_runtime.ids import RunId
from psych_runtime.ports.store import NewRun, OpenWait, OutboxEntry, StoredRecord
from psych_runtime.scope import Scope

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def from_time(value: datetime) -> int:
    """Microseconds since 1970, UTC."""
    return (value - _EPOCH) // _MICROSECOND


def to_time(value: int) -> datetime:
    """The reverse of `from_time`."""
    return _EPOCH + timedelta(microseconds=value)


def from_optional_time(value: datetime | None) -> int | None:
    """`from_time`, or None."""
    return None if value is None else from_time(value)


def to_optional_time(value: int | None) -> datetime | None:
    """`to_time`, or None."""
    return None if value is None else to_time(value)


def from_waits(waits: tuple[OpenWait, ...]) -> str | None:
    """Open waits as JSON; None when there are none."""
    if not waits:
        return None
    return json.dumps(
        [[w.wait_id, from_time(w.expires_at), from_optional_time(w.wake_at)] for w in waits]
    )


def to_waits(text: str | None) -> tuple[OpenWait, ...]:
    """The reverse of `from_waits`."""
    if text is None:
        return ()
    return tuple(
        OpenWait.model_construct(
            wait_id=wait_id, expires_at=to_time(expires), wake_at=to_optional_time(wake)
        )
        for wait_id, expires, wake in json.loads(text)
    )


def from_outbox(outbox: tuple[OutboxEntry, ...]) -> str | None:
    """Outbox entries as JSON; None when there are none."""
    if not outbox:
        return None
    return json.dumps([[e.key, e.target_run_id, b64encode(e.body).decode()] for e in outbox])


def to_outbox(text: str | None) -> tuple[OutboxEntry, ...]:
    """The reverse of `from_outbox`."""
    if text is None:
        return ()
    return tuple(
        OutboxEntry.model_construct(key=key, target_run_id=RunId(target), body=b64decode(body))
        for key, target, body in json.loads(text)
    )


def from_scope(scope: Scope) -> str:
    """A Scope as JSON."""
    return json.dumps([scope.tenant, scope.principal, scope.labels])


@lru_cache(maxsize=1024)
def to_scope(text: str) -> Scope:
    """The reverse of `from_scope`."""
    tenant, principal, labels = json.loads(text)
    return Scope(tenant=tenant, principal=principal, labels=labels)


def from_bodies(bodies: Sequence[bytes]) -> tuple[str, bytes]:
    """A batch as one row: the lengths, and the bodies one after the other."""
    return ",".join(str(len(body)) for body in bodies), b"".join(bodies)


def to_records(last: int, lengths: str, bodies: bytes) -> list[StoredRecord]:
    """The reverse of `from_bodies`, with the batch's last seq."""
    ends = list(accumulate(map(int, lengths.split(","))))
    seq = last - len(ends)
    records: list[StoredRecord] = []
    start = 0
    for end in ends:
        seq += 1
        records.append(StoredRecord(seq, bodies[start:end]))
        start = end
    return records


def check_new_run(run: NewRun) -> None:
    """Refuse a Run with text or numbers that SQLite cannot keep exactly, before it is queued.

    Raises:
        UnstorableValueError: Naming the field.
    """
    texts = {
        "run_id": run.run_id,
        "scope.tenant": run.scope.tenant,
        "version_hash": run.version_hash,
        "name": run.name,
        "idempotency_key": run.idempotency_key,
        "concurrency_key": run.concurrency_key,
        "parent_run_id": run.parent_run_id,
        "continues_run_id": run.continues_run_id,
    }
    for field, text in texts.items():
        if text is not None:
            check_text(field, text)
    if not -(2**63) <= run.priority < 2**63:
        raise UnstorableValueError(f"priority {run.priority} does not fit 64 bits")
    from_time(run.deadline_at)


def check_text(field: str, text: str) -> None:
    """Refuse text with a lone surrogate.

    Raises:
        UnstorableValueError: Naming ``field``.
    """
    try:
        text.encode()
    except UnicodeEncodeError as exc:
        raise UnstorableValueError(
            f"{field} has a lone surrogate at character {exc.start}, which SQLite text cannot hold"
        ) from exc
