import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from psych_runtime.errors import InvalidInput
from psych_runtime.spec.version import compute_hash
from psych_runtime_cli.yaml_spec import load_spec_file

Psych = Callable[..., Result]

YAML = """\
kind: agent
name: support
instructions: no
model:
  model: gpt-4o
  temperature: 0.5
tools:
  - kind: code
    name: lookup_order
"""
DOCUMENT = {
    "kind": "agent",
    "name": "support",
    "instructions": "no",
    "model": {"model": "gpt-4o", "temperature": 0.5},
    "tools": [{"kind": "code", "name": "lookup_order"}],
}


def test_yaml_and_json_give_the_same_hash(psych: Psych, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(YAML)
    (tmp_path / "a.json").write_text(json.dumps(DOCUMENT))
    result = psych("spec", "check", "a.yaml")
    assert result.exit_code == 0, result.stderr
    assert result.output == psych("spec", "check", "a.json").output
    spec = load_spec_file(tmp_path / "a.yaml")
    assert result.output == f"support: {compute_hash(spec)}\n"


def test_every_problem_is_listed(psych: Psych, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(YAML + "surprise: 1\nlimits:\n  max_turns: -1\n")
    result = psych("spec", "check", "a.yaml")
    assert result.exit_code == 1
    assert result.stderr.startswith("psych: the Spec has 2 problems:\n")
    assert "surprise" in result.stderr
    assert "max_turns" in result.stderr


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: 1\na: 2\n", "line 2: the key 'a' appears twice"),
        ("1: x\n", "line 1: the key 1 is not text; quote it"),
        ("- a\n", "it holds a list, a Spec is a mapping"),
        ("a: [\n", "line 2"),
        ("a: !!python/object:os.system {}\n", "could not determine a constructor"),
    ],
)
def test_what_is_no_spec_document(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "a.yml"
    path.write_text(text)
    with pytest.raises(InvalidInput) as caught:
        load_spec_file(path)
    assert says in str(caught.value)
    assert str(path) in str(caught.value)


def test_json_does_not_repeat_keys_either(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"a": 1, "a": 2}')
    with pytest.raises(InvalidInput, match="the key 'a' appears twice"):
        load_spec_file(path)


def test_other_files_and_missing_files(psych: Psych, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("")
    assert "must end in .json, .yaml or .yml" in psych("spec", "check", "a.toml").stderr
    result = psych("spec", "check", "nope.yaml")
    assert result.exit_code == 1
    assert "nope.yaml" in result.stderr
