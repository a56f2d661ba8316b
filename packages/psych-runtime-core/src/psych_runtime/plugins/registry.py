"""The registry: which adapters there are, and the one that a name or URL asks for."""

from __future__ import annotations

import functools
import logging
import os
import threading
from collections.abc import Sequence
from typing import TypeVar

from psych_runtime.errors import PluginConflictError, PluginLoadError
from psych_runtime.plugins import builtin, discovery, refusal
from psych_runtime.plugins.descriptors import (
    BlobStoreAdapter,
    DoctorCheck,
    ModelAdapter,
    ProjectTemplate,
    SandboxAdapter,
    StoreAdapter,
    TelemetryAdapter,
    ToolSourceAdapter,
)
from psych_runtime.plugins.discovery import Source
from psych_runtime.plugins.kinds import KINDS
from psych_runtime.plugins.loading import ALLOW_LIST_VARIABLE, Plugin, allowed_names, load_all
from psych_runtime.plugins.redaction import redact_url, scheme_of

_log = logging.getLogger("psych_runtime.plugins")

D = TypeVar(
    "D",
    StoreAdapter,
    BlobStoreAdapter,
    ModelAdapter,
    ToolSourceAdapter,
    SandboxAdapter,
    TelemetryAdapter,
    ProjectTemplate,
    DoctorCheck,
)


class PluginRegistry:
    """The adapters of a process. Plugins are loaded on first use, once, in any thread.

    A plugin that fails is logged once on ``psych_runtime.plugins`` and otherwise ignored, until
    somebody asks for that very plugin.

    Args:
        plugins: Plugin modules or objects to use instead of the installed ones; the built-in
            adapters are always included. None: every installed plugin that the environment
            variable ``PSYCH_RUNTIME_PLUGINS`` allows.

    Example:
        >>> registry = PluginRegistry(plugins=[])
        >>> [adapter.name for adapter in registry.stores()]
        ['memory']
    """

    def __init__(self, plugins: Sequence[object] | None = None) -> None:
        self._given = plugins
        self._lock = threading.RLock()
        self._plugins: tuple[Plugin, ...] | None = None
        self._loading = False

    def plugins(self) -> tuple[Plugin, ...]:
        """Every plugin, usable or not, sorted by name."""
        with self._lock:
            if self._loading:
                raise PluginLoadError("a plugin asked for the registry while it was being loaded")
            if self._plugins is None:
                self._loading = True
                try:
                    self._plugins = self._load()
                finally:
                    self._loading = False
            return self._plugins

    def _load(self) -> tuple[Plugin, ...]:
        core = Source("builtin", "psych-runtime-core", loaded=builtin)
        if self._given is None:
            core = Source("builtin", *discovery.core_distribution(), loaded=builtin)
            sources = [core, *discovery.installed_sources()]
            allow = os.environ.get(ALLOW_LIST_VARIABLE)
        else:
            given = (Source(discovery.name_of(one), loaded=one) for one in self._given)
            sources = [core, *given]
            allow = None
        loaded = load_all(sources, allow)
        for plugin in loaded:
            if plugin.error is not None and not plugin.disabled:
                _log.warning("%s", plugin.error)
        present = {plugin.source.plugin for plugin in loaded}
        for name in sorted(allowed_names(allow) - present):
            _log.warning("%s names %r, which is not installed", ALLOW_LIST_VARIABLE, name)
        return tuple(sorted(loaded, key=lambda plugin: plugin.source.plugin))

    def stores(self) -> tuple[StoreAdapter, ...]:
        """The stores, sorted by name; names that two plugins claim are left out."""
        return self._all(StoreAdapter)

    def blob_stores(self) -> tuple[BlobStoreAdapter, ...]:
        """The blob stores, sorted by name."""
        return self._all(BlobStoreAdapter)

    def models(self) -> tuple[ModelAdapter, ...]:
        """The model clients, sorted by name."""
        return self._all(ModelAdapter)

    def tool_sources(self) -> tuple[ToolSourceAdapter, ...]:
        """The tool sources, sorted by name."""
        return self._all(ToolSourceAdapter)

    def sandboxes(self) -> tuple[SandboxAdapter, ...]:
        """The sandboxes, sorted by name, whether this machine can run them or not."""
        return self._all(SandboxAdapter)

    def telemetry(self) -> tuple[TelemetryAdapter, ...]:
        """The telemetry backends, sorted by name."""
        return self._all(TelemetryAdapter)

    def project_templates(self) -> tuple[ProjectTemplate, ...]:
        """The project templates, sorted by name."""
        return self._all(ProjectTemplate)

    def doctor_checks(self) -> tuple[DoctorCheck, ...]:
        """The doctor checks, sorted by name."""
        return self._all(DoctorCheck)

    def find(self, kind: type[D], name: str) -> D:
        """Return the adapter of this kind and name.

        Raises:
            PluginNotInstalledError: It is one of ours and not installed.
            PluginLoadError: Its plugin is broken, or left out by the allow-list.
            PluginIncompatibleError: Its plugin was written for another plugin API.
            PluginConflictError: Two plugins claim the name.
            UnknownAdapterError: Nobody has such an adapter.
        """
        matches = [pair for pair in self._declared(kind) if pair[1].name == name]
        return self._only(kind, name, repr(name), matches, self._known(kind, "name"))

    def for_url(self, kind: type[D], url: str) -> D:
        """Return the adapter of this kind that answers to a URL's scheme.

        Raises:
            UnknownAdapterError: The URL has no scheme, or nobody answers to it.
            PluginError: As in `find`.
        """
        scheme = scheme_of(url)
        if scheme is None:
            raise refusal.no_scheme(KINDS[kind], self._known(kind, "schemes"))
        matches = [
            pair for pair in self._declared(kind) if scheme in getattr(pair[1], "schemes", ())
        ]
        shown = repr(redact_url(url))
        return self._only(kind, scheme, shown, matches, self._known(kind, "schemes"))

    def _declared(self, kind: type[D]) -> list[tuple[Plugin, D]]:
        return [
            (plugin, descriptor)
            for plugin in self.plugins()
            for descriptor in plugin.descriptors
            if isinstance(descriptor, kind)
        ]

    def _known(self, kind: type[D], attribute: str) -> list[str]:
        found: set[str] = set()
        for _, descriptor in self._declared(kind):
            value = getattr(descriptor, attribute, ())
            found |= {value} if isinstance(value, str) else set(value)
        return sorted(found)

    def _all(self, kind: type[D]) -> tuple[D, ...]:
        declared = self._declared(kind)
        names = [descriptor.name for _, descriptor in declared]
        unique = [descriptor for _, descriptor in declared if names.count(descriptor.name) == 1]
        return tuple(sorted(unique, key=lambda descriptor: descriptor.name))

    def _only(
        self,
        kind: type[D],
        key: str,
        shown: str,
        matches: list[tuple[Plugin, D]],
        known: Sequence[str],
    ) -> D:
        if not matches:
            raise refusal.not_found(KINDS[kind], key, shown, known, self.plugins())
        name = matches[0][1].name
        rivals = matches + [
            pair
            for pair in self._declared(kind)
            if pair[1].name == name and not any(pair[1] is match[1] for match in matches)
        ]
        if len(rivals) > 1:
            owners = " and ".join(sorted({plugin.source.label for plugin, _ in rivals}))
            raise PluginConflictError(
                f"the {KINDS[kind]} {shown} is declared more than once, by {owners}: "
                "uninstall all but one"
            )
        return matches[0][1]


@functools.cache
def default_registry() -> PluginRegistry:
    """Return the registry of the installed plugins, the same one on every call."""
    return PluginRegistry()
