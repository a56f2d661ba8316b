from __future__ import annotations

import ast
import statistics
from collections.abc import Iterator

import grimp
import pytest
from workspace import PLUGINS, ROOT, import_packages, modules

MEDIAN_LINES = 200
MOST_LINES = 500
WORTH_A_LOOK = 350


@pytest.fixture(scope="module")
def core() -> grimp.ImportGraph:
    return grimp.build_graph(
        "psych_runtime",
        include_external_packages=True,
        exclude_type_checking_imports=True,
        cache_dir=None,
    )


def test_modules_stay_small(note: list[str]) -> None:
    lines = {path: len(path.read_text().splitlines()) for path in modules()}
    for path, count in sorted(lines.items(), key=lambda item: -item[1]):
        if count > WORTH_A_LOOK:
            note.append(f"{path.relative_to(ROOT)}: {count} lines, is it one thing?")
    assert statistics.median(lines.values()) < MEDIAN_LINES
    assert {str(path): count for path, count in lines.items() if count > MOST_LINES} == {}


def test_every_import_package_is_typed() -> None:
    untyped = [path.name for path in import_packages() if not (path / "py.typed").is_file()]
    assert untyped == []


def test_a_plugins_init_holds_only_its_docstring() -> None:
    for path in import_packages():
        if path.parents[1] in PLUGINS:
            body = ast.parse((path / "__init__.py").read_text()).body
            assert len(body) == 1, path
            assert isinstance(body[0], ast.Expr), path
            assert isinstance(body[0].value, ast.Constant), path


def test_only_the_plugins_package_imports_pluggy(core: grimp.ImportGraph) -> None:
    importers = core.find_modules_that_directly_import("pluggy")
    assert importers
    assert {name for name in importers if not name.startswith("psych_runtime.plugins.")} == set()


def test_no_module_imports_itself_through_others(core: grimp.ImportGraph) -> None:
    ours = {name for name in core.modules if name.startswith("psych_runtime.")}
    edges = {name: core.find_modules_directly_imported_by(name) & ours for name in ours}
    assert list(_cycles(edges)) == []


def _cycles(edges: dict[str, set[str]]) -> Iterator[list[str]]:
    """Strongly connected components with more than one module (Tarjan)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []

    def visit(name: str) -> Iterator[list[str]]:
        index[name] = low[name] = len(index)
        stack.append(name)
        for other in sorted(edges[name]):
            if other not in index:
                yield from visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], index[other])
        if low[name] == index[name]:
            component = stack[stack.index(name) :]
            del stack[stack.index(name) :]
            if len(component) > 1:
                yield component

    for name in sorted(edges):
        if name not in index:
            yield from visit(name)


def test_the_cycle_search_finds_a_cycle() -> None:
    assert list(_cycles({"a": {"b"}, "b": {"c"}, "c": {"b"}})) == [["b", "c"]]
    assert list(_cycles({"a": {"b", "c"}, "b": {"c"}, "c": set()})) == []
