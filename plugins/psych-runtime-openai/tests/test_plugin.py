from __future__ import annotations

import subprocess
import sys

import pytest
from psych_runtime.errors import InvalidInput
from psych_runtime.ports.messages import UserMessage
from psych_runtime.ports.model import ModelRequest, StreamDone
from psych_runtime.testing.openai_stub import OpenAIStub
from psych_runtime_openai.plugin import psych_models
from psych_runtime_openai.url import client_from_url


async def test_the_declared_adapter_opens_a_working_client(
    stub: OpenAIStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "sk-mine")
    stub.answer("ok")
    (adapter,) = psych_models()
    assert (adapter.name, adapter.schemes) == ("openai", ("openai",))
    client = adapter.open(stub.url.replace("http://", "openai://") + "?key_env=MY_KEY")
    request = ModelRequest(model="m", messages=(UserMessage(content="hi"),))
    events = [event async for event in client.stream(request)]
    assert isinstance(events[-1], StreamDone)
    assert stub.requests[0].headers["authorization"] == "Bearer sk-mine"
    await client._transport.aclose()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("url", "base"),
    [
        ("openai://", "https://api.openai.com/v1"),
        ("openai://models.test/v1", "https://models.test/v1"),
        ("openai://models.test:8000/v1?tls=off", "http://models.test:8000/v1"),
        ("openai://localhost:4000", "http://localhost:4000"),
        ("openai://localhost/v1?tls=on", "https://localhost/v1"),
    ],
)
def test_urls(url: str, base: str) -> None:
    assert client_from_url(url)._base == base


@pytest.mark.parametrize("url", ["openai://h?tsl=off", "openai://h?tls=maybe", "openai://:k@h/v1"])
def test_a_wrong_url_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput):
        client_from_url(url)


def test_loading_the_plugin_imports_neither_the_client_nor_httpx() -> None:
    code = (
        "import psych_runtime_openai.plugin as p, sys; list(p.psych_models());"
        "assert 'httpx' not in sys.modules and 'psych_runtime_openai.client' not in sys.modules;"
        "from psych_runtime_openai.client import OpenAICompatibleClient"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
