"""What a plugin declares: frozen descriptions, cheap to make, that open nothing by themselves.

A descriptor names an adapter and says how to open it. Its ``open`` is the only place where a
driver is imported or a file is touched.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from psych_runtime.ports.model import ModelClient
    from psych_runtime.ports.store import Store

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,63}")
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]{0,63}")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Descriptor:
    name: str
    summary: str

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name):
            raise ValueError(
                f"{type(self).__name__} name {self.name!r} is not usable: start with a lower-case "
                "letter, then lower-case letters, digits, '-' or '_', at most 64 characters"
            )
        schemes = getattr(self, "schemes", ())
        if isinstance(schemes, str):
            raise ValueError(
                f"{type(self).__name__} {self.name!r}: schemes must be a tuple of strings, "
                f"got the string {schemes!r}"
            )
        for scheme in schemes:
            if not _SCHEME.fullmatch(scheme):
                raise ValueError(
                    f"{type(self).__name__} {self.name!r}: {scheme!r} is not a URL scheme "
                    "(lower case, without '://')"
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreAdapter(_Descriptor):
    """A Store that `store_from_url` can open.

    Attributes:
        name: Unique among stores, such as ``postgres``.
        summary: One line for listings.
        schemes: URL schemes it answers to, such as ``("postgresql", "postgres")``.
        capabilities: Optional behaviour it has, such as ``durable`` or ``listen``; the contract
            suite checks each declared one.
        open: Builds the Store for a URL. Must not block on the network: connect on first use.
    """

    schemes: tuple[str, ...]
    open: Callable[[str], Store]
    capabilities: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class BlobStoreAdapter(_Descriptor):
    """A blob store.

    Attributes:
        name: Unique among blob stores, such as ``s3``.
        summary: One line for listings.
        schemes: URL schemes it answers to.
        capabilities: Optional behaviour it has.
        open: Builds the blob store for a URL.
    """

    schemes: tuple[str, ...]
    open: Callable[[str], Any]
    capabilities: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAdapter(_Descriptor):
    """A model client that `model_from_url` can open.

    Attributes:
        name: Unique among models, such as ``openai``.
        summary: One line for listings.
        schemes: URL schemes it answers to.
        capabilities: Optional behaviour it has.
        open: Builds the client for a URL. Must not connect.
    """

    schemes: tuple[str, ...]
    open: Callable[[str], ModelClient]
    capabilities: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSourceAdapter(_Descriptor):
    """A source of tools that live in another process, such as an MCP server.

    Attributes:
        name: Unique among tool sources; also the kind of source it serves, such as ``mcp``.
        summary: One line for listings.
        open: Builds the tool source; the keyword arguments are its own.
    """

    open: Callable[..., Any]


def _always_available() -> str | None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxAdapter(_Descriptor):
    """A sandbox that `sandbox_from_url` can open.

    Attributes:
        name: Unique among sandboxes, such as ``bubblewrap``.
        summary: One line for listings.
        schemes: URL schemes it answers to.
        open: Builds the sandbox for a URL.
        available: Returns None when this machine can run it, else the reason why not. May look
            for a program; must not start one. Default: always available.
    """

    schemes: tuple[str, ...]
    open: Callable[[str], Any]
    available: Callable[[], str | None] = _always_available


@dataclass(frozen=True, slots=True, kw_only=True)
class TelemetryAdapter(_Descriptor):
    """A telemetry backend.

    Attributes:
        name: Unique among telemetry backends, such as ``otel``.
        summary: One line for listings.
        open: Builds it; the keyword arguments are its own.
    """

    open: Callable[..., Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectTemplate(_Descriptor):
    """A project that ``psych new --template NAME`` can write.

    Attributes:
        name: Unique among templates, such as ``minimal``.
        summary: One line for listings.
        files: Takes the project's name and returns the text of each file by its relative path,
            with ``/`` between folders.
    """

    files: Callable[[str], Mapping[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorFinding:
    """One line of ``psych doctor``.

    Attributes:
        ok: False makes ``psych doctor`` exit with 1.
        text: What was looked at and what was found.
        advice: What to do about it; empty when there is nothing to do.
    """

    ok: bool
    text: str
    advice: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorCheck(_Descriptor):
    """A check that ``psych doctor`` runs.

    Attributes:
        name: Unique among checks.
        summary: The heading of its section.
        run: Does the check. Gets the URL given with ``--store``, or None when it has no schemes.
        schemes: Empty: runs in every ``psych doctor`` and must not use the network. Otherwise it
            runs only for ``psych doctor --store URL`` with one of these schemes.
    """

    run: Callable[[str | None], Iterable[DoctorFinding]]
    schemes: tuple[str, ...] = ()


Descriptor = (
    StoreAdapter
    | BlobStoreAdapter
    | ModelAdapter
    | ToolSourceAdapter
    | SandboxAdapter
    | TelemetryAdapter
    | ProjectTemplate
    | DoctorCheck
)
"""Everything a hook may return."""
