from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from workspace import DISTRIBUTIONS, PLUGINS, ROOT, pyproject

OURS = {folder.name for folder in DISTRIBUTIONS}
KNOWN_SERVICES = {"postgres", "mysql", "dynamodb", "s3"}
BY_NAME = pytest.mark.parametrize("folder", DISTRIBUTIONS, ids=lambda folder: folder.name)


def _requirements(folder: Path) -> Iterator[Requirement]:
    document = pyproject(folder)
    project = document["project"]
    lines = [*document.get("build-system", {}).get("requires", []), *project["dependencies"]]
    for extra in project.get("optional-dependencies", {}).values():
        lines += extra
    for group in document.get("dependency-groups", {}).values():
        lines += group
    return (Requirement(line) for line in lines)


@pytest.mark.parametrize("folder", [ROOT, *DISTRIBUTIONS], ids=lambda folder: folder.name)
def test_every_dependency_has_a_lower_bound(folder: Path) -> None:
    unbounded = [
        str(one)
        for one in _requirements(folder)
        if not any(part.operator in (">=", "~=") for part in one.specifier)
    ]
    # The root names its own members, which uv takes from the workspace.
    assert [name for name in unbounded if not (folder == ROOT and name in OURS)] == []


@BY_NAME
def test_our_distributions_depend_on_each_other_by_one_minor_version(folder: Path) -> None:
    major, minor, _ = pyproject(folder)["project"]["version"].split(".")
    for one in _requirements(folder):
        if one.name in OURS:
            bounds = {part.operator: part.version for part in one.specifier}
            assert bounds.keys() == {">=", "<"}, one
            assert re.fullmatch(rf"{major}\.{minor}(\.\d+)?", bounds[">="]), one
            assert bounds["<"] == f"{major}.{int(minor) + 1}", one


def test_all_versions_are_the_same() -> None:
    versions = {folder.name: pyproject(folder)["project"]["version"] for folder in DISTRIBUTIONS}
    assert set(versions.values()) == {pyproject(ROOT)["project"]["version"]}, versions


def test_the_core_depends_on_three_packages() -> None:
    core = ROOT / "packages" / "psych-runtime-core"
    dependencies = pyproject(core)["project"]["dependencies"]
    assert {Requirement(line).name for line in dependencies} == {"httpx", "pluggy", "pydantic"}


@BY_NAME
def test_metadata_is_the_same_everywhere(folder: Path) -> None:
    project = pyproject(folder)["project"]
    assert project["name"] == folder.name
    assert project["requires-python"] == ">=3.12"
    assert project["license"] == "Apache-2.0"
    assert (folder / project["readme"]).is_file()


@pytest.mark.parametrize("folder", PLUGINS, ids=lambda folder: folder.name)
def test_a_plugin_declares_its_services_and_entry_point(folder: Path) -> None:
    document = pyproject(folder)
    assert set(document["tool"]["psych"]["ci"]["services"]) <= KNOWN_SERVICES
    package = folder.name.replace("-", "_")
    assert document["project"]["entry-points"]["psych_runtime"] == {
        folder.name.removeprefix("psych-runtime-"): f"{package}.plugin"
    }
