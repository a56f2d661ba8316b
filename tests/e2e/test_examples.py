"""The examples, as a reader starts them, and what the README says they print."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from workspace import ROOT

README = (ROOT / "README.md").read_text()


def _run(example: str, folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", str(ROOT / "examples" / example), *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def test_quickstart_prints_what_the_readme_says(tmp_path: Path) -> None:
    printed = _run("quickstart.py", tmp_path)
    assert f"```text\n{printed}```" in README
    assert (tmp_path / "psych.db").is_file()


def test_quickstart_again_adds_a_run_to_the_same_file(tmp_path: Path) -> None:
    database = str(tmp_path / "runs.db")
    first, second = (_run("quickstart.py", tmp_path, database) for _ in range(2))
    assert first == second
    assert not (tmp_path / "psych.db").exists()


@pytest.mark.slow
def test_crash_recovery_settles_each_call_as_its_tool_declared(tmp_path: Path) -> None:
    printed = _run("crash_recovery.py", tmp_path)
    outcomes = dict(re.findall(r"^(\w+) +outcome=(\w+)", printed, re.MULTILINE))
    assert outcomes == {"charge_card": "unknown", "reserve_stock": "ok", "send_invoice": "ok"}
    assert "killed with SIGKILL" in printed
    assert "completed: Your order is on its way." in printed
