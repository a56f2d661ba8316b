"""Built wheels, installed where nothing of this repository is on the path."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from workspace import DISTRIBUTIONS, ROOT, pyproject

pytestmark = pytest.mark.slow

VERSIONS = {folder.name: pyproject(folder)["project"]["version"] for folder in DISTRIBUTIONS}
USERS_INSTALL = "psych-runtime"
"""What users install; its own requirements name the rest."""


def _run(*command: str | Path, cwd: Path = ROOT, **env: str) -> str:
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@dataclass(frozen=True)
class Installation:
    """A fresh environment with ``psych-runtime`` from the wheels, and an empty working folder."""

    bin: Path
    folder: Path

    def python(self, code: str) -> str:
        return _run(self.bin / "python", "-W", "error", "-c", code, cwd=self.folder).strip()

    def psych(self, *arguments: str) -> str:
        return _run(self.bin / "psych", *arguments, cwd=self.folder, NO_COLOR="1")


@pytest.fixture(scope="module")
def dist() -> Path:
    """``dist/`` with every distribution, built now."""
    folder = ROOT / "dist"
    shutil.rmtree(folder, ignore_errors=True)
    _run("uv", "build", "--quiet", "--all-packages", "--out-dir", folder)
    return folder


@pytest.fixture(scope="module")
def installed(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    base = tmp_path_factory.mktemp("wheels")
    venv = base / "venv"
    _run("uv", "venv", "--quiet", "--python", sys.executable, venv)
    python = venv / "bin" / "python"
    # Third-party wheels first, with an index; ours after that, without one, so that nothing of the
    # same name can come from anywhere else.
    third_party = base / "third-party.txt"
    _run(
        *("uv", "export", "--quiet", "--package", USERS_INSTALL, "--no-emit-workspace"),
        *("--no-dev", "--no-hashes", "--format", "requirements-txt", "--output-file", third_party),
    )
    _run("uv", "pip", "install", "--quiet", "--python", python, "-r", third_party)
    _run(
        *("uv", "pip", "install", "--quiet", "--offline", "--no-index", "--python", python),
        *("--find-links", dist, f"{USERS_INSTALL}=={VERSIONS[USERS_INSTALL]}"),
    )
    folder = base / "work"
    folder.mkdir()
    return Installation(venv / "bin", folder)


def test_every_distribution_has_a_wheel_and_an_sdist(dist: Path) -> None:
    for name, version in VERSIONS.items():
        stem = f"{name.replace('-', '_')}-{version}"
        assert (dist / f"{stem}-py3-none-any.whl").is_file()
        assert (dist / f"{stem}.tar.gz").is_file()


def test_a_wheel_holds_its_own_package_and_nothing_else(dist: Path) -> None:
    for folder in DISTRIBUTIONS:
        stem = f"{folder.name.replace('-', '_')}-{VERSIONS[folder.name]}"
        with zipfile.ZipFile(dist / f"{stem}-py3-none-any.whl") as wheel:
            names = wheel.namelist()
        packages = {path.parent.name for path in folder.glob("src/*/__init__.py")}
        assert {name.split("/")[0] for name in names} == {*packages, f"{stem}.dist-info"}
        for package in packages:
            assert f"{package}/py.typed" in names


def test_the_installation_is_ours(installed: Installation) -> None:
    wanted = [name for name in VERSIONS if name != "psych-runtime-testkit"]
    found = json.loads(
        installed.python(
            "import json; from importlib.metadata import version\n"
            f"print(json.dumps({{name: version(name) for name in {wanted!r}}}))"
        )
    )
    assert found == {name: VERSIONS[name] for name in wanted}


def test_every_public_name_comes_from_the_wheels(installed: Installation) -> None:
    where = installed.python(
        "import psych_runtime\n"
        "for name in psych_runtime.__all__: getattr(psych_runtime, name)\n"
        "print(psych_runtime.__file__, psych_runtime.__version__)"
    )
    path, version = where.split()
    assert Path(path).is_relative_to(installed.bin.parent)
    assert version == VERSIONS["psych-runtime-core"]


def test_a_store_opens_by_url(installed: Installation) -> None:
    code = (
        "import asyncio\n"
        "from psych_runtime.store.url import store_from_url\n"
        "store = store_from_url('sqlite:///x.db')\n"
        "async def main():\n"
        "    await store.migrate()\n"
        "    await store.close()\n"
        "asyncio.run(main())\n"
        "print(type(store).__module__)"
    )
    assert installed.python(code) == "psych_runtime_sqlite.store"
    assert (installed.folder / "x.db").is_file()


def test_the_command_works(installed: Installation) -> None:
    assert installed.psych("--version") == f"psych {VERSIONS['psych-runtime-core']}\n"
    installed.psych("new", "demo")
    printed = _run(installed.bin / "python", "main.py", cwd=installed.folder / "demo")
    assert "Order A1 has shipped with DHL." in printed
    assert "psych" in installed.psych("skills", "list")
