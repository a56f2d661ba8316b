"""The project that `psych new` writes, run as its first user runs it."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from psych_runtime.testing.openai_stub import OpenAIStub

OFFLINE = """\
No OPENAI_API_KEY set, so this run uses the fake model.

Order A1 has shipped with DHL.

completed | 1 turn, 1 tool call | 0 tokens | cost None
"""


@pytest.fixture
def project(psych: Callable[..., Result], tmp_path: Path) -> Path:
    assert psych("new", "demo").exit_code == 0
    return tmp_path / "demo"


def _run(project: Path, **extra: str) -> subprocess.CompletedProcess[str]:
    settings = ("OPENAI_API_KEY", "PSYCH_BASE_URL", "PSYCH_MODEL")
    env = {key: value for key, value in os.environ.items() if key not in settings}
    return subprocess.run(
        [sys.executable, "main.py"],
        cwd=project,
        env={**env, **extra},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_offline_it_prints_exactly_what_the_readme_promises(project: Path) -> None:
    done = _run(project)
    assert done.stderr == ""
    assert done.stdout == OFFLINE
    assert done.returncode == 0


async def test_with_a_key_the_same_file_asks_the_server(project: Path) -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 5}
    async with OpenAIStub() as stub:
        stub.answer(tool_calls=[("lookup_order", {"order_id": "A1"})], usage=usage)
        stub.answer(text="It is with DHL.", usage=usage)
        done = await asyncio.to_thread(
            _run,
            project,
            OPENAI_API_KEY="sk-test",
            PSYCH_BASE_URL=stub.url,
            PSYCH_MODEL="some-model",
        )
        requests = stub.requests
    assert done.stderr == ""
    assert done.stdout == (
        "It is with DHL.\n\ncompleted | 1 turn, 1 tool call | 30 tokens | cost None\n"
    )
    assert [request.body["model"] for request in requests] == ["some-model"] * 2
    assert {request.headers["authorization"] for request in requests} == {"Bearer sk-test"}
    assert "DHL" in str(requests[1].body["messages"][-1])


async def test_a_refused_key_is_explained_and_does_not_look_like_an_answer(project: Path) -> None:
    async with OpenAIStub() as stub:
        stub.error(401, "bad key")
        done = await asyncio.to_thread(
            _run, project, OPENAI_API_KEY="sk-test", PSYCH_BASE_URL=stub.url
        )
    assert done.stdout.startswith("No answer: ")
    assert "bad key" in done.stdout
    assert "\nfailed | " in done.stdout
