"""HttpTransport: outbound HTTP with a policy, a byte limit and no redirects."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, Self

from psych_runtime.egress.policies import AllowAll
from psych_runtime.egress.pool import ClientPool
from psych_runtime.errors import AccessDenied, InvalidInput, ResponseTooLarge, TransientError
from psych_runtime.ports.egress import EgressPolicy
from psych_runtime.scope import Scope

if TYPE_CHECKING:
    import httpx

DEFAULT_MAX_BYTES: Final = 16 * 1024 * 1024
_MAX_CONNECTIONS: Final = 1000
_KEPT_CONNECTIONS: Final = 100


class HttpStream:
    """A response whose body is still arriving.

    Attributes:
        status_code: The HTTP status.
        headers: The response headers, case-insensitive.
        url: The URL that was asked.
    """

    def __init__(self, response: httpx.Response, max_bytes: int) -> None:
        request = response.request
        self.status_code = response.status_code
        self.headers: Mapping[str, str] = response.headers
        self.url = str(request.url)
        # One iterator for all readers: each goes on where the last one stopped.
        self._body = _with_mapped_errors(response.aiter_bytes(), request.method, self.url)
        self._max_bytes = max_bytes

    async def aiter_bytes(self) -> AsyncIterator[bytes]:
        """Yield the body as it arrives, decompressed.

        Raises:
            ResponseTooLarge: The body went over ``max_bytes``.
            TransientError: The connection broke, or a timeout.
        """
        received = 0
        async for chunk in self._body:
            received += len(chunk)
            if received > self._max_bytes:
                raise ResponseTooLarge(self.url.partition("?")[0], self._max_bytes)
            yield chunk

    async def read(self, limit: int) -> bytes:
        """Return the body's first ``limit`` bytes and leave the rest unread."""
        body = bytearray()
        async for chunk in self._body:
            body += chunk
            if len(body) >= limit:
                break
        return bytes(body[:limit])

    async def drain(self, seconds: float = 0.5) -> None:
        """Discard what is left of the body, so that the connection can be used again.

        Gives up after ``seconds``; the connection is then dropped.
        """
        with suppress(TimeoutError, TransientError):
            async with asyncio.timeout(seconds):
                async for _ in self._body:
                    pass


class HttpTransport:
    """The way out: every HTTP request of the runtime goes through one of these.

    Each request first asks the policy, with the URL as it will be sent. Redirects are never
    followed: a redirect is a response like any other. May be used from several event loops; each
    gets its own connections.

    Args:
        policy: Decides on every request; None allows all.
        client: Your own `httpx.AsyncClient`, for a proxy or certificates. Used on one loop only,
            and closed with the transport.
        timeout: Seconds, or an `httpx.Timeout`. Default: connect 10, read 30, write 30, pool 10.

    Raises:
        ValueError: ``client`` follows redirects.

    Example:
        ```python
        async with HttpTransport(policy=my_policy) as transport:
            response = await transport.request("GET", url, scope=scope)
        ```
    """

    def __init__(
        self,
        *,
        policy: EgressPolicy | None = None,
        client: httpx.AsyncClient | None = None,
        timeout: httpx.Timeout | float | None = None,
    ) -> None:
        if client is not None and client.follow_redirects:
            raise ValueError(
                "this client follows redirects, past the policy: build it with "
                "follow_redirects=False"
            )
        self._policy: EgressPolicy = AllowAll() if policy is None else policy
        self._timeout = client.timeout if timeout is None and client is not None else timeout
        self._pool = ClientPool(_new_client, client)

    async def request(
        self,
        method: str,
        url: str,
        *,
        scope: Scope,
        headers: Mapping[str, str] | None = None,
        json: Any = None,
        content: bytes | str | None = None,
        params: Mapping[str, Any] | None = None,
        timeout: httpx.Timeout | float | None = None,
        max_bytes: int = DEFAULT_MAX_BYTES,
    ) -> httpx.Response:
        """Send a request and return the whole response, whatever its status.

        Args:
            method: Such as ``GET``.
            url: Absolute.
            scope: On whose behalf.
            headers: Request headers.
            json: A JSON body.
            content: A body as it is; give at most one of ``json`` and ``content``.
            params: Query parameters, added to those in ``url``.
            timeout: Overrides the transport's.
            max_bytes: Largest accepted body, after decompression.

        Raises:
            AccessDenied: The policy refused; nothing was sent.
            ResponseTooLarge: The body is larger than ``max_bytes``.
            TransientError: No connection, a broken one, or a timeout.
            InvalidInput: ``url`` is not an absolute HTTP URL, or a header is malformed.
        """
        import httpx

        async with self.stream(
            method,
            url,
            scope=scope,
            headers=headers,
            json=json,
            content=content,
            params=params,
            timeout=timeout,
            max_bytes=max_bytes,
        ) as stream:
            body = b"".join([chunk async for chunk in stream.aiter_bytes()])
            # The body is decompressed by now, so its former encoding and length no longer hold.
            kept = [
                (name, value)
                for name, value in stream.headers.items()
                if name.lower() not in ("content-encoding", "content-length", "transfer-encoding")
            ]
            return httpx.Response(
                stream.status_code,
                headers=kept,
                content=body,
                request=httpx.Request(method, stream.url),
            )

    @asynccontextmanager
    async def stream(
        self,
        method: str,
        url: str,
        *,
        scope: Scope,
        headers: Mapping[str, str] | None = None,
        json: Any = None,
        content: bytes | str | None = None,
        params: Mapping[str, Any] | None = None,
        timeout: httpx.Timeout | float | None = None,
        max_bytes: int = DEFAULT_MAX_BYTES,
    ) -> AsyncIterator[HttpStream]:
        """Send a request and hand out the response while its body arrives.

        Leaving the block early drops the connection. Arguments and errors are those of `request`;
        errors of the body are raised where it is read.
        """
        target = await self.authorize(method, url, scope=scope, params=params)
        client = self._pool.get()
        with _mapped_errors(method, target):
            request = client.build_request(
                method,
                target,
                headers=dict(headers) if headers else None,
                json=json,
                content=content,
                timeout=self._effective(timeout),
            )
            response = await client.send(request, stream=True, follow_redirects=False)
            try:
                yield HttpStream(response, max_bytes)
            finally:
                await response.aclose()

    async def authorize(
        self,
        method: str,
        url: str,
        *,
        scope: Scope,
        params: Mapping[str, Any] | None = None,
    ) -> str:
        """Ask the policy only, and return the URL as it would be sent.

        Raises:
            AccessDenied: The policy refused.
            InvalidInput: ``url`` is not an absolute HTTP URL.
        """
        target = _absolute(url, params)
        verdict = self._policy.allow(scope, target)
        if inspect.isawaitable(verdict):
            verdict = await verdict
        if verdict is not True:
            raise AccessDenied(_host(target), f"the egress policy refused {method} for {scope}")
        return target

    async def aclose(self) -> None:
        """Close all connections. Safe to call twice; the transport cannot be used after it."""
        await self._pool.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()

    def _effective(self, timeout: httpx.Timeout | float | None) -> httpx.Timeout | float:
        import httpx

        if timeout is not None:
            return timeout
        if self._timeout is not None:
            return self._timeout
        return httpx.Timeout(connect=10, read=30, write=30, pool=10)


def _new_client() -> httpx.AsyncClient:
    from http.cookiejar import CookieJar, DefaultCookiePolicy

    import httpx

    limits = httpx.Limits(
        max_connections=_MAX_CONNECTIONS, max_keepalive_connections=_KEPT_CONNECTIONS
    )
    # Clients are shared by Scopes, so a cookie set for one must not be sent for another.
    no_cookies = CookieJar(DefaultCookiePolicy(allowed_domains=[]))
    return httpx.AsyncClient(limits=limits, cookies=no_cookies)


def _absolute(url: str, params: Mapping[str, Any] | None) -> str:
    import httpx

    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, TypeError) as exc:
        raise InvalidInput(f"{url!r} is not a URL: {exc}") from exc
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise InvalidInput(f"{url!r} is not an absolute http:// or https:// URL")
    return str(parsed.copy_merge_params(dict(params)) if params else parsed)


def _host(url: str) -> str:
    import httpx

    return httpx.URL(url).host


@contextmanager
def _mapped_errors(method: str, url: str) -> Iterator[None]:
    import httpx

    try:
        yield
    except httpx.LocalProtocolError as exc:
        raise InvalidInput(f"{method} {_host(url)} is not a valid HTTP request: {exc}") from exc
    except httpx.RequestError as exc:
        what = str(exc) or type(exc).__name__
        raise TransientError(f"{method} {_host(url)} failed: {what}") from exc


async def _with_mapped_errors(
    source: AsyncIterator[bytes], method: str, url: str
) -> AsyncIterator[bytes]:
    with _mapped_errors(method, url):
        async for chunk in source:
            yield chunk
