"""Running one contract test against one store, without a pytest run of its own."""

from __future__ import annotations

import pytest
from psych_runtime.ports.store import Store

from psych_runtime_testkit.clock import ManualClock
from psych_runtime_testkit.store import StoreContract, StoreLab


async def survives(store: Store, clock: ManualClock, test: str) -> bool:
    """Whether ``store`` passes the contract test of this name.

    Args:
        store: Fresh, on ``clock``.
        clock: The store's clock.
        test: A test of `StoreContract` that takes no parameter but the lab.

    Raises:
        AttributeError: There is no such test.
    """
    run = getattr(StoreContract(), test)
    try:
        await run(StoreLab(store, clock, capabilities=frozenset({"listen"})))
    except (AssertionError, TimeoutError, pytest.fail.Exception):
        return False
    return True
