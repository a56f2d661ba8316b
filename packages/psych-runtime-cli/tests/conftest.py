import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from psych_runtime.plugins.registry import PluginRegistry

COMMANDS = ("new", "doctor", "plugins", "adapters")


@pytest.fixture
def psych(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Run ``psych ARGS`` in an empty folder."""
    from psych_runtime_cli.main import main

    monkeypatch.chdir(tmp_path)
    return lambda *args: CliRunner().invoke(main, list(args))


@pytest.fixture
def with_plugins(monkeypatch: pytest.MonkeyPatch) -> Callable[..., PluginRegistry]:
    """Make the commands see these plugins instead of the installed ones."""

    def use(*plugins: Any) -> PluginRegistry:
        registry = PluginRegistry(plugins)
        for name in COMMANDS:
            module = importlib.import_module(f"psych_runtime_cli.{name}")
            monkeypatch.setattr(module, "default_registry", lambda: registry)
        return registry

    return use
