"""Admission: one atomic write makes a Run."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from weakref import WeakKeyDictionary

from psych_runtime.engine.resend import until_known
from psych_runtime.errors import AccessDenied, InvalidInput, RunNotFound, VersionNotFound
from psych_runtime.ids import RunId, VersionHash, new_run_id
from psych_runtime.log.codec import decode_log, encode
from psych_runtime.log.fold import reduce
from psych_runtime.log.jsonable import to_json_value
from psych_runtime.log.records import QueueEnqueued, RunAdmitted
from psych_runtime.log.values import QueueKind
from psych_runtime.ports.policy import Policy
from psych_runtime.ports.store import NewRun, Store
from psych_runtime.scope import Scope
from psych_runtime.spec.version import Version


@dataclass(frozen=True, slots=True)
class Dispatched:
    """Result of `dispatch`.

    Attributes:
        run_id: The new Run, or the first one that was admitted under the same key.
        created: False when the Run had been admitted before.
        version_hash: The Version that Run is pinned to.
    """

    run_id: RunId
    created: bool
    version_hash: VersionHash


async def dispatch(
    store: Store,
    version: Version | VersionHash,
    scope: Scope,
    *,
    input: dict[str, Any] | None = None,
    idempotency_key: str | None = None,
    deadline_seconds: float | None = None,
    continues: RunId | None = None,
    priority: int = 0,
    concurrency_key: str | None = None,
    policy: Policy | None = None,
    breakpoints: tuple[str, ...] = (),
    step_mode: bool = False,
) -> Dispatched:
    """Admit a Run and return at once; a Worker of the same store executes it.

    Delivery is at least once: give an ``idempotency_key`` (per tenant, at most 256 characters)
    and a repeated call returns the first Run, undamaged, whatever else it was called with.

    Args:
        store: Where the Run will live.
        version: A `Version` (stored if it is not yet), or the hash of a stored one.
        scope: Whose Run it is.
        input: JSON-shaped input. The first non-blank text among ``message``, ``input``, ``text``
            and ``prompt`` is the user's message.
        idempotency_key: See above.
        deadline_seconds: Overrides ``Limits.deadline_seconds``; time spent waiting is not counted.
        continues: The Run whose conversation this one continues. Messages that were sent to it
            for its next Run are carried over.
        priority: Within the tenant, higher is claimed first.
        concurrency_key: Runs of the tenant with the same key execute one at a time, in order.
        policy: Asked `allow_run` before anything is written.
        breakpoints: Workflow steps to pause before.
        step_mode: Pause before every workflow step.

    Raises:
        VersionNotFound: The hash is not stored.
        RunNotFound: ``continues`` is unknown, or of another tenant.
        AccessDenied: The policy refused.
        InvalidInput: An argument makes no sense.
        UnstorableValueError: ``input`` cannot be represented as JSON.
    """
    if deadline_seconds is not None and not deadline_seconds > 0:
        raise InvalidInput(f"deadline_seconds must be above 0, not {deadline_seconds!r}")
    if idempotency_key is not None and not 0 < len(idempotency_key) <= 256:
        raise InvalidInput(
            f"idempotency_key must have 1 to 256 characters, not {len(idempotency_key)}"
        )
    if (breakpoints or step_mode) and _kind(version) == "agent":
        raise InvalidInput("breakpoints and step_mode belong to workflows; this is an agent")
    resolved = await _resolve(store, version)
    if policy is not None:
        decision = await policy.allow_run(scope, resolved)
        if not decision.allowed:
            raise AccessDenied(resolved.name, decision.reason or "refused by policy")
    carried = await _carried_messages(store, scope, continues)
    run_id = new_run_id()
    now = datetime.now(UTC)
    seconds = deadline_seconds or resolved.spec.limits.deadline_seconds
    deadline_at = now + timedelta(seconds=seconds)
    admitted = RunAdmitted(
        run_id=run_id,
        seq=1,
        at=now,
        scope=scope,
        version_hash=resolved.hash,
        name=resolved.name,
        input=to_json_value(input or {}),
        idempotency_key=idempotency_key,
        deadline_at=deadline_at,
        continues_run_id=continues,
        priority=priority,
        concurrency_key=concurrency_key,
        breakpoints=breakpoints,
        step_mode=step_mode,
    )
    bodies = [encode(admitted)]
    for offset, (entry_id, payload) in enumerate(carried):
        message = QueueEnqueued(
            run_id=run_id,
            seq=2 + offset,
            at=now,
            scope=scope,
            queue=QueueKind.STEER,
            entry_id=entry_id,
            payload=payload,
        )
        bodies.append(encode(message))
    new_run = NewRun(
        run_id=run_id,
        scope=scope,
        version_hash=resolved.hash,
        name=resolved.name,
        deadline_at=deadline_at,
        idempotency_key=idempotency_key,
        priority=priority,
        concurrency_key=concurrency_key,
        continues_run_id=continues,
    )
    created = await until_known(lambda: store.create_run(new_run, bodies))
    header = created.header
    return Dispatched(
        header.run_id, created.created or header.run_id == run_id, header.version_hash
    )


def _kind(version: Version | VersionHash) -> str:
    return version.spec.kind if isinstance(version, Version) else ""


_stored_versions: WeakKeyDictionary[Store, set[VersionHash]] = WeakKeyDictionary()
"""Versions known to be stored, so that a dispatch is one write and not two."""


async def _resolve(store: Store, version: Version | VersionHash) -> Version:
    if isinstance(version, Version):
        known = _stored_versions.setdefault(store, set())
        if version.hash not in known:
            await store.put_version(version)
            known.add(version.hash)
        return version
    stored = await store.get_version(version)
    if stored is None:
        raise VersionNotFound(version)
    return stored


async def _carried_messages(
    store: Store, scope: Scope, continues: RunId | None
) -> list[tuple[str, dict[str, Any]]]:
    """What was sent to the predecessor for its next Run."""
    if continues is None:
        return []
    previous = await store.get_run(continues)
    if previous is None or previous.scope.tenant != scope.tenant:
        raise RunNotFound(continues)
    if previous.purged:
        return []
    state = reduce(decode_log(continues, await store.read(continues)), run_id=continues)
    return [(entry.entry_id, entry.payload) for entry in state.pending_next_run]
