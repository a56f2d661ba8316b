"""``psych skills``: the guides for coding agents, and copying them into a project."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import click
import yaml

from psych_runtime_cli.output import Failure, line, plural

_PACKAGED = Path(__file__).parent / "_skills"
_SOURCE_TREE = Path(__file__).parents[4] / ".agents" / "skills"
_CUT = 96


@dataclass(frozen=True, slots=True)
class SkillGuide:
    """One guide: the folder that holds its ``SKILL.md``, and what that says about itself."""

    name: str
    description: str
    folder: Path


def skills_folder() -> Path:
    """Return where the guides are: in this distribution, or in the source tree next to it."""
    for folder in (_PACKAGED, _SOURCE_TREE):
        if folder.is_dir():
            return folder
    raise Failure("this installation has no skills; reinstall psych-runtime-cli")


def guides(folder: Path) -> list[SkillGuide]:
    """Return the guides in a folder, sorted by name."""
    return [_read(path) for path in sorted(folder.glob("*/SKILL.md"))]


def _read(path: Path) -> SkillGuide:
    _, front, _ = (*path.read_text("utf-8").split("---\n", 2), "", "")[:3]
    matter = yaml.safe_load(front) or {}
    name = matter.get("name", path.parent.name)
    return SkillGuide(name, " ".join(str(matter.get("description", "")).split()), path.parent)


def _first_sentence(text: str) -> str:
    sentence = re.split(r"(?<=[.!?])\s", text, maxsplit=1)[0]
    return sentence if len(sentence) <= _CUT else sentence[:_CUT] + "..."


@click.group(invoke_without_command=True)
@click.pass_context
def skills(context: click.Context) -> None:
    """List or install the guides for coding agents."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@skills.command("list")
def list_skills() -> None:
    """List the guides of this installation."""
    folder = skills_folder()
    found = guides(folder)
    line(f"{plural(len(found), 'skill')} in {folder}")
    line("")
    for guide in found:
        line(f"  {guide.name:<24}{_first_sentence(guide.description)}")


@skills.command("install")
@click.option(
    "--dest",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(".agents/skills"),
    show_default=True,
    help="Where to copy them.",
)
@click.option("--force", is_flag=True, help="Replace guides that are there already.")
def install(dest: Path, force: bool) -> None:
    """Copy the guides into a project."""
    installed = skipped = 0
    for guide in guides(skills_folder()):
        target = dest / guide.folder.name
        if target.exists() and not force:
            skipped += 1
            continue
        if target.exists():
            shutil.rmtree(target)
        shutil.copytree(guide.folder, target)
        installed += 1
    line(f"installed {plural(installed, 'skill')} in {dest}")
    if skipped:
        line(f"skipped {skipped} already there; pass --force to replace")
