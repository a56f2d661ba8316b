"""``psych spec``: checks Specs that are kept in files."""

from __future__ import annotations

from pathlib import Path

import click

from psych_runtime_cli.output import line


@click.group(invoke_without_command=True)
@click.pass_context
def spec(context: click.Context) -> None:
    """Work with Specs in JSON or YAML files."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@spec.command()
@click.argument("file", type=click.Path(path_type=Path))
def check(file: Path) -> None:
    """Print the hash that FILE would be published under, or everything that is wrong with it."""
    from psych_runtime.spec.version import compute_hash

    from psych_runtime_cli.yaml_spec import load_spec_file

    loaded = load_spec_file(file)
    line(f"{loaded.name}: {compute_hash(loaded)}")
