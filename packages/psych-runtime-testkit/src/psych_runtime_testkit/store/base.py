"""The fixtures of the Store suites."""

from __future__ import annotations

from typing import ClassVar

import pytest
from psych_runtime.ports.store import Store

from psych_runtime_testkit.clock import ManualClock
from psych_runtime_testkit.contract import Contract
from psych_runtime_testkit.store.lab import StoreLab


class StoreSuite(Contract):
    """Base of the topics of `StoreContract`.

    Attributes:
        capabilities: What the adapter's descriptor declares: ``listen``, ``durable``.
    """

    capabilities: ClassVar[frozenset[str]] = frozenset()

    @pytest.fixture
    def store(self) -> Store:
        """The store under test, empty and migrated. Define it, and close the store after."""
        pytest.fail(
            f"{type(self).__name__} defines no fixture `store`: write one that yields an empty, "
            "migrated store and closes it",
            pytrace=False,
        )

    @pytest.fixture
    def clock_control(self) -> ManualClock | None:
        """The store's clock when the adapter can be given one; None: it has a clock of its own."""
        return None

    async def reopen(self, store: Store) -> Store:
        """Open what ``store`` holds once more, as another process would. For ``durable`` stores."""
        pytest.fail(
            f"{type(self).__name__} declares the capability durable but defines no "
            "`async def reopen(self, store)` that opens the same database again",
            pytrace=False,
        )

    @pytest.fixture
    def lab(self, store: Store, clock_control: ManualClock | None) -> StoreLab:
        """The store with what the tests do to it."""
        return StoreLab(store, clock_control, capabilities=self.capabilities, reopen=self.reopen)
