import re
import subprocess
import sys
from collections.abc import Callable
from importlib import metadata

import psych_runtime
import pytest
from click.testing import Result

Psych = Callable[..., Result]


def test_version(psych: Psych) -> None:
    result = psych("--version")
    assert result.output == f"psych {metadata.version('psych-runtime-core')}\n"
    assert metadata.version("psych-runtime-core") == psych_runtime.__version__
    assert result.exit_code == 0


@pytest.mark.parametrize("args", [(), ("--help",)])
def test_help_names_every_command(psych: Psych, args: tuple[str, ...]) -> None:
    result = psych(*args)
    assert result.exit_code == 0
    commands = re.findall(r"^  (\w+)  ", result.output.partition("Commands:")[2], re.MULTILINE)
    assert commands == ["doctor", "new", "plugins", "skills", "spec"]


@pytest.mark.parametrize("group", ["skills", "spec"])
def test_a_bare_group_prints_its_help(psych: Psych, group: str) -> None:
    result = psych(group)
    assert result.exit_code == 0
    assert f"Usage: psych {group}" in result.output


def test_errors_go_to_stderr_in_one_shape(psych: Psych) -> None:
    result = psych("nope")
    assert result.exit_code == 1
    assert result.stderr == "psych: No such command 'nope'.\n"
    assert result.stdout == ""


def test_the_command_is_installed_and_light() -> None:
    code = (
        "import sys; sys.argv = ['psych', '--version']\n"
        "import psych_runtime_cli.main as m\n"
        "try: m.main()\n"
        "except SystemExit as e: assert not e.code\n"
        "heavy = {'httpx', 'sqlite3'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    scripts = metadata.entry_points(group="console_scripts", name="psych")
    assert [script.value for script in scripts] == ["psych_runtime_cli.main:main"]
