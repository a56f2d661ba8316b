"""What this distribution declares."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from psych_runtime.plugins.descriptors import ProjectTemplate
from psych_runtime.plugins.hookspecs import hookimpl

PSYCH_PLUGIN_API = 1


def _minimal(project: str) -> Mapping[str, str]:
    from psych_runtime_cli.templates import minimal

    return minimal(project)


@hookimpl
def psych_project_templates() -> Iterable[ProjectTemplate]:
    """Declare the templates of ``psych new``."""
    yield ProjectTemplate(
        name="minimal", summary="One agent, one tool, one question", files=_minimal
    )
