from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from psych_runtime.ports.store import Store
from stores import STORES, open_store


@pytest.fixture(params=STORES)
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    opened = open_store(request.param, tmp_path)
    await opened.migrate()
    yield opened
    await opened.close()
