"""Every exception the runtime raises, in one leaf module.

All derive from `PsychError`. Where a built-in exception means the same, the class derives from it
too, so that an existing ``except`` clause keeps working.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any


class PsychError(Exception):
    """Base of every error the runtime raises."""


# -- Specs and builders -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ValidationIssue:
    """One problem found at publish time.

    Attributes:
        path: Where it is, dotted from the Spec's name, such as ``support.tools.lookup``.
        message: What is wrong and what to do.
    """

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


class SpecValidationError(PsychError, ValueError):
    """A Spec cannot be published; ``issues`` lists every problem at once."""

    def __init__(self, issues: Sequence[ValidationIssue]) -> None:
        self.issues: list[ValidationIssue] = list(issues)
        lines = "\n".join(f"  - {issue}" for issue in self.issues)
        count = len(self.issues)
        super().__init__(f"the Spec has {count} problem{'s' if count != 1 else ''}:\n{lines}")


class BuilderError(PsychError, ValueError):
    """A builder was asked to build something incomplete."""


class ToolSchemaError(PsychError, ValueError):
    """A function cannot be registered as a tool, or a tool name is not registered."""


# -- Stores -----------------------------------------------------------------------------------


class StoreError(PsychError):
    """Base of what a Store raises."""


class StoreUnavailable(StoreError, ConnectionError):
    """The database did not answer. Whether the write landed is unknown; an identical resend is
    safe.
    """


class SeqConflict(StoreError):
    """A write asserted a head that is no longer the log's head."""

    def __init__(self, run_id: str, seq: int) -> None:
        self.run_id = run_id
        self.seq = seq
        super().__init__(f"the log of {run_id} has moved on: its head is {seq}")


class RunNotFound(StoreError, LookupError):
    """No such Run for the caller. A Run of another tenant is answered exactly like this."""

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        super().__init__(f"no Run {run_id}")


class RunPurged(RunNotFound):
    """The Run existed; retention has removed its log."""

    def __init__(self, run_id: str) -> None:
        super().__init__(run_id)
        self.args = (f"Run {run_id} was purged by retention",)


class VersionNotFound(StoreError, LookupError):
    """No Version is stored under this hash; publish the Spec first."""

    def __init__(self, version_hash: str) -> None:
        self.version_hash = version_hash
        super().__init__(f"no Version {version_hash} in this store; publish the Spec first")


class BlobNotFound(StoreError, LookupError):
    """Nothing is stored under this blob key."""

    def __init__(self, key: object) -> None:
        self.key = key
        super().__init__(f"no blob {key}")


class GuardFailed(StoreError):
    """An external append was refused by its guard; nothing was written.

    Attributes:
        run_id: The Run.
        guard: The name of the guard that refused: ``not_settled``, ``not_aborted``,
            ``wait_open`` or ``unheld``.
    """

    def __init__(self, run_id: str, guard: str) -> None:
        self.run_id = run_id
        self.guard = guard
        super().__init__(f"Run {run_id} refused the write: guard {guard} does not hold")


class StoreRegressed(StoreError):
    """The store went back in time (a failover lost commits); the Attempt ends."""

    def __init__(self, run_id: str, expected: int, found: int) -> None:
        self.run_id = run_id
        self.expected = expected
        self.found = found
        super().__init__(
            f"the log of {run_id} went backwards: {expected} was acknowledged, the store has {found}"
        )


class SchemaVersionError(StoreError):
    """The database schema is older or newer than this adapter; names both numbers."""

    def __init__(self, found: int, needed: int) -> None:
        self.found = found
        self.needed = needed
        advice = (
            "call `await store.migrate()`"
            if found < needed
            else "upgrade the adapter to the release that wrote it"
        )
        super().__init__(
            f"the database schema is version {found}, this adapter needs {needed}: {advice}"
        )


class UnsupportedCapabilityError(StoreError, NotImplementedError):
    """The adapter declared that it does not have this capability."""


class UnstorableValueError(PsychError, ValueError):
    """A value cannot be represented in a Record; refused before anything was written."""


# -- Runs -------------------------------------------------------------------------------------


class LeaseLost(PsychError):
    """This Attempt no longer holds its Run; nothing it writes is accepted any more."""

    def __init__(self, run_id: str, worker_id: str) -> None:
        self.run_id = run_id
        self.worker_id = worker_id
        super().__init__(f"worker {worker_id} no longer holds Run {run_id}")


class RunEndedWithoutAnswer(PsychError):
    """Base of the endings that `stream_text` raises."""


class RunAborted(RunEndedWithoutAnswer):
    """The Run ended aborted, abandoned or force-settled."""

    def __init__(self, run_id: str, state: str) -> None:
        self.run_id = run_id
        self.state = state
        super().__init__(f"Run {run_id} ended {state}")


class RunFailed(RunEndedWithoutAnswer):
    """The Run ended failed; ``failure`` is the recorded `ToolFailure`, or None."""

    def __init__(self, run_id: str, failure: Any) -> None:
        self.run_id = run_id
        self.failure = failure
        detail = f": {failure.kind}: {failure.message}" if failure is not None else ""
        super().__init__(f"Run {run_id} failed{detail}")


class ToolCallCancelled(PsychError):
    """A tool noticed that its call was cancelled, and stopped; raised for it, not by the engine."""


class RunNotSuspended(PsychError):
    """`resume` on a Run (or wait) that is not waiting; ``state`` says what it is doing."""

    def __init__(self, run_id: str, state: str, detail: str = "") -> None:
        self.run_id = run_id
        self.state = state
        super().__init__(f"Run {run_id} is not waiting: it is {state}{detail}")


class RunAlreadySettled(PsychError):
    """The Run has ended; nothing can be sent to it."""

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        super().__init__(
            f"Run {run_id} has already ended; start the next one with dispatch(continues={run_id!r})"
        )


class DeadlineExceeded(PsychError):
    """A Run ran past its deadline."""

    def __init__(self, run_id: str, deadline_seconds: float) -> None:
        self.run_id = run_id
        self.deadline_seconds = deadline_seconds
        super().__init__(f"Run {run_id} ran past its deadline of {deadline_seconds:g} s")


class SuspensionExpired(PsychError):
    """`resume` came after the wait had expired."""

    def __init__(self, run_id: str, reason: str, expired_at: datetime | None = None) -> None:
        self.run_id = run_id
        self.reason = reason
        when = f" at {expired_at.isoformat()}" if expired_at else ""
        super().__init__(f"the {reason} wait of Run {run_id} expired{when}")


class WorkflowRequired(PsychError):
    """A call that only makes sense for a workflow Run was made on another Run."""

    def __init__(self, run_id: str, reason: str) -> None:
        self.run_id = run_id
        self.reason = reason
        super().__init__(f"Run {run_id}: {reason}")


class InvalidInput(PsychError, ValueError):
    """An argument of a public call was refused before anything was stored."""


class AccessDenied(PsychError, PermissionError):
    """Refused by policy, egress or narrowing."""

    def __init__(self, subject: str, reason: str) -> None:
        self.subject = subject
        self.reason = reason
        super().__init__(f"{subject}: {reason}")


class TransientError(PsychError):
    """A failure worth retrying, with the wait the other side asked for, if any (seconds)."""

    def __init__(self, message: str, retry_after_seconds: float | None = None) -> None:
        self.retry_after_seconds = retry_after_seconds
        super().__init__(message)


class CredentialNotFound(PsychError, LookupError):
    """A credential name did not resolve for this Scope."""

    def __init__(self, scope: object, name: str) -> None:
        self.scope = scope
        self.name = name
        super().__init__(f"no credential {name!r} for {scope}")


class ResponseTooLarge(PsychError):
    """An HTTP response went over its byte limit."""

    def __init__(self, url: str, limit: int) -> None:
        self.url = url
        self.limit = limit
        super().__init__(f"the response of {url} is larger than {limit} bytes")


class HttpToolError(PsychError):
    """An HTTP tool was answered with a status other than 2xx.

    Attributes:
        status_code: The status; decides whether another try may help.
        body: The beginning of the answer's body.
    """

    def __init__(self, request: str, status_code: int, body: str, note: str = "") -> None:
        self.status_code = status_code
        self.body = body
        said = f": {body}" if body else ", without a body"
        super().__init__(f"{request} was answered with status {status_code}{note}{said}")


# -- Plugins ----------------------------------------------------------------------------------


class PluginError(PsychError):
    """Base of plugin discovery errors."""


class PluginNotInstalledError(PluginError, ModuleNotFoundError):
    """The distribution that provides this is not installed; the message has the install line."""


class PluginLoadError(PluginError, ImportError):
    """An installed plugin could not be imported; the cause is chained."""


class PluginConflictError(PluginError):
    """Two distributions provide the same name."""


class PluginIncompatibleError(PluginError):
    """A plugin was built for another plugin API version."""


class UnknownAdapterError(PluginError, LookupError):
    """No adapter of this name or URL scheme; the message lists what there is."""
