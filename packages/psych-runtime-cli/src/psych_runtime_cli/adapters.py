"""The adapters section of ``psych doctor``."""

from __future__ import annotations

from psych_runtime.plugins.descriptors import Descriptor, DoctorCheck, ProjectTemplate
from psych_runtime.plugins.first_party import FIRST_PARTY, normalized
from psych_runtime.plugins.kinds import KINDS
from psych_runtime.plugins.registry import default_registry

from psych_runtime_cli.output import heading, mark


def report() -> bool:
    """Print every adapter that is installed, installable or broken; return whether none is."""
    heading("Adapters")
    plugins = default_registry().plugins()
    for plugin in plugins:
        for one in plugin.descriptors:
            if not isinstance(one, DoctorCheck | ProjectTemplate):
                _installed(one, f"{plugin.source.distribution} {plugin.source.version}")
    present = {normalized(plugin.source.distribution) for plugin in plugins}
    for owner in FIRST_PARTY:
        if owner.distribution not in present:
            for kind, names in owner.names.items():
                for name in names:
                    mark("·", f"{name:<16} {kind:<18} install with: {owner.install_line}")
    broken = [plugin for plugin in plugins if plugin.error is not None]
    for plugin in broken:
        mark("·" if plugin.disabled else "✗", f"{plugin.source.plugin:<16} {plugin.error}")
    return all(plugin.disabled for plugin in broken)


def _installed(one: Descriptor, distribution: str) -> None:
    unavailable = getattr(one, "available", lambda: None)()
    text = f"{one.name:<16} {KINDS[type(one)]:<18} {distribution}  {one.summary}"
    if unavailable:
        mark("·", f"{text} (not on this machine: {unavailable})")
    else:
        mark("✓", text)
