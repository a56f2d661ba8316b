"""The project templates of this distribution."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources

PLACEHOLDER = "{{project}}"
"""What template files write where the project's name goes."""


def minimal(project: str) -> Mapping[str, str]:
    """Return the files of the minimal template: one agent, one tool, one question."""
    folder = resources.files(__name__) / "minimal"
    return {
        entry.name: entry.read_text("utf-8").replace(PLACEHOLDER, project)
        for entry in folder.iterdir()
        if entry.is_file() and not entry.name.endswith(".pyc")
    }
