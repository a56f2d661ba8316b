import importlib

import pytest
from psych_runtime.errors import PluginNotInstalledError
from psych_runtime.plugins.shim import provided_by


def test_the_absence_of_the_adapter_is_explained() -> None:
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


def test_a_missing_submodule_of_an_installed_adapter_surfaces_as_itself() -> None:
    with pytest.raises(ModuleNotFoundError) as caught, provided_by("sqlite"):
        importlib.import_module("psych_runtime_sqlite.nothing_here")
    assert not isinstance(caught.value, PluginNotInstalledError)


def test_only_our_plugins_have_shims() -> None:
    with pytest.raises(ValueError, match="'acme' is none of our plugins"), provided_by("acme"):
        pass
