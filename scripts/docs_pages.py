"""mkdocs hook: the pages that are copies, and the reference of `psych_runtime.__all__`."""

from __future__ import annotations

from pathlib import Path

import griffe
import psych_runtime
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
COPIES = {"changelog.md": "CHANGELOG.md", "design.md": "DESIGN.md"}
SECTIONS = (
    (
        "Calls",
        (
            "session",
            "api",
            "engine.admission",
            "engine.control",
            "engine.publishing",
            "reads.calls",
            "reads.stream",
        ),
    ),
    ("Executing Runs", ("engine", "tools", "egress", "model")),
    ("Specs", ("spec", "builder")),
    ("What reads return", ("reads",)),
    ("Records", ("log",)),
    ("Ports", ("ports", "memory", "sandbox")),
    ("Stores", ("store",)),
    ("Ids, scope and errors", ("ids", "scope", "errors")),
)
REST = "Provided by plugins, and the rest"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages."""
    for name, source in COPIES.items():
        text = (ROOT / source).read_text().replace("](docs/", "](")
        files.append(File.generated(config, name, content=text))
    files.append(File.generated(config, "reference.md", content=reference()))
    return files


def reference() -> str:
    """Every public name, under the section that its module belongs to."""
    package = griffe.load("psych_runtime", resolve_aliases=False)
    grouped: dict[str, list[str]] = {title: [] for title, _ in SECTIONS} | {REST: []}
    for name in psych_runtime.__all__:
        grouped[_section(package, name)].append(name)
    lines = ["# Reference", "", "Every name of `psych_runtime.__all__`.", ""]
    for title, names in grouped.items():
        if names:
            lines += [f"## {title}", ""]
        for name in names:
            lines += [f"::: psych_runtime.{name}", ""]
    return "\n".join(lines)


def _section(package: griffe.Module, name: str) -> str:
    member = package.members.get(name)
    path = getattr(member, "target_path", "") if member is not None else ""
    module = path.removeprefix("psych_runtime.").rpartition(".")[0]
    candidates = [
        (len(prefix), title)
        for title, prefixes in SECTIONS
        for prefix in prefixes
        if module == prefix or module.startswith(f"{prefix}.")
    ]
    return max(candidates)[1] if candidates else REST
