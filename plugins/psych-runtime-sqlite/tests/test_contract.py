import contextlib

import pytest
from psych_runtime_sqlite.store import SQLiteStore
from psych_runtime_testkit.clock import ManualClock
from psych_runtime_testkit.store import StoreContract


class SQLiteContract(StoreContract):
    capabilities = frozenset({"durable", "listen"})

    @pytest.fixture
    async def store(self, tmp_path, clock_control):
        self.path = tmp_path / "runs.db"
        self.clock = clock_control
        async with contextlib.AsyncExitStack() as self.stack:
            yield await self.reopen(None)

    async def reopen(self, store):
        return await self.stack.enter_async_context(SQLiteStore(self.path, clock=self.clock))


class TestSQLiteStore(SQLiteContract):
    @pytest.fixture
    def clock_control(self):
        return ManualClock()


class TestSQLiteStoreOnTheSystemClock(SQLiteContract):
    pass
