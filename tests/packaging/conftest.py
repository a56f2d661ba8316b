"""Installs fixture distributions into a folder, without an index, and asks a fresh Python."""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

FIXTURES = Path(__file__).parent / "fixtures"


def _install(name: str, target: Path) -> None:
    source = FIXTURES / name
    project = tomllib.loads((source / "pyproject.toml").read_text())["project"]
    shutil.copytree(source / "src", target, dirs_exist_ok=True)
    info = target / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    lines = ["[psych_runtime]"]
    lines += [f"{key} = {value}" for key, value in project["entry-points"]["psych_runtime"].items()]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")


@pytest.fixture
def ask(tmp_path: Path) -> Callable[..., Any]:
    """Return ``ask(fixtures, code, **env)``: runs ``code`` where they are installed; what the code
    leaves in ``result`` comes back."""

    def run(fixtures: list[str], code: str, **env: str) -> Any:
        target = tmp_path / "site"
        target.mkdir(exist_ok=True)
        for name in fixtures:
            _install(name, target)
        script = (
            "import json, logging\n"
            "logged = []\n"
            "handler = logging.Handler()\n"
            "handler.emit = lambda record: logged.append(record.getMessage())\n"
            "logging.getLogger('psych_runtime.plugins').addHandler(handler)\n"
            "def error_of(call, *args):\n"
            "    try:\n"
            "        call(*args)\n"
            "    except Exception as error:\n"
            "        return [type(error).__name__, str(error), type(error.__cause__).__name__]\n"
            f"{code}\n"
            "print(json.dumps(result))\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONPATH": str(target), **env},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    return run
