"""``psych plugins``: every plugin that was found, usable or not."""

from __future__ import annotations

import click
from psych_runtime.errors import PluginConflictError, PluginIncompatibleError
from psych_runtime.plugins.loading import Plugin
from psych_runtime.plugins.registry import default_registry

from psych_runtime_cli.output import line


@click.command()
@click.pass_context
def plugins(context: click.Context) -> None:
    """List the installed plugins: what each provides, or why it is not usable.

    Exits with 1 when one is broken.
    """
    found = default_registry().plugins()
    rows = [("NAME", "DISTRIBUTION", "VERSION", "STATUS", "HOOKS")]
    rows += [
        (
            plugin.source.plugin,
            plugin.source.distribution,
            plugin.source.version,
            status(plugin),
            ", ".join(plugin.hooks) or "-",
        )
        for plugin in found
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        line("  ".join([*cells, row[4]]).rstrip())
    problems = [plugin for plugin in found if plugin.error]
    if problems:
        line("")
    for plugin in problems:
        line(f"{plugin.source.plugin}: {plugin.error}")
    if any(not plugin.disabled for plugin in problems):
        context.exit(1)


def status(plugin: Plugin) -> str:
    """Return one word for the state of a plugin."""
    if plugin.error is None:
        return "ok"
    if plugin.disabled:
        return "disabled"
    if isinstance(plugin.error, PluginConflictError):
        return "conflict"
    if isinstance(plugin.error, PluginIncompatibleError):
        return "incompatible"
    return "broken"
