import subprocess
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from click.testing import Result
from psych_runtime.plugins.descriptors import StoreAdapter
from psych_runtime.plugins.hookspecs import hookimpl

Psych = Callable[..., Result]


def _one_store() -> list[StoreAdapter]:
    return [StoreAdapter(name="one", schemes=("one",), summary="One", open=lambda url: url)]  # type: ignore[arg-type,return-value]


def test_it_lists_name_distribution_status_and_hooks(
    psych: Psych, with_plugins: Callable[..., Any]
) -> None:
    with_plugins(SimpleNamespace(psych_stores=hookimpl(_one_store)))
    result = psych("plugins")
    assert result.exit_code == 0
    rows = [line.split() for line in result.output.splitlines()]
    assert rows[0] == ["NAME", "DISTRIBUTION", "VERSION", "STATUS", "HOOKS"]
    assert ["SimpleNamespace", "ok", "psych_stores"] in rows
    assert rows[2][:2] == ["builtin", "psych-runtime-core"]


def test_a_broken_one_is_listed_with_its_cause_and_fails_the_command(
    psych: Psych, with_plugins: Callable[..., Any]
) -> None:
    with_plugins(SimpleNamespace(psych_stroes=_one_store))
    result = psych("plugins")
    assert result.exit_code == 1
    assert "broken" in result.output
    assert "implements 'psych_stroes', which is no hook of this core" in result.output
    assert "did you mean 'psych_stores'?" in result.output


def test_the_installed_ones_are_found_with_their_versions() -> None:
    code = "from psych_runtime_cli.main import main; main(['plugins'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ["cli", "psych-runtime-cli", "0.2.0", "ok", "psych_project_templates"] in [
        line.split() for line in done.stdout.splitlines()
    ]


def test_the_allow_list_shows_as_disabled(monkeypatch: Any) -> None:
    monkeypatch.setenv("PSYCH_RUNTIME_PLUGINS", "cli")
    code = "from psych_runtime_cli.main import main; main(['plugins'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert ["sqlite", "psych-runtime-sqlite", "0.2.0", "disabled", "-"] in [
        line.split() for line in done.stdout.splitlines()
    ]
