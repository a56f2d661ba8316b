import importlib
import sys
from types import ModuleType

import pytest
from psych_runtime.errors import PluginNotInstalledError
from psych_runtime.plugins.shim import provided_by


class _Absent:
    """Makes the adapter absent, whatever is installed."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name == "psych_runtime_dynamodb":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def test_the_absence_of_the_adapter_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "meta_path", [_Absent(), *sys.meta_path])
    monkeypatch.delitem(sys.modules, "psych_runtime_dynamodb", raising=False)
    monkeypatch.delitem(sys.modules, "psych_runtime.store.dynamodb", raising=False)
    with pytest.raises(PluginNotInstalledError) as caught:
        importlib.import_module("psych_runtime.store.dynamodb")
    assert str(caught.value) == (
        "psych-runtime-dynamodb is not installed: pip install 'psych-runtime[dynamodb]'"
    )
    assert caught.value.name == "psych_runtime_dynamodb"
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)


def test_a_missing_driver_surfaces_as_itself() -> None:
    with pytest.raises(ModuleNotFoundError) as caught, provided_by("postgres"):
        importlib.import_module("asyncpg_is_absent")
    assert not isinstance(caught.value, PluginNotInstalledError)


def test_a_missing_submodule_of_an_installed_adapter_surfaces_as_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    package = ModuleType("psych_runtime_mysql")
    package.__path__ = []
    monkeypatch.setitem(sys.modules, "psych_runtime_mysql", package)
    with pytest.raises(ModuleNotFoundError) as caught, provided_by("mysql"):
        importlib.import_module("psych_runtime_mysql.store")
    assert not isinstance(caught.value, PluginNotInstalledError)


def test_only_our_plugins_have_shims() -> None:
    with pytest.raises(ValueError, match="'acme' is none of our plugins"), provided_by("acme"):
        pass
