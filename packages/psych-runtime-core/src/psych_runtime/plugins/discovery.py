"""Finding plugins and importing one.

pluggy's own loader stops at the first broken entry point and drops duplicates silently, so entry
points are read and imported here, one at a time.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
from dataclasses import dataclass
from importlib import metadata
from types import ModuleType
from typing import Any

from psych_runtime.errors import PluginIncompatibleError, PluginLoadError
from psych_runtime.plugins.first_party import normalized

ENTRY_POINT_GROUP = "psych_runtime"
"""The one entry-point group."""

API_ATTRIBUTE = "PSYCH_PLUGIN_API"
"""The literal with which a plugin module states the plugin API it was written for."""

PLUGIN_API = 1
"""The plugin API of this core. A plugin that states none was written for the first, 1."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where a plugin comes from.

    Attributes:
        plugin: Its entry-point name.
        distribution: The distribution that declares it; empty for an object given by hand.
        version: That distribution's version.
        entry_point: What to load; None when ``loaded`` is given.
        loaded: The plugin itself, when it needs no import.
    """

    plugin: str
    distribution: str = ""
    version: str = ""
    entry_point: metadata.EntryPoint | None = None
    loaded: Any = None

    @property
    def label(self) -> str:
        """How messages name it: ``plugin 'redis' (acme-redis 1.2)``."""
        where = f"{self.distribution} {self.version}" if self.distribution else "given by hand"
        return f"plugin {self.plugin!r} ({where})"


def installed_sources() -> list[Source]:
    """Return every installed plugin, sorted; nothing is imported.

    A distribution found twice on ``sys.path`` counts once: the first one, which is also the one
    that Python imports.
    """
    found = [
        Source(entry.name, entry.dist.name, entry.dist.version, entry)
        for entry in metadata.entry_points(group=ENTRY_POINT_GROUP)
        if entry.dist is not None
    ]
    return sorted(found, key=lambda source: (source.plugin, normalized(source.distribution)))


def load(source: Source) -> Any:
    """Import a plugin, after checking the API version that it states.

    Raises:
        PluginIncompatibleError: It was written for another plugin API.
        PluginLoadError: It could not be imported; the cause is chained.
    """
    entry = source.entry_point
    if entry is None:
        _check_api(source, getattr(source.loaded, API_ATTRIBUTE, None))
        return source.loaded
    try:
        _check_api(source, _stated_api(entry.module))
        plugin = entry.load()
        module = importlib.import_module(entry.module)
    except PluginIncompatibleError:
        raise
    except (Exception, SystemExit) as error:
        raise PluginLoadError(
            f"{source.label} could not be imported from {entry.value!r}: "
            f"{type(error).__name__}: {error}"
        ) from error
    _check_api(source, getattr(module, API_ATTRIBUTE, None))
    return plugin


def _check_api(source: Source, stated: object) -> None:
    if stated is None or stated == PLUGIN_API:
        return
    advice = (
        f"upgrade {source.distribution or 'it'}"
        if isinstance(stated, int) and stated < PLUGIN_API
        else "upgrade psych-runtime-core"
    )
    raise PluginIncompatibleError(
        f"{source.label} was written for plugin API {stated!r}, this core has plugin API "
        f"{PLUGIN_API}: {advice}"
    )


def _stated_api(module: str) -> object:
    """Read the API literal from the source, because a plugin for another API may fail to import."""
    spec = importlib.util.find_spec(module)
    get_source = getattr(spec and spec.loader, "get_source", None)
    text = get_source(module) if get_source else None
    if text is None:
        return None
    for node in ast.parse(text).body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.AnnAssign):
            targets = [node.target]
        if any(isinstance(target, ast.Name) and target.id == API_ATTRIBUTE for target in targets):
            value = node.value
            return value.value if isinstance(value, ast.Constant) else None
    return None


def name_of(plugin: object) -> str:
    """Return a name for a plugin object that was given by hand."""
    if isinstance(plugin, ModuleType | type):
        return plugin.__name__
    return type(plugin).__name__


def core_distribution() -> tuple[str, str]:
    """Return the core's distribution name and version."""
    name = "psych-runtime-core"
    try:
        return name, metadata.version(name)
    except metadata.PackageNotFoundError:
        return name, "from source"
