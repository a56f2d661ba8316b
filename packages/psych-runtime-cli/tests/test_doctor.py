import asyncio
import sqlite3
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import Result
from psych_runtime.ids import RunId, VersionHash
from psych_runtime.log.codec import encode
from psych_runtime.plugins.descriptors import DoctorCheck, DoctorFinding, StoreAdapter
from psych_runtime.plugins.hookspecs import hookimpl
from psych_runtime.ports.store import NewRun
from psych_runtime.scope import Scope
from psych_runtime.store.url import store_from_url
from psych_runtime.testing.logs import LogBuilder

Psych = Callable[..., Result]
WithPlugins = Callable[..., Any]


def _plugin(**hooks: Callable[[], list[Any]]) -> object:
    return SimpleNamespace(
        **{name: hookimpl(specname=name)(function) for name, function in hooks.items()}
    )


def _check(name: str, *findings: DoctorFinding, schemes: tuple[str, ...] = ()) -> object:
    def run(url: str | None) -> list[DoctorFinding]:
        return list(findings)

    one = DoctorCheck(name=name, summary=f"Section {name}", run=run, schemes=schemes)
    return _plugin(psych_doctor_checks=lambda: [one])


def test_the_report_has_its_sections_in_order(psych: Psych, with_plugins: WithPlugins) -> None:
    with_plugins()
    result = psych("doctor")
    lines = result.output.splitlines()
    assert lines[0].startswith("psych ")
    assert lines[0].endswith(f"({sys.executable})")
    headings = [line for line in lines[1:] if line and not line.startswith(" ")]
    assert headings == [
        "Adapters",
        "Environment",
        "Agent skills",
        "Nothing here opened a socket or a database connection.",
        "Next: `psych new demo` writes a project; `psych doctor --store URL` checks a store.",
    ]
    assert result.exit_code == 0


def test_it_names_what_is_there_and_how_to_install_the_rest(
    psych: Psych, with_plugins: WithPlugins
) -> None:
    with_plugins()
    lines = [line.split(maxsplit=2) for line in psych("doctor").output.splitlines()]
    assert ["✓", "memory"] in [line[:2] for line in lines]
    postgres = next(line for line in lines if line[1:2] == ["postgres"])
    assert postgres[0] == "·"
    assert postgres[2].endswith("install with: pip install 'psych-runtime[postgres]'")


def test_variables_are_never_shown_by_value(
    psych: Psych, with_plugins: WithPlugins, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_plugins()
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    monkeypatch.delenv("PSYCH_MODEL", raising=False)
    output = psych("doctor").output
    assert "sk-very-secret" not in output
    assert "  ✓ OPENAI_API_KEY   set    a real model provider" in output
    assert "  · PSYCH_MODEL      unset  which model a scaffolded project names" in output


def test_skills_of_the_project_are_counted(psych: Psych, with_plugins: WithPlugins) -> None:
    with_plugins()
    assert "none installed in this project: psych skills install" in psych("doctor").output
    psych("skills", "install")
    assert "installed in this project" in psych("doctor").output.replace("none installed", "")


def test_a_broken_plugin_fails_it_and_is_explained(psych: Psych, with_plugins: WithPlugins) -> None:
    with_plugins(SimpleNamespace(psych_stroes=test_variables_are_never_shown_by_value))
    result = psych("doctor")
    assert result.exit_code == 1
    assert "✗ SimpleNamespace" in result.output
    assert "did you mean 'psych_stores'?" in result.output


def test_checks_of_plugins_run_and_can_fail_it(psych: Psych, with_plugins: WithPlugins) -> None:
    with_plugins(_check("a", DoctorFinding(ok=True, text="fine")))
    result = psych("doctor")
    assert "\nSection a\n  ✓ fine\n" in result.output
    assert result.exit_code == 0
    with_plugins(_check("a", DoctorFinding(ok=False, text="bad", advice="fix it")))
    result = psych("doctor")
    assert "  ✗ bad: fix it\n" in result.output
    assert result.exit_code == 1


def test_a_check_of_a_scheme_needs_a_store_url(psych: Psych, with_plugins: WithPlugins) -> None:
    with_plugins(_check("a", DoctorFinding(ok=False, text="bad"), schemes=("memory",)))
    assert psych("doctor").exit_code == 0
    assert psych("doctor", "--store", "memory://").exit_code == 1


def test_a_store_that_answers(psych: Psych) -> None:
    result = psych("doctor", "--store", "memory://")
    assert result.exit_code == 0
    assert "  ✓ the store answers; its clock says " in result.output


def test_a_failing_store_does_not_leak_its_password(
    psych: Psych, with_plugins: WithPlugins, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(url: str) -> Any:
        raise OSError(f"cannot reach {url} with password hunter2")

    adapter = StoreAdapter(name="far", schemes=("far",), summary="", open=refuse)
    registry = with_plugins(_plugin(psych_stores=lambda: [adapter]))
    monkeypatch.setattr("psych_runtime.plugins.registry.default_registry", lambda: registry)
    result = psych("doctor", "--store", "far://bob:hunter2@db/app?sslkey=topsecret")
    assert result.exit_code == 1
    assert result.stderr == (
        "psych: the store far://… cannot be used: OSError: cannot reach far://… with password ***\n"
    )
    assert "hunter2" not in result.output
    assert "topsecret" not in result.output


def test_a_run_needs_a_store(psych: Psych) -> None:
    result = psych("doctor", "--run", "run_1")
    assert result.exit_code == 1
    assert result.stderr == "psych: --run needs --store URL: a Run is looked up in its store\n"


def test_an_unknown_run(psych: Psych) -> None:
    result = psych("doctor", "--store", "memory://", "--run", "run_1")
    assert result.exit_code == 1
    assert result.stderr == "psych: no Run run_1\n"


def test_a_missing_sqlite_file_is_reported_and_not_created(psych: Psych, tmp_path: Path) -> None:
    result = psych("doctor", "--store", "sqlite:///typo.db")
    assert result.exit_code == 1
    assert "✗ there is no file typo.db" in result.output
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def two_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """A SQLite file with two legal Runs, and ``run_torn``."""
    monkeypatch.chdir(tmp_path)

    async def make() -> None:
        store = store_from_url("sqlite:///runs.db")
        await store.migrate()
        for run_id in ("run_bad", "run_good", "run_torn"):
            log = LogBuilder(run_id).admitted().attempt().turn()
            if run_id == "run_torn":
                log.tool_finished("call_of_nobody")
            run = NewRun(
                run_id=RunId(run_id),
                scope=Scope(tenant="acme"),
                version_hash=VersionHash("sha256:test"),
                name="support",
                deadline_at=datetime.now(UTC) + timedelta(hours=1),
            )
            await store.create_run(run, [encode(record) for record in log.records])
        await store.close()

    asyncio.run(make())
    return "run_bad", "run_good"


def test_sqlite_durability_is_shown(psych: Psych, two_runs: tuple[str, str]) -> None:
    result = psych("doctor", "--store", "sqlite:///runs.db")
    assert result.exit_code == 0
    assert "\nDurability\n  ✓ journal_mode wal\n  ✓ synchronous FULL\n" in result.output


def test_a_corrupt_record_is_named_with_its_cause_and_other_runs_are_sound(
    psych: Psych, two_runs: tuple[str, str], tmp_path: Path
) -> None:
    bad, good = two_runs
    with sqlite3.connect(tmp_path / "runs.db") as database:
        rows = database.execute(
            "SELECT r.run, r.last, r.bodies FROM records r JOIN runs ON runs.ord = r.run"
            " WHERE runs.run_id = ? AND instr(r.bodies, CAST('turn_started' AS BLOB)) > 0",
            (bad,),
        ).fetchall()
        assert len(rows) == 1
        run, last, bodies = rows[0]
        database.execute(
            "UPDATE records SET bodies = ? WHERE run = ? AND last = ?",
            (bytes(bodies).replace(b"turn_started", b"turn_stolen!"), run, last),
        )
    database.close()
    result = psych("doctor", "--store", "sqlite:///runs.db", "--run", bad)
    assert result.exit_code == 1
    wrong = [line for line in result.output.splitlines() if "✗" in line]
    assert len(wrong) == 1
    assert "(turn_stolen!) is corrupt: unreadable_record: " in wrong[0]
    assert "there is no record type 'turn_stolen!'" in wrong[0]

    result = psych("doctor", "--store", "sqlite:///runs.db", "--run", good)
    assert result.exit_code == 0
    assert "the log is sound" in result.output


def test_a_readable_record_that_cannot_follow_is_named_too(
    psych: Psych, two_runs: tuple[str, str]
) -> None:
    result = psych("doctor", "--store", "sqlite:///runs.db", "--run", "run_torn")
    assert result.exit_code == 1
    assert "✗ record 4 (tool_call_finished) is corrupt: tool_call_mismatch: " in result.output
    assert "only this Run is affected" in result.output
