"""The workspace as its files describe it."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
DISTRIBUTIONS = sorted(
    path.parent
    for folder in ("packages", "plugins")
    for path in (ROOT / folder).glob("*/pyproject.toml")
)
PLUGINS = [folder for folder in DISTRIBUTIONS if folder.parent.name == "plugins"]


def pyproject(folder: Path) -> dict[str, Any]:
    """The parsed pyproject.toml of a distribution, or of the root."""
    return tomllib.loads((folder / "pyproject.toml").read_text())


def import_packages() -> list[Path]:
    """The folder of every import package that we ship."""
    return sorted(
        path.parent for folder in DISTRIBUTIONS for path in folder.glob("src/*/__init__.py")
    )


def modules() -> list[Path]:
    """Every module that we ship, but not what is copied into a user's project."""
    found = (path for package in import_packages() for path in package.rglob("*.py"))
    return sorted(path for path in found if not _is_template(path))


def _is_template(path: Path) -> bool:
    return "templates" in path.parts and path.name != "__init__.py"
