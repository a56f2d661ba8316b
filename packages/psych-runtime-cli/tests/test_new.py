from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import Result
from psych_runtime.plugins.descriptors import ProjectTemplate
from psych_runtime.plugins.hookspecs import hookimpl

Psych = Callable[..., Result]


def test_it_writes_the_minimal_template(psych: Psych) -> None:
    result = psych("new", "demo")
    assert result.exit_code == 0
    assert result.output.splitlines()[:4] == [
        "  created demo/.env.example",
        "  created demo/README.md",
        "  created demo/main.py",
        "",
    ]
    assert "demo is ready" in result.output
    assert "  cd demo\n  python main.py\n" in result.output
    assert "OPENAI_API_KEY" in result.output
    assert "psych skills install" in result.output


def test_the_placeholder_becomes_the_folder_name(psych: Psych, tmp_path: Path) -> None:
    psych("new", "some/where/shop")
    for path in (tmp_path / "some/where/shop").iterdir():
        assert "{{" not in path.read_text()
    assert (tmp_path / "some/where/shop/README.md").read_text().startswith("# shop\n")


def test_the_current_folder_gives_its_own_name(psych: Psych, tmp_path: Path) -> None:
    assert psych("new", ".").exit_code == 0
    assert (tmp_path / "README.md").read_text().startswith(f"# {tmp_path.name}\n")


def test_a_folder_with_content_is_refused_and_left_alone(psych: Psych, tmp_path: Path) -> None:
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo/main.py").write_text("mine")
    result = psych("new", "demo")
    assert result.exit_code == 1
    assert result.stderr == (
        "psych: demo is not empty; choose another name, or pass --force to overwrite\n"
    )
    assert [path.name for path in (tmp_path / "demo").iterdir()] == ["main.py"]
    assert (tmp_path / "demo/main.py").read_text() == "mine"


def test_force_overwrites_and_keeps_other_files(psych: Psych, tmp_path: Path) -> None:
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo/main.py").write_text("mine")
    (tmp_path / "demo/notes.txt").write_text("notes")
    assert psych("new", "demo", "--force").exit_code == 0
    assert "psych_runtime" in (tmp_path / "demo/main.py").read_text()
    assert (tmp_path / "demo/notes.txt").read_text() == "notes"


def test_a_file_of_that_name_is_refused(psych: Psych, tmp_path: Path) -> None:
    (tmp_path / "demo").write_text("")
    assert psych("new", "demo").stderr == "psych: demo is a file; choose another name\n"


def test_an_unknown_template_gets_a_suggestion(psych: Psych, tmp_path: Path) -> None:
    result = psych("new", "demo", "--template", "minimol")
    assert result.exit_code == 1
    assert "no project template answers to 'minimol'. Did you mean 'minimal'?" in result.stderr
    assert not (tmp_path / "demo").exists()


def test_a_template_can_come_from_a_plugin(
    psych: Psych, tmp_path: Path, with_plugins: Callable[..., Any]
) -> None:
    def psych_project_templates() -> list[ProjectTemplate]:
        return [
            ProjectTemplate(
                name="tiny", summary="", files=lambda project: {"deep/er/a.txt": f"<{project}>"}
            )
        ]

    with_plugins(SimpleNamespace(psych_project_templates=hookimpl(psych_project_templates)))
    assert psych("new", "demo", "--template", "tiny").exit_code == 0
    assert (tmp_path / "demo/deep/er/a.txt").read_text() == "<demo>"


@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "PSYCH_BASE_URL", "PSYCH_MODEL"])
def test_the_example_environment_lists_what_main_reads(
    psych: Psych, tmp_path: Path, name: str
) -> None:
    psych("new", "demo")
    assert f"\n{name}=" in (tmp_path / "demo/.env.example").read_text()
    assert f'"{name}"' in (tmp_path / "demo/main.py").read_text()
