from __future__ import annotations

import pytest

_NOTES = pytest.StashKey[list[str]]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash.setdefault(_NOTES, [])


@pytest.fixture
def note(request: pytest.FixtureRequest) -> list[str]:
    """Lines for the end of the report: measured and shown, never a gate."""
    return request.config.stash.setdefault(_NOTES, [])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    lines = terminalreporter.config.stash.get(_NOTES, [])
    if lines:
        terminalreporter.section("architecture")
        for line in lines:
            terminalreporter.write_line(line)
