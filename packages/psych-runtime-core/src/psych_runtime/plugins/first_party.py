"""The names that belong to this project, and how to install who provides them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class FirstParty:
    """One distribution of ours.

    Attributes:
        plugin: Its entry-point name.
        distribution: The only distribution that may use these names.
        requirement: What ``pip install`` takes, unquoted.
        names: Adapter names by kind.
        schemes: URL schemes by kind.
    """

    plugin: str
    distribution: str
    requirement: str
    names: dict[str, tuple[str, ...]] = field(default_factory=dict)
    schemes: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def install_line(self) -> str:
        """The exact shell command that installs it."""
        quoted = f"'{self.requirement}'" if "[" in self.requirement else self.requirement
        return f"pip install {quoted}"


def _one(
    kind: str, name: str, *schemes: str, plugin: str = "", requirement: str = ""
) -> FirstParty:
    plugin = plugin or name
    return FirstParty(
        plugin=plugin,
        distribution=f"psych-runtime-{plugin}",
        requirement=requirement or f"psych-runtime[{plugin}]",
        names={kind: (name,)},
        schemes={kind: schemes} if schemes else {},
    )


FIRST_PARTY: tuple[FirstParty, ...] = (
    FirstParty(
        plugin="builtin",
        distribution="psych-runtime-core",
        requirement="psych-runtime",
        names={"store": ("memory",)},
        schemes={"store": ("memory",)},
    ),
    FirstParty(
        plugin="cli",
        distribution="psych-runtime-cli",
        requirement="psych-runtime-cli",
        names={"project template": ("minimal",)},
    ),
    _one("store", "sqlite", "sqlite", requirement="psych-runtime-sqlite"),
    _one("store", "postgres", "postgresql", "postgres"),
    _one("store", "mysql", "mysql"),
    _one("store", "dynamodb", "dynamodb"),
    _one("blob store", "s3", "s3"),
    _one("model", "openai", "openai", requirement="psych-runtime-openai"),
    _one("tool source", "mcp"),
    _one("tool source", "a2a"),
    _one("telemetry backend", "otel"),
    *(
        _one("sandbox", name, name, plugin=f"sandbox-{name}")
        for name in ("subprocess", "bubblewrap", "nsjail", "container", "remote")
    ),
)
"""Every distribution of this project that is, or will be, a plugin."""


def normalized(distribution: str) -> str:
    """Return a distribution's name the way package indexes compare it."""
    return re.sub(r"[-_.]+", "-", distribution).lower()


def by_plugin(name: str) -> FirstParty | None:
    """Return who owns an entry-point name, if it is one of ours."""
    return next((one for one in FIRST_PARTY if one.plugin == name), None)


def by_distribution(distribution: str) -> FirstParty | None:
    """Return our entry for a distribution, or None when it is not ours."""
    wanted = normalized(distribution)
    return next((one for one in FIRST_PARTY if one.distribution == wanted), None)


def by_key(kind: str, key: str) -> FirstParty | None:
    """Return who owns an adapter name or URL scheme of a kind, if it is one of ours."""
    for one in FIRST_PARTY:
        if key in one.names.get(kind, ()) or key in one.schemes.get(kind, ()):
            return one
    return None


def keys(kind: str) -> Iterator[tuple[str, FirstParty]]:
    """Yield every name and scheme of a kind with its owner."""
    for one in FIRST_PARTY:
        for key in dict.fromkeys((*one.names.get(kind, ()), *one.schemes.get(kind, ()))):
            yield key, one
