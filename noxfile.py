"""What CI runs, for any CI: `nox -l` lists the sessions, `nox -s matrix` prints them as JSON.

Sessions without a Python of their own run in the environment that nox runs in, so start nox with
`uv run`. `core`, `adapter` and `wheels` build environments that hold only what they test.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import sys
import tomllib
from pathlib import Path
from typing import Any

import nox

ROOT = Path(__file__).parent
PACKAGES = ROOT / "packages"
PLUGINS = ROOT / "plugins"
PYTHONS = ("3.12", "3.13")
RESOLUTIONS = ("highest", "lowest-direct")
SERVICE_PORTS = {"postgres": 5432, "mysql": 3306, "dynamodb": 8000, "s3": 9000}

nox.needs_version = ">=2024.10.9"
nox.options.default_venv_backend = "uv"
nox.options.sessions = ["check"]
nox.options.error_on_missing_interpreters = True


def _ci(distribution: Path) -> dict[str, Any]:
    """A distribution's ``[tool.psych.ci]``."""
    project = tomllib.loads((distribution / "pyproject.toml").read_text())
    table: dict[str, Any] = project.get("tool", {}).get("psych", {}).get("ci", {})
    return table


def _adapters() -> list[str]:
    return sorted(path.parent.name for path in PLUGINS.glob("*/pyproject.toml"))


def _services() -> list[str]:
    names = {name for path in PLUGINS.iterdir() for name in _ci(path).get("services", [])}
    return sorted(names)


def _here(session: nox.Session, *command: str, **env: str) -> None:
    """Run a tool of the environment that nox runs in."""
    tool = shutil.which(command[0], path=str(Path(sys.executable).parent))
    if tool is None:
        session.error(f"{command[0]} is missing here; start nox with `uv run --group dev nox`")
    session.run(tool, *command[1:], external=True, env=env or None)


def _lint(session: nox.Session) -> None:
    _here(session, "ruff", "check")
    _here(session, "ruff", "format", "--check")


def _types(session: nox.Session) -> None:
    _here(session, "mypy")


def _arch(session: nox.Session) -> None:
    _here(session, "lint-imports")


def _docs(session: nox.Session) -> None:
    # mkdocs-material announces its successor on standard error unless told not to.
    _here(session, "mkdocs", "build", "--strict", "--quiet", NO_MKDOCS_2_WARNING="1")


def _tests(session: nox.Session, *paths: str) -> None:
    _here(session, "pytest", *paths, *session.posargs)


@nox.session(venv_backend="none")
def lint(session: nox.Session) -> None:
    """Style: ruff check and ruff format."""
    _lint(session)


@nox.session(venv_backend="none")
def types(session: nox.Session) -> None:
    """Types: mypy --strict over every distribution."""
    _types(session)


@nox.session(venv_backend="none")
def arch(session: nox.Session) -> None:
    """Architecture: import directions, module sizes, public names, versions."""
    _arch(session)
    _tests(session, "tests/architecture")


@nox.session(venv_backend="none")
def docs(session: nox.Session) -> None:
    """Documentation: builds it, and runs its code."""
    _docs(session)
    _tests(session, "tests/docs")


@nox.session(venv_backend="none")
def e2e(session: nox.Session) -> None:
    """End to end: whole Runs on the embedded stores."""
    _tests(session, "tests/e2e")


@nox.session(venv_backend="none")
def chaos(session: nox.Session) -> None:
    """Crashes: every scenario, killed at every durable write."""
    _tests(session, "tests/chaos")


@nox.session(venv_backend="none")
def bench(session: nox.Session) -> None:
    """Measurements: printed, never a gate."""
    files = sorted(str(path) for path in (ROOT / "tests/benchmarks").glob("bench_*.py"))
    _tests(session, "-s", "-m", "bench", *files)


@nox.session(venv_backend="none")
def lock_check(session: nox.Session) -> None:
    """Dependencies: requirements.lock names what uv resolves."""
    session.run(sys.executable, "scripts/lock.py", "--check", external=True)


@nox.session(venv_backend="none")
def check(session: nox.Session) -> None:
    """Everything that reads the code without running it."""
    _lint(session)
    _types(session)
    _arch(session)
    _docs(session)


@nox.session(venv_backend="none")
def ci(session: nox.Session) -> None:
    """Everything a change has to pass: the checks, then every test."""
    check(session)
    _tests(session)


@nox.session(python=PYTHONS)
def core(session: nox.Session) -> None:
    """The core and the testkit, with nothing else installed."""
    _only(session, "highest")
    session.run("pytest", "packages/psych-runtime-core", *session.posargs)


@nox.session(python=PYTHONS)
@nox.parametrize("resolution", RESOLUTIONS)
@nox.parametrize("name", _adapters())
def adapter(session: nox.Session, name: str, resolution: str) -> None:
    """One adapter beside core and testkit, on the newest or the oldest dependencies it allows."""
    _only(session, resolution, PLUGINS / name)
    env = {"PSYCH_REQUIRE_SERVICES": "1"} if os.environ.get("CI") else None
    session.run("pytest", f"plugins/{name}", *session.posargs, env=env)


def _only(session: nox.Session, resolution: str, *distributions: Path) -> None:
    ours = (PACKAGES / "psych-runtime-core", PACKAGES / "psych-runtime-testkit", *distributions)
    session.install("--resolution", resolution, *(str(path) for path in ours), "hypothesis>=6.100")


@nox.session(venv_backend="none")
def wheels(session: nox.Session) -> None:
    """Packaging: builds every wheel and installs them, ours without an index, in a fresh venv."""
    _tests(session, "tests/packaging")


@nox.session(venv_backend="none")
def matrix(session: nox.Session) -> None:
    """Print the matrix as JSON: sessions, Pythons, resolutions, services."""
    adapters = [
        {
            "session": f"adapter-{python}(name='{name}', resolution='{resolution}')",
            "adapter": name,
            "python": python,
            "resolution": resolution,
            "services": _ci(PLUGINS / name).get("services", []),
        }
        for name in _adapters()
        for python in PYTHONS
        for resolution in RESOLUTIONS
    ]
    singles = ["lint", "types", "arch", "docs", "lock_check", "wheels", "e2e", "chaos", "bench"]
    cores = [{"session": f"core-{python}", "python": python} for python in PYTHONS]
    print(json.dumps({"single": singles, "core": cores, "adapter": adapters}, indent=2))


@nox.session(venv_backend="none")
def services(session: nox.Session) -> None:
    """`services -- start` says which databases answer here; `-- stop` has nothing to stop yet."""
    action = session.posargs[0] if session.posargs else "start"
    if action not in ("start", "stop"):
        session.error(f"unknown action {action!r}: use start or stop")
    needed = _services()
    if not needed:
        print("No plugin declares a service under [tool.psych.ci]: the tests need none.")
    if action == "stop":
        print("Nothing was started here, so nothing is stopped.")
        return
    for name, port in SERVICE_PORTS.items():
        with socket.socket() as probe:
            probe.settimeout(0.5)
            answers = probe.connect_ex(("127.0.0.1", port)) == 0
        wanted = "needed" if name in needed else "not needed"
        print(f"{name:10} port {port:5} {'answers' if answers else 'does not answer':16} {wanted}")
        if name in needed and not answers:
            session.error(f"{name} is needed and does not answer on port {port}; start it first")
