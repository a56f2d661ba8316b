"""What to say when no adapter answers: who is missing, broken, or meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from psych_runtime.errors import PluginError, PluginNotInstalledError, UnknownAdapterError
from psych_runtime.plugins import first_party
from psych_runtime.plugins.loading import Plugin


def no_scheme(kind: str, installed: Sequence[str]) -> PluginError:
    """Return the error for a URL without a scheme."""
    known = ", ".join(f"{key}://" for key in installed) or "none"
    return UnknownAdapterError(
        f"a {kind} URL starts with a scheme, such as {known}; this one has none"
    )


def not_found(
    kind: str, key: str, shown: str, installed: Sequence[str], plugins: Iterable[Plugin]
) -> PluginError:
    """Return the error for a name or scheme that no usable plugin declares.

    Args:
        kind: How messages name the kind.
        key: The name or scheme that was asked for.
        shown: How to show it, without secrets.
        installed: Every usable name and scheme of the kind.
        plugins: All plugins; a broken one that is meant by ``key`` gives the error.
    """
    owner = first_party.by_key(kind, key)
    meant = {owner.plugin} if owner else {key, key.partition("+")[0]}
    broken = [plugin for plugin in plugins if plugin.error is not None]
    for plugin in broken:
        if plugin.source.plugin in meant and plugin.error is not None:
            return _again(plugin.error)
    if owner is not None:
        return PluginNotInstalledError(
            f"the {kind} {shown} needs {owner.distribution}, which is not installed: "
            f"{owner.install_line}",
            name=owner.distribution.replace("-", "_"),
        )
    return UnknownAdapterError(_unknown(kind, key, shown, installed, broken))


def _unknown(
    kind: str, key: str, shown: str, installed: Sequence[str], broken: Sequence[Plugin]
) -> str:
    absent = {name: owner for name, owner in first_party.keys(kind) if name not in installed}
    parts = [f"no {kind} answers to {shown}."]
    close = difflib.get_close_matches(key, [*installed, *absent], n=1)
    if close:
        owner = absent.get(close[0])
        hint = f" It is not installed: {owner.install_line}" if owner else ""
        parts.append(f"Did you mean {close[0]!r}?{hint}")
    parts.append(f"Installed: {', '.join(installed) or 'none'}.")
    if broken:
        names = ", ".join(plugin.source.label for plugin in broken)
        parts.append(f"Not usable: {names}; `psych plugins` says why.")
    return " ".join(parts)


def _again(error: PluginError) -> PluginError:
    """Return a copy to raise, so that one raise does not grow the traceback of the next."""
    copy = type(error)(*error.args)
    copy.__cause__ = error.__cause__
    return copy
