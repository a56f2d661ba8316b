"""Reading with a limit on silence."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from typing import TypeVar

from psych_runtime.egress import HttpStream
from psych_runtime.errors import TransientError

T = TypeVar("T")


class IdleTimer:
    """Bounds the wait for the next sign of life.

    The clock only runs between `rearm` and the end of the awaits that follow it, so a slow
    consumer is never taken for a silent server.

    Args:
        seconds: Longest silence; 0 never ends.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._deadline: float | None = None
        self.rearm()

    def rearm(self) -> None:
        """Start counting anew."""
        if self._seconds:
            self._deadline = asyncio.get_running_loop().time() + self._seconds

    async def wait(self, awaited: Awaitable[T]) -> T:
        """Await something before the deadline.

        Raises:
            TransientError: The deadline came first.
        """
        try:
            async with asyncio.timeout_at(self._deadline) as limit:
                return await awaited
        except TimeoutError as exc:
            if not limit.expired():
                raise
            raise TransientError(
                f"the model provider sent nothing for {self._seconds:g} s (stream idle timeout)"
            ) from exc


async def chunks(response: HttpStream, timer: IdleTimer) -> AsyncIterator[bytes]:
    """Yield the body as it arrives. Rearming the timer is left to the consumer, which knows what
    counts as life.
    """
    source = response.aiter_bytes()
    while True:
        try:
            chunk = await timer.wait(anext(source))
        except StopAsyncIteration:
            return
        yield chunk
