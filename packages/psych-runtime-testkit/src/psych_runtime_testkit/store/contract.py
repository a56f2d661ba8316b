"""`StoreContract`."""

from __future__ import annotations

from psych_runtime_testkit.store.admission import AdmissionContract
from psych_runtime_testkit.store.appends import AppendContract
from psych_runtime_testkit.store.claiming import ClaimContract
from psych_runtime_testkit.store.durability import DurabilityContract
from psych_runtime_testkit.store.externals import ExternalContract
from psych_runtime_testkit.store.listing import ListingContract
from psych_runtime_testkit.store.purging import PurgeContract
from psych_runtime_testkit.store.sessions import SessionContract
from psych_runtime_testkit.store.supervision import DueContract
from psych_runtime_testkit.store.values import ValueContract
from psych_runtime_testkit.store.versions import VersionContract
from psych_runtime_testkit.store.wakeups import WakeupContract


class StoreContract(
    AdmissionContract,
    AppendContract,
    ExternalContract,
    ClaimContract,
    SessionContract,
    DueContract,
    ListingContract,
    PurgeContract,
    ValueContract,
    VersionContract,
    WakeupContract,
    DurabilityContract,
):
    """Everything a Store must do, one behaviour per test.

    Example:
        ```python
        class TestRedisStore(StoreContract):
            capabilities = frozenset({"durable", "listen"})

            @pytest.fixture
            async def store(self):
                async with RedisStore("redis://localhost/15") as store:
                    await store.migrate()
                    yield store
        ```
    """
