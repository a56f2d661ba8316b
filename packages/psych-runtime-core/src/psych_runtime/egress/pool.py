"""One HTTP client per running event loop: a connection belongs to the loop that opened it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    import httpx


class ClientPool:
    """Hands out the running loop's client and makes one when there is none.

    Args:
        make: Builds a client.
        client: The caller's own client, used instead of ``make`` and closed with the pool. It
            belongs to the first loop that uses it.
    """

    def __init__(
        self, make: Callable[[], httpx.AsyncClient], client: httpx.AsyncClient | None = None
    ) -> None:
        self._make = make
        self._given = client
        self._given_loop: asyncio.AbstractEventLoop | None = None
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, httpx.AsyncClient] = (
            WeakKeyDictionary()
        )
        self._lock = threading.Lock()
        self._closed = False

    def get(self) -> httpx.AsyncClient:
        """Return the running loop's client.

        Raises:
            RuntimeError: The pool is closed, or the caller's own client is used from a second
                loop.
        """
        loop = asyncio.get_running_loop()
        with self._lock:
            if self._closed:
                raise RuntimeError("this HttpTransport is closed; make another one")
            if self._given is not None:
                if self._given_loop is None:
                    self._given_loop = loop
                elif self._given_loop is not loop:
                    raise RuntimeError(
                        "the client given to this HttpTransport belongs to another event loop; "
                        "leave client out and each loop gets its own"
                    )
                return self._given
            client = self._clients.get(loop)
            if client is None:
                for other in [known for known in self._clients if known.is_closed()]:
                    del self._clients[other]
                client = self._clients[loop] = self._make()
            return client

    async def aclose(self) -> None:
        """Close every client on its own loop. Safe to call twice."""
        running = asyncio.get_running_loop()
        with self._lock:
            self._closed = True
            clients = list(self._clients.items())
            self._clients.clear()
            if self._given is not None:
                clients.append((self._given_loop or running, self._given))
        for loop, client in clients:
            if loop is running:
                await client.aclose()
            elif not loop.is_closed():
                await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(client.aclose(), loop))
