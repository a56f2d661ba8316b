import subprocess
import sys

import pytest
from psych_runtime_sqlite.plugin import PSYCH_PLUGIN_API, psych_stores


@pytest.fixture
def adapter():
    (adapter,) = psych_stores()
    return adapter


def test_descriptor(adapter):
    assert PSYCH_PLUGIN_API == 1
    assert (adapter.name, adapter.schemes) == ("sqlite", ("sqlite",))
    assert adapter.capabilities == {"durable", "listen"}


@pytest.mark.parametrize(
    ("url", "name"),
    [("sqlite:///runs.db", "runs.db"), ("sqlite:///a%20b.db", "a b.db")],
)
def test_relative_path(adapter, url, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert adapter.open(url)._path == str(tmp_path / name)


def test_absolute_path(adapter, tmp_path):
    assert adapter.open(f"sqlite:///{tmp_path}/x.db")._path == f"{tmp_path}/x.db"


@pytest.mark.parametrize("url", ["sqlite:", "sqlite://", "sqlite:///", "sqlite://runs.db"])
def test_url_without_a_file_is_refused(adapter, url):
    with pytest.raises(ValueError, match=r"sqlite:///runs\.db"):
        adapter.open(url)


def test_declaring_imports_neither_the_store_nor_sqlite():
    program = (
        "import sys; from psych_runtime_sqlite.plugin import psych_stores; list(psych_stores()); "
        "print([m for m in ('sqlite3', 'psych_runtime_sqlite.store') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr
