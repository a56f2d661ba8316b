"""Turning sources into plugins: one at a time, each failure kept with the plugin that caused it."""

from __future__ import annotations

import difflib
import inspect
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pluggy

from psych_runtime.errors import PluginConflictError, PluginError, PluginLoadError
from psych_runtime.plugins import discovery, first_party, hookspecs
from psych_runtime.plugins.descriptors import Descriptor
from psych_runtime.plugins.discovery import Source
from psych_runtime.plugins.kinds import HOOKS, KINDS

ALLOW_LIST_VARIABLE = "PSYCH_RUNTIME_PLUGINS"
"""Environment variable: the entry-point names that may be loaded, separated by commas. Unset: all.
Empty: none. The built-in adapters are always there."""


@dataclass(frozen=True, slots=True)
class Plugin:
    """One plugin after loading.

    Attributes:
        source: Where it comes from.
        hooks: The hooks it implements, sorted; empty when it could not be used.
        descriptors: What it declared; empty when it could not be used.
        error: Why it cannot be used, or None.
        disabled: True when the allow-list leaves it out.
    """

    source: Source
    hooks: tuple[str, ...] = ()
    descriptors: tuple[Descriptor, ...] = ()
    error: PluginError | None = None
    disabled: bool = False


def load_all(sources: Sequence[Source], allow: str | None) -> list[Plugin]:
    """Load every source, in order; a failing one never stops the others.

    Args:
        sources: What to load.
        allow: The value of `ALLOW_LIST_VARIABLE`, or None for no limit.
    """
    claims: dict[str, list[Source]] = defaultdict(list)
    for source in sources:
        if _is_hijack(source) is None:
            claims[source.plugin].append(source)
    return [_load_one(source, claims[source.plugin], allow) for source in sources]


def allowed_names(allow: str | None) -> set[str]:
    """Return the entry-point names that an allow-list spells out."""
    return {name.strip() for name in (allow or "").split(",")} - {""}


def _load_one(source: Source, claimants: list[Source], allow: str | None) -> Plugin:
    try:
        owner = _is_hijack(source)
        if owner is not None:
            raise PluginConflictError(
                f"the plugin name {source.plugin!r} belongs to {owner.distribution}; "
                f"{source.distribution} {source.version} claims it too and was not loaded: "
                f"uninstall {source.distribution}, or rename its entry point"
            )
        left_out = allow is not None and source.plugin not in allowed_names(allow)
        if left_out and source.entry_point:
            error = PluginLoadError(
                f"{source.label} is installed, but {ALLOW_LIST_VARIABLE}={allow!r} leaves it out: "
                f"add {source.plugin!r} to it"
            )
            return Plugin(source, error=error, disabled=True)
        if source.entry_point and len(claimants) > 1:
            names = " and ".join(f"{one.distribution} {one.version}" for one in claimants)
            raise PluginConflictError(
                f"the plugin name {source.plugin!r} is claimed by {names}; neither was loaded: "
                "uninstall all but one"
            )
        return _collect(source, discovery.load(source))
    except PluginError as error:
        return Plugin(source, error=error)


def _is_hijack(source: Source) -> first_party.FirstParty | None:
    """Return the rightful owner when the plugin name is ours and the distribution is not."""
    owner = first_party.by_plugin(source.plugin)
    if owner is None or source.entry_point is None:
        return None
    return None if first_party.normalized(source.distribution) == owner.distribution else owner


def _collect(source: Source, plugin: Any) -> Plugin:
    _refuse_unknown_hooks(source, plugin)
    manager = pluggy.PluginManager(hookspecs.PROJECT_NAME)
    manager.add_hookspecs(hookspecs)
    try:
        manager.register(plugin, name=source.plugin)
    except pluggy.PluginValidationError as error:
        raise PluginLoadError(f"{source.label} is not usable: {error}") from error
    hooks: list[str] = []
    descriptors: list[Descriptor] = []
    for caller in manager.get_hookcallers(plugin) or ():
        for implementation in caller.get_hookimpls():
            if caller.name not in HOOKS:
                continue
            if implementation.wrapper or implementation.hookwrapper:
                raise PluginLoadError(
                    f"{source.label}: {caller.name} is a wrapper; a hook only returns descriptors"
                )
            hooks.append(caller.name)
            descriptors += _call(source, caller.name, implementation.function)
    for descriptor in descriptors:
        _refuse_foreign_names(source, descriptor)
    return Plugin(source, tuple(sorted(hooks)), tuple(descriptors))


def _call(source: Source, hook: str, function: Any) -> Iterable[Descriptor]:
    expected = HOOKS[hook]
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        raise PluginLoadError(f"{source.label}: {hook} is async; make it a plain function")
    try:
        result = list(function())
    except Exception as error:
        raise PluginLoadError(
            f"{source.label}: {hook} failed: {type(error).__name__}: {error}"
        ) from error
    for item in result:
        if not isinstance(item, expected):
            raise PluginLoadError(
                f"{source.label}: {hook} returned {type(item).__name__}, "
                f"expected {expected.__name__} objects"
            )
    return result


def _refuse_unknown_hooks(source: Source, plugin: Any) -> None:
    marker = f"{hookspecs.PROJECT_NAME}_impl"
    for name in dir(plugin):
        function = getattr(plugin, name, None)
        if not name.startswith("psych_") or not inspect.isroutine(function):
            continue
        options = getattr(function, marker, None)
        if options is None and name in HOOKS:
            raise PluginLoadError(f"{source.label}: {name} is not marked with @hookimpl")
        hook = (options or {}).get("specname") or name
        if hook not in HOOKS and not (options or {}).get("optionalhook"):
            close = difflib.get_close_matches(hook, HOOKS, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"hooks are {', '.join(HOOKS)}."
            raise PluginLoadError(
                f"{source.label} implements {hook!r}, which is no hook of this core: {hint} "
                "A hook of a newer core needs @hookimpl(optionalhook=True)"
            )


def _refuse_foreign_names(source: Source, descriptor: Descriptor) -> None:
    if source.entry_point is None:
        return
    kind = KINDS[type(descriptor)]
    for key in (descriptor.name, *getattr(descriptor, "schemes", ())):
        owner = first_party.by_key(kind, key)
        if owner and owner.distribution != first_party.normalized(source.distribution):
            raise PluginConflictError(
                f"{source.label} declares the {kind} {key!r}, which belongs to "
                f"{owner.distribution}; it was not loaded: uninstall {source.distribution}, or "
                "rename what it declares"
            )
