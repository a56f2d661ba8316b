"""Puts the repository's skills into the wheel, and into the sdist so that it builds alone."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class SkillsHook(BuildHookInterface):
    """Adds ``.agents/skills`` as ``psych_runtime_cli/_skills``."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        skills = Path(self.root).parents[1] / ".agents" / "skills"
        if version == "editable" or not skills.is_dir():
            return
        prefix = "src/" if self.target_name == "sdist" else ""
        build_data["force_include"][str(skills)] = f"{prefix}psych_runtime_cli/_skills"
