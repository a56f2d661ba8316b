import inspect
import logging
from types import SimpleNamespace
from typing import Any

import pytest
from psych_runtime.errors import (
    PluginConflictError,
    PluginError,
    PluginLoadError,
    PluginNotInstalledError,
    UnknownAdapterError,
)
from psych_runtime.plugins import hookspecs
from psych_runtime.plugins.descriptors import ModelAdapter, StoreAdapter
from psych_runtime.plugins.hookspecs import hookimpl
from psych_runtime.plugins.kinds import HOOKS, KINDS
from psych_runtime.plugins.registry import PluginRegistry, default_registry
from psych_runtime.store.url import store_from_url


def adapter(name: str, *schemes: str) -> StoreAdapter:
    return StoreAdapter(
        name=name, schemes=schemes or (name,), summary="test", open=lambda url: (name, url)
    )


def plugin(*adapters: Any, hook: str = "psych_stores", **extra: Any) -> object:
    def implementation() -> Any:
        return adapters

    return SimpleNamespace(**{hook: hookimpl(specname=hook)(implementation)}, **extra)


def test_results_are_sorted_by_name_whatever_the_order_of_the_plugins() -> None:
    given = [plugin(adapter("zeta"), adapter("beta")), plugin(adapter("alpha"))]
    expected = ["alpha", "beta", "memory", "zeta"]
    assert [a.name for a in PluginRegistry(given).stores()] == expected
    assert [a.name for a in PluginRegistry(given[::-1]).stores()] == expected


def test_a_url_opens_the_adapter_of_its_scheme_in_any_case() -> None:
    registry = PluginRegistry([plugin(adapter("alpha", "al", "al+tls"))])
    assert store_from_url("AL+tls://h", registry=registry) == ("alpha", "AL+tls://h")
    assert registry.find(StoreAdapter, "alpha").name == "alpha"


def test_the_default_registry_is_one_object() -> None:
    assert default_registry() is default_registry()


def test_plugins_are_loaded_once() -> None:
    calls: list[int] = []

    class Counting:
        @hookimpl
        def psych_stores(self) -> list[StoreAdapter]:
            calls.append(1)
            return [adapter("alpha")]

    registry = PluginRegistry([Counting()])
    for _ in range(3):
        registry.stores()
        registry.find(StoreAdapter, "alpha")
    assert calls == [1]


@pytest.mark.parametrize(
    "given",
    [
        [plugin(adapter("alpha", "one")), plugin(adapter("alpha", "two"))],
        [plugin(adapter("alpha", "one")), plugin(adapter("beta", "one"))],
        [plugin(adapter("alpha", "one"), adapter("beta", "one"))],
    ],
    ids=["same name", "same scheme", "same scheme, same plugin"],
)
def test_a_tie_is_refused(given: list[object]) -> None:
    with pytest.raises(PluginConflictError, match="declared more than once, by plugin"):
        PluginRegistry(given).for_url(StoreAdapter, "one://")


def test_an_ambiguous_name_is_not_listed() -> None:
    registry = PluginRegistry([plugin(adapter("alpha")), plugin(adapter("alpha"))])
    assert [a.name for a in registry.stores()] == ["memory"]


def test_a_hook_that_asks_for_the_registry_is_blamed_instead_of_hanging() -> None:
    def asks() -> Any:
        return registry.stores()

    registry = PluginRegistry(
        [SimpleNamespace(psych_stores=hookimpl(specname="psych_stores")(asks))]
    )
    assert [a.name for a in registry.stores()] == ["memory"]
    errors = [str(p.error) for p in registry.plugins() if p.error]
    assert len(errors) == 1
    assert "asked for the registry while it was being loaded" in errors[0]


async def _async_hook() -> list[StoreAdapter]:
    return []


def _failing() -> list[StoreAdapter]:
    raise RuntimeError("no luck")


def _unmarked() -> list[StoreAdapter]:
    return []


def _bad_descriptor() -> Any:
    yield StoreAdapter(name="Not OK", schemes=("x",), summary="", open=lambda url: None)  # type: ignore[arg-type,return-value]


def _wrapper() -> Any:
    return (yield)


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        (SimpleNamespace(psych_stores=hookimpl(_async_hook)), "psych_stores is async"),
        (
            SimpleNamespace(psych_stores=hookimpl(_failing)),
            "psych_stores failed: RuntimeError: no luck",
        ),
        (SimpleNamespace(psych_stores=hookimpl(_bad_descriptor)), "name 'Not OK' is not usable"),
        (
            SimpleNamespace(psych_stores=hookimpl(wrapper=True)(_wrapper)),
            "psych_stores is a wrapper",
        ),
        (SimpleNamespace(psych_stores=_unmarked), "psych_stores is not marked with @hookimpl"),
        (SimpleNamespace(psych_modles=_unmarked), "did you mean 'psych_models'?"),
        (plugin("memory"), "psych_stores returned str, expected StoreAdapter objects"),
        (plugin(adapter("alpha"), hook="psych_models"), "returned StoreAdapter, expected Model"),
        (SimpleNamespace(psych_stores=hookimpl(lambda config: [])), "config"),
        (plugin(adapter("alpha"), PSYCH_PLUGIN_API=2), "upgrade psych-runtime-core"),
    ],
)
def test_a_bad_plugin_is_blamed_and_harms_nobody(
    broken: object, says: str, caplog: pytest.LogCaptureFixture
) -> None:
    registry = PluginRegistry([broken, plugin(adapter("beta"))])
    with caplog.at_level(logging.WARNING, "psych_runtime.plugins"):
        assert [a.name for a in registry.stores()] == ["beta", "memory"]
        registry.stores()
    assert len(caplog.messages) == 1
    assert says in caplog.messages[0]
    assert "plugin 'SimpleNamespace' (given by hand)" in caplog.messages[0]


def test_a_hook_of_a_newer_core_is_tolerated_when_marked_optional() -> None:
    def psych_planets() -> list[str]:
        return ["mars"]

    newer = plugin(adapter("alpha"), psych_planets=hookimpl(optionalhook=True)(psych_planets))
    assert [a.name for a in PluginRegistry([newer]).stores()] == ["alpha", "memory"]


def test_raising_a_plugin_error_twice_does_not_grow_it() -> None:
    class Gamma:
        psych_storez = staticmethod(hookimpl(_failing))

    registry = PluginRegistry([Gamma])
    registry_errors = []
    for _ in range(2):
        with pytest.raises(PluginLoadError) as caught:
            registry.find(StoreAdapter, "Gamma")
        registry_errors.append(caught.value)
    assert registry_errors[0] is not registry_errors[1]
    assert str(registry_errors[0]) == str(registry_errors[1])


@pytest.mark.parametrize(
    ("url", "error", "says"),
    [
        (
            "postgresql://bob:hunter2@db/app",
            PluginNotInstalledError,
            "the store 'postgresql://…' needs psych-runtime-postgres, which is not installed: "
            "pip install 'psych-runtime[postgres]'",
        ),
        ("sqlite:///x", PluginNotInstalledError, "pip install psych-runtime-sqlite"),
        (
            "postgrse://bob:hunter2@db/app",
            UnknownAdapterError,
            "no store answers to 'postgrse://…'. Did you mean 'postgres'? It is not installed: "
            "pip install 'psych-runtime[postgres]' Installed: memory.",
        ),
        (
            "memroy://",
            UnknownAdapterError,
            "no store answers to 'memroy://…'. Did you mean 'memory'? Installed: memory.",
        ),
        ("qqq://hunter2", UnknownAdapterError, "no store answers to 'qqq://…'. Installed: memory."),
        (
            "bob hunter2@db",
            UnknownAdapterError,
            "a store URL starts with a scheme, such as memory://; this one has none",
        ),
    ],
)
def test_a_url_nobody_answers_to(url: str, error: type[PluginError], says: str) -> None:
    with pytest.raises(error) as caught:
        store_from_url(url, registry=PluginRegistry([]))
    assert says in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_a_name_nobody_has() -> None:
    with pytest.raises(PluginNotInstalledError, match="the model 'openai' needs psych-runtime-op"):
        PluginRegistry([]).find(ModelAdapter, "openai")


def test_not_installed_is_also_a_module_not_found_error() -> None:
    with pytest.raises(ModuleNotFoundError) as caught:
        store_from_url("mysql://", registry=PluginRegistry([]))
    assert caught.value.name == "psych_runtime_mysql"


def test_every_hook_is_documented_with_an_example_and_takes_nothing() -> None:
    declared = {
        name: function
        for name, function in vars(hookspecs).items()
        if name.startswith("psych_") and inspect.isfunction(function)
    }
    assert set(declared) == set(HOOKS)
    assert set(HOOKS.values()) == set(KINDS)
    for name, function in declared.items():
        assert not inspect.signature(function).parameters
        assert f"def {name}():" in (function.__doc__ or "")
