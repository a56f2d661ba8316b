"""``psych new``: writes a project that its author owns from then on."""

from __future__ import annotations

import shlex
from pathlib import Path

import click
from psych_runtime.plugins.descriptors import ProjectTemplate
from psych_runtime.plugins.registry import default_registry

from psych_runtime_cli.output import Failure, line


@click.command()
@click.argument("name", type=click.Path(path_type=Path))
@click.option("--template", default="minimal", show_default=True, help="What to write.")
@click.option("--force", is_flag=True, help="Write into a folder that is not empty.")
def new(name: Path, template: str, force: bool) -> None:
    """Write a new project into the folder NAME."""
    files = default_registry().find(ProjectTemplate, template).files(name.resolve().name)
    if name.exists() and not name.is_dir():
        raise Failure(f"{name} is a file; choose another name")
    if not force and name.is_dir() and any(name.iterdir()):
        raise Failure(f"{name} is not empty; choose another name, or pass --force to overwrite")
    for relative, text in sorted(files.items()):
        path = name / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        line(f"  created {path}")
    line("")
    line(f"{name} is ready. Run it:")
    line("")
    line(f"  cd {shlex.quote(str(name))}")
    line("  python main.py")
    line("")
    line("It uses a fake model until OPENAI_API_KEY is set; .env.example lists the settings.")
    line("`psych skills install` gives your coding agent the guides.")
