"""The ``psych-testkit`` command."""

from __future__ import annotations

from pathlib import Path

import click

from psych_runtime_testkit.scaffold.store import store_distribution


@click.group()
def main() -> None:
    """Start a new adapter for Psych Runtime, with its contract suite."""


@main.group()
def new() -> None:
    """Write the distribution of a new adapter."""


@new.command("store")
@click.argument("name")
@click.option(
    "--into",
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder to write; default: psych-runtime-NAME.",
)
def new_store(name: str, into: Path | None) -> None:
    """Write a store adapter called NAME, such as redis."""
    try:
        files = store_distribution(name)
    except ValueError as exc:
        raise click.BadParameter(str(exc), param_hint="NAME") from exc
    folder = into or Path(f"psych-runtime-{name}")
    if folder.exists() and any(folder.iterdir()):
        raise click.ClickException(f"{folder} is not empty; nothing was written")
    for relative, text in files.items():
        path = folder / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    click.echo(f"wrote {len(files)} files to {folder}; next: cd {folder} && uv run pytest")
