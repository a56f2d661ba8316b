"""A store adapter's distribution, ready to be written: its contract suite runs, and fails."""

from __future__ import annotations

import re

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


def store_distribution(name: str) -> dict[str, str]:
    """Return the files of a new store adapter by relative path.

    Args:
        name: What the adapter is called, such as ``redis``; also its URL scheme.

    Raises:
        ValueError: The name is not usable.
    """
    if not _NAME.fullmatch(name) or len(name) > 40:
        raise ValueError(
            f"{name!r} is not usable as an adapter name: lower-case letters and digits, with "
            "single hyphens between words, at most 40 characters"
        )
    package = f"psych_runtime_{name.replace('-', '_')}"
    class_name = "".join(word.capitalize() for word in name.split("-")) + "Store"
    fill = {"@NAME@": name, "@PACKAGE@": package, "@CLASS@": class_name}
    return {
        path.replace("@PACKAGE@", package): _filled(text, fill) for path, text in _FILES.items()
    }


def _filled(text: str, fill: dict[str, str]) -> str:
    for mark, value in fill.items():
        text = text.replace(mark, value)
    return text.lstrip("\n")


_PYPROJECT = """
[build-system]
requires = ["hatchling>=1.25"]
build-backend = "hatchling.build"

[project]
name = "psych-runtime-@NAME@"
version = "0.1.0"
description = "A store for Psych Runtime on @NAME@."
readme = "README.md"
requires-python = ">=3.12"
dependencies = ["psych-runtime-core>=0.2.0,<0.3"]

[project.entry-points.psych_runtime]
@NAME@ = "@PACKAGE@.plugin"

[dependency-groups]
dev = ["psych-runtime-testkit>=0.2.0,<0.3"]

[tool.hatch.build.targets.wheel]
packages = ["src/@PACKAGE@"]

[tool.pytest.ini_options]
asyncio_mode = "auto"
asyncio_default_fixture_loop_scope = "function"
addopts = "--import-mode=importlib"
pythonpath = ["src"]
testpaths = ["tests"]
"""

_README = """
# psych-runtime-@NAME@

A store for Psych Runtime. Every method of `src/@PACKAGE@/store.py` says it is unsupported until
you write it; `uv run pytest` shows what is left. The rules are in the docstrings of
`psych_runtime.ports.store`.

Suggested order: `create_run`, `get_run` and `read`; `claim` and `append`; `append_external`;
`heartbeat` and `end_session`; then the rest.
"""

_PLUGIN = '''
"""What this distribution offers to Psych Runtime."""

from psych_runtime.plugins.descriptors import StoreAdapter
from psych_runtime.plugins.hookspecs import hookimpl

PSYCH_PLUGIN_API = 1


def _open(url: str):
    # Imported here: finding the plugin must not load your driver.
    from @PACKAGE@.store import @CLASS@

    return @CLASS@(url)


@hookimpl
def psych_stores():
    yield StoreAdapter(
        name="@NAME@", schemes=("@NAME@",), summary="A store on @NAME@", open=_open
    )
'''

_STORE = '''
"""`@CLASS@`. The rules of every method are in the docstrings of `psych_runtime.ports.store`."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from psych_runtime.errors import UnsupportedCapabilityError
from psych_runtime.ids import RunId, VersionHash
from psych_runtime.ports.store import (
    Claim,
    Created,
    Due,
    External,
    ExternalResult,
    Lease,
    Listener,
    NewRun,
    RunFilter,
    RunHeader,
    RunPage,
    StoredRecord,
    Transition,
    WorkerSession,
)
from psych_runtime.spec.version import Version


def _todo(method: str) -> UnsupportedCapabilityError:
    return UnsupportedCapabilityError(f"@CLASS@.{method} is still to be written")


class @CLASS@:
    """A durable Store on @NAME@."""

    def __init__(self, url: str, *, clock: Callable[[], datetime] | None = None) -> None:
        self._url = url
        self._clock = clock or (lambda: datetime.now(UTC))

    async def migrate(self) -> None:
        pass

    async def close(self) -> None:
        pass

    async def now(self) -> datetime:
        return self._clock()

    def listen(self, listener: Listener) -> Callable[[], None]:
        return lambda: None

    async def put_version(self, version: Version) -> None:
        raise _todo("put_version")

    async def get_version(self, version_hash: VersionHash) -> Version | None:
        raise _todo("get_version")

    async def create_run(self, run: NewRun, bodies: Sequence[bytes]) -> Created:
        raise _todo("create_run")

    async def append(
        self,
        run_id: RunId,
        bodies: Sequence[bytes],
        *,
        lease: Lease,
        batch_no: int,
        strict_head: int | None = None,
        transition: Transition | None = None,
    ) -> int:
        raise _todo("append")

    async def append_external(self, run_id: RunId, external: External) -> ExternalResult:
        raise _todo("append_external")

    async def read(
        self, run_id: RunId, *, after: int = 0, limit: int | None = None
    ) -> list[StoredRecord]:
        raise _todo("read")

    async def get_run(self, run_id: RunId) -> RunHeader | None:
        raise _todo("get_run")

    async def heartbeat(self, session: WorkerSession) -> bool:
        raise _todo("heartbeat")

    async def end_session(self, session_id: str) -> None:
        raise _todo("end_session")

    async def claim(
        self, session: WorkerSession, limit: int, *, log_limit: int = 256
    ) -> list[Claim]:
        raise _todo("claim")

    async def held(self, session_id: str) -> list[Claim]:
        raise _todo("held")

    async def due(self, limit: int = 100) -> list[Due]:
        raise _todo("due")

    async def next_due_at(self) -> datetime | None:
        raise _todo("next_due_at")

    async def list_runs(
        self, tenant: str, where: RunFilter, *, limit: int = 50, cursor: str | None = None
    ) -> RunPage:
        raise _todo("list_runs")

    async def purge(self, before: datetime, *, tenant: str, limit: int = 100) -> int:
        raise _todo("purge")
'''

_TEST = """
import os

import pytest

from @PACKAGE@.store import @CLASS@
from psych_runtime_testkit.clock import ManualClock
from psych_runtime_testkit.store import StoreContract


class Test@CLASS@(StoreContract):
    # Add "durable" (and `async def reopen(self, store)`) and "listen" once you have them.
    capabilities = frozenset()

    @pytest.fixture
    def clock_control(self):
        return ManualClock()

    @pytest.fixture
    async def store(self, clock_control):
        # When @NAME@ is a server, call psych_runtime_testkit.services.require_service here.
        url = os.environ.get("@NAME@_TEST_URL".upper().replace("-", "_"), "@NAME@://localhost")
        store = @CLASS@(url, clock=clock_control)
        await store.migrate()
        yield store
        await store.close()
"""

_CI = """
name: CI
on: [push, pull_request]
jobs:
  contract:
    runs-on: ubuntu-latest
    strategy:
      matrix:
        python: ["3.12", "3.13"]
    steps:
      - uses: actions/checkout@v4
      - uses: astral-sh/setup-uv@v5
      - run: uv run --python ${{ matrix.python }} pytest
        env:
          PSYCH_REQUIRE_SERVICES: "1"
"""

_FILES = {
    "pyproject.toml": _PYPROJECT,
    "README.md": _README,
    "src/@PACKAGE@/__init__.py": '"""A store for Psych Runtime on @NAME@."""\n',
    "src/@PACKAGE@/plugin.py": _PLUGIN,
    "src/@PACKAGE@/store.py": _STORE,
    "src/@PACKAGE@/py.typed": "",
    "tests/test_contract.py": _TEST,
    ".github/workflows/ci.yml": _CI,
}
