"""Making an idempotent call again when its outcome is unknown."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable

from psych_runtime.errors import StoreUnavailable

TRIES = 5
FIRST_PAUSE_SECONDS = 0.05


async def until_known[T](call: Callable[[], Awaitable[T]]) -> T:
    """Make ``call`` until the store answers, at most `TRIES` times with growing, jittered pauses.

    Only for calls that may be repeated as they are: `Store.create_run`, and
    `Store.append_external` under one key.

    Raises:
        StoreUnavailable: The store never answered; the outcome is unknown.
    """
    pause = FIRST_PAUSE_SECONDS
    for _ in range(TRIES - 1):
        try:
            return await call()
        except StoreUnavailable:
            await asyncio.sleep(pause * (0.5 + random.random()))
            pause *= 2
    return await call()
