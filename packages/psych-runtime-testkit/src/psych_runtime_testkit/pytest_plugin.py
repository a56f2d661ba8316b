"""The pytest plugin: what keeps a contract suite honest.

* A subclass cannot redefine a contract test; what an adapter is known to fail is declared in
  ``known_failures``, runs as a strict expected failure, and is listed at the end of the run.
* Where ``PSYCH_REQUIRE_SERVICES`` is 1, a skipped contract test fails.
* A contract class of which no test was collected fails the run.
"""

from __future__ import annotations

import inspect
from collections.abc import Generator, Iterator
from types import ModuleType

import pytest

pytest.register_assert_rewrite("psych_runtime_testkit")

from psych_runtime_testkit.contract import Contract, contract_tests  # noqa: E402
from psych_runtime_testkit.services import REQUIRE_VARIABLE, services_required  # noqa: E402

_COLLECTED = pytest.StashKey[set[type]]()
_MODULES = pytest.StashKey[dict[ModuleType, str]]()


def pytest_configure(config: pytest.Config) -> None:
    """Start with nothing collected."""
    config.stash[_COLLECTED] = set()
    config.stash[_MODULES] = {}


def pytest_pycollect_makeitem(
    collector: pytest.Module | pytest.Class, name: str, obj: object
) -> None:
    """Refuse a contract class that redefines, or misnames, a contract test."""
    if inspect.isclass(obj) and issubclass(obj, Contract):
        problem = _problem(obj)
        if problem is not None:
            raise pytest.Collector.CollectError(problem)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Note the class of a contract test, and expect the failures it declares."""
    cls = _contract_class(item)
    if cls is None or not isinstance(item, pytest.Function):
        return
    item.config.stash[_COLLECTED].add(cls)
    item.keywords["psych_contract"] = True
    reason = cls.known_failures.get(item.originalname)
    if reason is not None:
        item.add_marker(pytest.mark.xfail(reason=reason, strict=True))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Note every test module that was collected whole."""
    report = yield
    if isinstance(collector, pytest.Module) and report.passed:
        collector.config.stash[_MODULES][collector.obj] = collector.nodeid
    return report


def pytest_collection_modifyitems(config: pytest.Config) -> None:
    """Fail the run when a contract class was written but none of its tests were collected."""
    if any("::" in argument for argument in config.args):
        return
    collected = config.stash[_COLLECTED]
    for module, nodeid in config.stash[_MODULES].items():
        for cls in _contract_classes(module):
            if not any(issubclass(other, cls) for other in collected):
                raise pytest.UsageError(
                    f"{nodeid}: no contract test of {cls.__name__} was collected; name it Test… "
                    "and do not set __test__"
                )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a skipped contract test into a failure where services are required."""
    report = yield
    skipped = report.skipped and not hasattr(report, "wasxfail")
    if skipped and services_required() and _contract_class(item) is not None:
        why = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        report.outcome = "failed"
        report.longrepr = f"a contract test may not be skipped while {REQUIRE_VARIABLE} is 1: {why}"
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List what adapters are known to fail."""
    expected = [
        report
        for report in terminalreporter.stats.get("xfailed", [])
        if "psych_contract" in report.keywords
    ]
    if expected:
        terminalreporter.section("contract: known failures")
        for report in expected:
            terminalreporter.line(f"{report.nodeid}: {report.wasxfail}")


def _problem(cls: type[Contract]) -> str | None:
    tests = contract_tests(cls)
    for base in cls.__mro__:
        for name in vars(base):
            owner = tests.get(name)
            if owner is not None and not base.__module__.startswith("psych_runtime_testkit."):
                return (
                    f"{base.__name__}.{name} redefines a contract test of {owner.__name__}; a "
                    f"behaviour the adapter does not have is declared instead: known_failures = "
                    f"{{{name!r}: 'the reason'}}"
                )
    for name, reason in cls.known_failures.items():
        if name not in tests:
            return f"{cls.__name__}.known_failures names {name!r}, which is no contract test"
        if not reason.strip():
            return f"{cls.__name__}.known_failures gives no reason for {name!r}"
    return None


def _contract_class(item: pytest.Item) -> type[Contract] | None:
    cls = getattr(item, "cls", None)
    return cls if inspect.isclass(cls) and issubclass(cls, Contract) else None


def _contract_classes(module: ModuleType) -> Iterator[type[Contract]]:
    for value in vars(module).values():
        if not inspect.isclass(value) or value.__module__ != module.__name__:
            continue
        if issubclass(value, Contract) and contract_tests(value):
            yield value
