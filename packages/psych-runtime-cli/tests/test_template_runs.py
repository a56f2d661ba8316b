"""The project that `psych new` writes, run as its first user runs it."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

OFFLINE = """\
No OPENAI_API_KEY set, so this run uses the fake model.

Order A1 has shipped with DHL.

completed | 1 turn, 1 tool call | 0 tokens | cost None
"""


@pytest.fixture
def project(psych: Callable[..., Result], tmp_path: Path) -> Path:
    assert psych("new", "demo").exit_code == 0
    return tmp_path / "demo"


def _run(project: Path, **extra: str) -> subprocess.CompletedProcess[str]:
    settings = ("OPENAI_API_KEY", "PSYCH_BASE_URL", "PSYCH_MODEL")
    env = {key: value for key, value in os.environ.items() if key not in settings}
    return subprocess.run(
        [sys.executable, "main.py"],
        cwd=project,
        env={**env, **extra},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_offline_it_prints_exactly_what_the_readme_promises(project: Path) -> None:
    done = _run(project)
    assert done.stderr == ""
    assert done.stdout == OFFLINE
    assert done.returncode == 0
