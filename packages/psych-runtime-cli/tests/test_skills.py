import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from psych_runtime_cli import skills

Psych = Callable[..., Result]


@pytest.fixture
def two_skills(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "packaged"
    for name, text in [("psych-b", "Second. More."), ("psych-a", "x" * 120)]:
        (folder / name / "extra").mkdir(parents=True)
        (folder / name / "extra/file.txt").write_text("extra")
        (folder / name / "SKILL.md").write_text(
            f"---\nname: {name}\ndescription: {text}\n---\n\n# {name}\n"
        )
    monkeypatch.setattr(skills, "_PACKAGED", folder)
    return folder


def test_list_shows_names_and_first_sentences(psych: Psych, two_skills: Path) -> None:
    result = psych("skills", "list")
    assert result.output.splitlines() == [
        f"2 skills in {two_skills}",
        "",
        f"  {'psych-a':<24}{'x' * 96}...",
        f"  {'psych-b':<24}Second.",
    ]


def test_install_copies_whole_folders(psych: Psych, two_skills: Path, tmp_path: Path) -> None:
    result = psych("skills", "install")
    assert result.output == "installed 2 skills in .agents/skills\n"
    assert (tmp_path / ".agents/skills/psych-a/SKILL.md").is_file()
    assert (tmp_path / ".agents/skills/psych-b/extra/file.txt").read_text() == "extra"


def test_install_skips_what_is_there_unless_forced(
    psych: Psych, two_skills: Path, tmp_path: Path
) -> None:
    mine = tmp_path / "dest/psych-a"
    mine.mkdir(parents=True)
    (mine / "mine.txt").write_text("mine")
    result = psych("skills", "install", "--dest", "dest")
    assert result.output.splitlines() == [
        "installed 1 skill in dest",
        "skipped 1 already there; pass --force to replace",
    ]
    assert [path.name for path in mine.iterdir()] == ["mine.txt"]
    assert psych("skills", "install", "--dest", "dest", "--force").output == (
        "installed 2 skills in dest\n"
    )
    assert sorted(path.name for path in mine.iterdir()) == ["SKILL.md", "extra"]


def test_an_installation_without_skills_says_so(
    psych: Psych, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(skills, "_PACKAGED", tmp_path / "none")
    monkeypatch.setattr(skills, "_SOURCE_TREE", tmp_path / "none")
    result = psych("skills", "list")
    assert result.exit_code == 1
    assert "psych: this installation has no skills" in result.stderr


def test_our_own_skills_have_a_name_a_description_and_python_that_parses() -> None:
    found = skills.guides(skills.skills_folder())
    assert "psych" in [guide.name for guide in found]
    for guide in found:
        assert guide.name == guide.folder.name
        assert len(guide.description) > 40
        text = (guide.folder / "SKILL.md").read_text("utf-8")
        blocks = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        for block in blocks:
            compile(block, str(guide.folder), "exec")
