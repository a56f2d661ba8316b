import re
import subprocess
import sys

import pytest
from click.testing import CliRunner
from psych_runtime_testkit.cli import main


def _new(name, *arguments):
    return CliRunner().invoke(main, ["new", "store", name, *arguments])


def test_new_store_fails_its_contract_for_the_right_reasons(tmp_path):
    folder = tmp_path / "adapter"
    result = _new("redis-streams", "--into", str(folder))
    assert result.exit_code == 0, result.output
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=line"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "error" not in done.stdout.splitlines()[-1], done.stdout[-2000:]
    failed = re.findall(r"^FAILED ", done.stdout, re.MULTILINE)
    unsupported = re.findall(r"UnsupportedCapabilityError: ", done.stdout)
    assert len(failed) > 100
    # The rest are tests that look at the errors of racing calls.
    assert len(unsupported) >= len(failed) - 8
    assert "RedisStreamsStore.create_run is still to be written" in done.stdout


def test_new_store_has_a_plugin_that_loads(tmp_path):
    folder = tmp_path / "adapter"
    _new("redis", "--into", str(folder))
    program = (
        "from psych_runtime_redis.plugin import PSYCH_PLUGIN_API, psych_stores\n"
        "(adapter,) = psych_stores()\n"
        "store = adapter.open('redis://localhost')\n"
        "from psych_runtime.ports.store import Store\n"
        "assert isinstance(store, Store), type(store)\n"
        "print(PSYCH_PLUGIN_API, adapter.name, adapter.schemes)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder / "src",
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout == "1 redis ('redis',)\n", done.stderr


def test_new_store_does_not_overwrite(tmp_path):
    (tmp_path / "mine.txt").write_text("keep")
    result = _new("redis", "--into", str(tmp_path))
    assert result.exit_code == 1
    assert "is not empty" in result.output
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


@pytest.mark.parametrize("name", ["Redis", "9lives", "a_b", "-a", "a--b", "a" * 41])
def test_unusable_names_are_refused(name):
    result = _new("--", name)
    assert result.exit_code == 2
    assert "not usable as an adapter name" in result.output
