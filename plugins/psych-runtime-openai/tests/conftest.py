from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from psych_runtime.egress import HttpTransport
from psych_runtime.scope import Scope
from psych_runtime.testing.openai_stub import OpenAIStub
from psych_runtime_openai.client import OpenAICompatibleClient


@pytest.fixture
async def stub() -> AsyncIterator[OpenAIStub]:
    async with OpenAIStub() as running:
        yield running


@pytest.fixture
async def transport() -> AsyncIterator[HttpTransport]:
    async with HttpTransport() as opened:
        yield opened


@pytest.fixture
def client(stub: OpenAIStub, transport: HttpTransport) -> OpenAICompatibleClient:
    return OpenAICompatibleClient(
        base_url=stub.url, transport=transport, scope=Scope(tenant="acme"), api_key="sk-test"
    )
