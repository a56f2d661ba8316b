import pytest
from psych_runtime.store.memory import InMemoryStore
from psych_runtime_testkit.clock import ManualClock
from psych_runtime_testkit.store import StoreContract


class TestInMemoryStore(StoreContract):
    capabilities = frozenset({"listen"})

    @pytest.fixture
    def clock_control(self):
        return ManualClock()

    @pytest.fixture
    async def store(self, clock_control):
        async with InMemoryStore(clock=clock_control) as store:
            yield store


class TestInMemoryStoreOnTheSystemClock(StoreContract):
    capabilities = frozenset({"listen"})

    @pytest.fixture
    async def store(self):
        async with InMemoryStore() as store:
            yield store
