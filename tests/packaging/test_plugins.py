"""Real distributions in a real interpreter: what each kind of bad plugin says, and to whom."""

from collections.abc import Callable
from typing import Any

import pytest

Ask = Callable[..., Any]

OPEN = """
from psych_runtime.store.url import store_from_url
from psych_runtime.plugins.registry import default_registry
"""


def test_an_installed_plugin_opens_by_url(ask: Ask) -> None:
    kind, names = ask(
        ["good"],
        OPEN
        + "result = [type(store_from_url('good://x')).__name__,"
        + " [a.name for a in default_registry().stores()]]",
    )
    assert kind == "InMemoryStore"
    assert "good" in names
    assert "memory" in names
    assert names == sorted(names)


def test_importing_psych_runtime_finds_and_loads_nothing(ask: Ask) -> None:
    loaded = ask(
        ["good", "broken_import"],
        "import sys, psych_runtime, psych_runtime.store.url\n"
        "result = [m for m in ('pluggy', 'acme_good', 'acme_broken') if m in sys.modules]",
    )
    assert loaded == []


def test_a_broken_import_is_logged_once_and_harms_nobody_else(ask: Ask) -> None:
    opened, logged = ask(
        ["good", "broken_import"],
        OPEN
        + "opened = [type(store_from_url('good://')).__name__ for _ in range(3)]\n"
        + "result = [opened, [m for m in logged if 'acme-broken' in m]]",
    )
    assert opened == ["InMemoryStore"] * 3
    assert logged == [
        "plugin 'broken' (acme-broken 0.3) could not be imported from 'acme_broken.plugin': "
        "ModuleNotFoundError: No module named 'a_driver_that_is_absent'"
    ]


def test_a_broken_plugin_raises_when_it_is_asked_for(ask: Ask) -> None:
    kind, text, cause = ask(
        ["broken_import"], OPEN + "result = error_of(store_from_url, 'broken://u:hunter2@h')"
    )
    assert kind == "PluginLoadError"
    assert "acme-broken 0.3" in text
    assert "a_driver_that_is_absent" in text
    assert "hunter2" not in text
    assert cause == "ModuleNotFoundError"


def test_an_unknown_scheme_mentions_the_plugins_that_are_not_usable(ask: Ask) -> None:
    kind, text, _ = ask(
        ["good", "broken_import"], OPEN + "result = error_of(store_from_url, 'god://')"
    )
    assert kind == "UnknownAdapterError"
    assert "no store answers to 'god://…'. Did you mean 'good'?" in text
    assert "plugin 'broken' (acme-broken 0.3)" in text


def test_an_unknown_hook_blames_its_owner(ask: Ask) -> None:
    kind, text, _ = ask(["unknown_hook"], OPEN + "result = error_of(store_from_url, 'typo://')")
    assert kind == "PluginLoadError"
    assert text == (
        "plugin 'typo' (acme-typo 0.1) implements 'psych_storez', which is no hook of this core: "
        "did you mean 'psych_stores'? A hook of a newer core needs @hookimpl(optionalhook=True)"
    )


def test_another_api_version_is_refused_before_the_import(ask: Ask) -> None:
    error, imported = ask(
        ["old_api"],
        OPEN
        + "import sys\nresult = [error_of(store_from_url, 'old://'),"
        + " 'acme_old.plugin' in sys.modules]",
    )
    assert error[:2] == [
        "PluginIncompatibleError",
        "plugin 'old' (acme-old 7.0) was written for plugin API 0, this core has plugin API 1: "
        "upgrade acme-old",
    ]
    assert imported is False


def test_two_distributions_with_one_name_are_both_named(ask: Ask) -> None:
    kind, text, _ = ask(
        ["duplicate_name_a", "duplicate_name_b"],
        OPEN + "result = error_of(store_from_url, 'twin://')",
    )
    assert kind == "PluginConflictError"
    assert text == (
        "the plugin name 'twin' is claimed by acme-twin-a 1.0 and acme-twin-b 2.0; neither was "
        "loaded: uninstall all but one"
    )


@pytest.mark.parametrize(
    ("fixture", "claim", "kind", "advice"),
    [
        (
            "first_party_hijack",
            "the plugin name 'postgres' belongs to psych-runtime-postgres; not-psych-postgres 6.6",
            "PluginConflictError",
            "uninstall not-psych-postgres, or rename its entry point",
        ),
        (
            "first_party_scheme",
            "declares the store 'postgres', which belongs to psych-runtime-postgres",
            "PluginNotInstalledError",
            "pip install 'psych-runtime[postgres]'",
        ),
    ],
)
def test_our_names_are_not_taken_from_another_distribution(
    ask: Ask, fixture: str, claim: str, kind: str, advice: str
) -> None:
    error, logged, names = ask(
        [fixture],
        OPEN
        + "error = error_of(store_from_url, 'postgresql://u:hunter2@h/d')\n"
        + "result = [error, logged, [a.name for a in default_registry().stores()]]",
    )
    assert "postgres" not in names
    assert any(claim in line for line in logged)
    assert error[0] == kind
    assert advice in error[1]
    assert "hunter2" not in error[1]


def test_the_allow_list_leaves_plugins_out_and_says_so(ask: Ask) -> None:
    names, error, logged = ask(
        ["good", "broken_import"],
        OPEN
        + "names = [a.name for a in default_registry().stores()]\n"
        + "result = [names, error_of(store_from_url, 'good://'), logged]",
        PSYCH_RUNTIME_PLUGINS="nobody",
    )
    assert names == ["memory"]
    assert error[:2] == [
        "PluginLoadError",
        "plugin 'good' (acme-good 1.2) is installed, but PSYCH_RUNTIME_PLUGINS='nobody' leaves it "
        "out: add 'good' to it",
    ]
    assert logged == ["PSYCH_RUNTIME_PLUGINS names 'nobody', which is not installed"]


def test_the_allow_list_lets_the_named_plugin_in(ask: Ask) -> None:
    names = ask(
        ["good", "broken_import"],
        OPEN + "result = [a.name for a in default_registry().stores()]",
        PSYCH_RUNTIME_PLUGINS=" good , ",
    )
    assert names == ["good", "memory"]


def test_a_shim_passes_on_a_missing_driver_of_an_installed_adapter(ask: Ask, tmp_path: Any) -> None:
    package = tmp_path / "site" / "psych_runtime_mysql"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "store.py").write_text("import aiomysql_is_absent\n")
    kind, text, _ = ask(
        [],
        "import importlib\nresult = error_of(importlib.import_module, 'psych_runtime.store.mysql')",
    )
    assert kind == "ModuleNotFoundError"
    assert "aiomysql_is_absent" in text


def test_a_distribution_that_is_found_twice_counts_once(ask: Ask, tmp_path: Any) -> None:
    names = ask(
        ["good"],
        "import shutil, sys\n"
        f"shutil.copytree({str(tmp_path / 'site')!r}, {str(tmp_path / 'again')!r})\n"
        f"sys.path.append({str(tmp_path / 'again')!r})\n"
        + OPEN
        + "result = [p.source.plugin for p in default_registry().plugins() if p.error is None]",
    )
    assert names.count("good") == 1
