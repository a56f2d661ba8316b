"""Every Python block of the README and the guides runs, and prints what the page says it prints."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from workspace import ROOT

PAGES = sorted(
    [
        *(ROOT / name for name in ("README.md", "DESIGN.md", "CONTRIBUTING.md")),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / ".agents").rglob("*.md"),
    ]
)
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
OUTPUT = re.compile(r"\s*<!-- output -->\s*$")


@dataclass(frozen=True)
class Block:
    page: Path
    line: int
    code: str
    output: str | None

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text()
    fences = list(FENCE.finditer(text))
    for index, fence in enumerate(fences):
        if fence[1] not in ("python", "py"):
            continue
        output = None
        if index + 1 < len(fences):
            following = fences[index + 1]
            if following[1] == "text" and OUTPUT.fullmatch(text[fence.end() : following.start()]):
                output = following[2]
        yield Block(
            page=page,
            line=text[: fence.start()].count("\n") + 1,
            code=fence[2],
            output=output,
        )


BLOCKS = [block for page in PAGES for block in blocks(page)]


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_python_block(block: Block, tmp_path: Path) -> None:
    script = tmp_path / "block.py"
    script.write_text(block.code)
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        cwd=tmp_path,
        # Read by the blocks that only build a client; no block calls a provider.
        env={**os.environ, "OPENAI_API_KEY": "unused"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    if block.output is not None:
        assert done.stdout == block.output


def test_the_readme_says_what_its_example_prints() -> None:
    readme = [block for block in BLOCKS if block.page == ROOT / "README.md"]
    assert readme[0].output is not None
