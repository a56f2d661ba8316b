"""Links between files lead somewhere, also in the pages that mkdocs does not build."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from workspace import DISTRIBUTIONS, ROOT

GENERATED = {ROOT / "docs" / name for name in ("changelog.md", "design.md", "reference.md")}
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / ".agents").rglob("*.md"),
        *(folder / "README.md" for folder in DISTRIBUTIONS),
    ]
)
LINK = re.compile(r"\]\((?!https?://|#|mailto:)([^)#\s]+)(?:#[^)]*)?\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_relative_links(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    targets = {(page.parent / target).resolve() for target in LINK.findall(text)}
    assert {str(target) for target in targets - GENERATED if not target.exists()} == set()
