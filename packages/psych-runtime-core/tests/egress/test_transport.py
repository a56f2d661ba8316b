from __future__ import annotations

import asyncio
import gzip
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable

import httpx
import pytest
from psych_runtime.egress import AllowAll, DenyAll, HttpTransport
from psych_runtime.errors import AccessDenied, InvalidInput, ResponseTooLarge, TransientError
from psych_runtime.ports.egress import EgressPolicy
from psych_runtime.scope import Scope
from psych_runtime.testing.openai_stub import OpenAIStub

SCOPE = Scope(tenant="acme")


class Server:
    """Answers every request with a fixed response, and notes what it was sent."""

    def __init__(self, body: bytes = b"ok", status: str = "200 OK", headers: str = "") -> None:
        self.response = (
            f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{headers}\r\n".encode() + body
        )
        self.heads: list[str] = []
        self.bodies: list[bytes] = []
        self.connections = 0

    async def __aenter__(self) -> Server:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                self.heads.append(head)
                length = next(
                    (
                        int(line[15:])
                        for line in head.splitlines()
                        if line.lower().startswith("content-length:")
                    ),
                    0,
                )
                self.bodies.append(await reader.readexactly(length))
                writer.write(self.response)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


class Recorder:
    def __init__(self, answer: object = True) -> None:
        self.seen: list[tuple[Scope, str]] = []
        self.answer = answer

    def allow(self, scope: Scope, url: str) -> bool:
        self.seen.append((scope, url))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer  # type: ignore[return-value]


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with Server() as running:
        yield running


async def test_a_request_returns_the_whole_response_and_reuses_its_connection(
    server: Server,
) -> None:
    async with HttpTransport() as transport:
        for _ in range(3):
            response = await transport.request("POST", server.url, scope=SCOPE, json={"a": 1})
    assert (response.status_code, response.text) == (200, "ok")
    assert server.bodies == [b'{"a":1}'] * 3
    assert server.connections == 1


async def test_the_policy_sees_the_url_as_it_is_sent(server: Server) -> None:
    policy = Recorder()
    async with HttpTransport(policy=policy) as transport:
        await transport.request("GET", server.url + "/p?a=1", scope=SCOPE, params={"b": "x y"})
    assert policy.seen == [(SCOPE, server.url + "/p?a=1&b=x+y")]
    assert server.heads[0].startswith("GET /p?a=1&b=x+y HTTP/1.1")


@pytest.mark.parametrize("policy", [DenyAll(), Recorder(False), Recorder(None)])
async def test_a_refusal_sends_nothing(server: Server, policy: EgressPolicy) -> None:
    async with HttpTransport(policy=policy) as transport:
        with pytest.raises(AccessDenied, match="refused GET"):
            await transport.request("GET", server.url, scope=SCOPE)
        with pytest.raises(AccessDenied):
            async with transport.stream("GET", server.url, scope=SCOPE):
                pass
        with pytest.raises(AccessDenied):
            await transport.authorize("GET", server.url, scope=SCOPE)
    assert server.connections == 0


async def test_a_failing_policy_refuses(server: Server) -> None:
    async with HttpTransport(policy=Recorder(RuntimeError("policy down"))) as transport:
        with pytest.raises(RuntimeError, match="policy down"):
            await transport.request("GET", server.url, scope=SCOPE)
    assert server.connections == 0


def test_the_builtin_policies_are_policies() -> None:
    assert isinstance(AllowAll(), EgressPolicy)
    assert isinstance(DenyAll(), EgressPolicy)


async def test_redirects_are_handed_back_and_not_followed() -> None:
    async with Server(b"", "302 Found", "Location: http://127.0.0.1:1/\r\n") as server:
        async with HttpTransport() as transport:
            response = await transport.request("GET", server.url, scope=SCOPE)
        assert response.status_code == 302
        assert len(server.heads) == 1
    async with httpx.AsyncClient(follow_redirects=True) as following:
        with pytest.raises(ValueError, match="follows redirects"):
            HttpTransport(client=following)


async def test_a_body_over_the_limit_is_refused_also_when_it_was_compressed() -> None:
    packed = gzip.compress(b"x" * 10_000)
    server = Server(packed, headers="Content-Encoding: gzip\r\n")
    async with server, HttpTransport() as transport:
        response = await transport.request("GET", server.url, scope=SCOPE, max_bytes=10_000)
        assert response.content == b"x" * 10_000
        with pytest.raises(ResponseTooLarge, match="larger than 9999 bytes") as error:
            await transport.request(
                "GET", server.url + "/?key=secret", scope=SCOPE, max_bytes=9_999
            )
        assert "secret" not in str(error.value)


async def test_a_streamed_body_is_bounded_and_can_be_cut_short() -> None:
    async with Server(b"x" * 1000) as server, HttpTransport() as transport:
        async with transport.stream("GET", server.url, scope=SCOPE) as stream:
            assert stream.status_code == 200
            assert await stream.read(10) == b"x" * 10
        async with transport.stream("GET", server.url, scope=SCOPE, max_bytes=999) as stream:
            with pytest.raises(ResponseTooLarge):
                await anext(stream.aiter_bytes())


async def test_a_body_that_nobody_reads_holds_no_connection() -> None:
    async with OpenAIStub() as stub, HttpTransport() as transport:
        stub.chunks([{}], stall_before=0)
        chat = stub.url + "/chat/completions"
        async with transport.stream("POST", chat, scope=SCOPE, json={}) as stream:
            assert stream.headers["Content-Type"] == "text/event-stream"
        await stub.wait_for_connections(0)


async def test_no_connection_is_a_transient_error() -> None:
    async with Server() as server:
        url = server.url
    async with HttpTransport() as transport:
        with pytest.raises(TransientError, match=r"GET 127\.0\.0\.1 failed"):
            await transport.request("GET", url + "/?key=secret", scope=SCOPE)


async def test_a_silent_server_is_a_transient_error() -> None:
    async with Server() as server, HttpTransport(timeout=0.05) as transport:
        server.response = b""
        with pytest.raises(TransientError, match="ReadTimeout"):
            await transport.request("GET", server.url, scope=SCOPE)


@pytest.mark.parametrize("url", ["/relative", "ftp://host/x", "http://", "http://ho st:x/"])
async def test_only_absolute_http_urls_are_accepted(url: str) -> None:
    async with HttpTransport() as transport:
        with pytest.raises(InvalidInput):
            await transport.request("GET", url, scope=SCOPE)


async def test_a_malformed_header_is_not_worth_another_try(server: Server) -> None:
    async with HttpTransport() as transport:
        with pytest.raises(InvalidInput, match="not a valid HTTP request"):
            await transport.request("GET", server.url, scope=SCOPE, headers={"X": "a\nb"})


async def test_a_cookie_set_for_one_scope_is_not_sent_for_another() -> None:
    server = Server(headers="Set-Cookie: session=1; Path=/\r\n")
    async with server, HttpTransport() as transport:
        await transport.request("GET", server.url, scope=SCOPE)
        await transport.request("GET", server.url, scope=Scope(tenant="other"))
    assert "cookie" not in server.heads[1].lower()


def in_thread(work: Callable[[], object]) -> None:
    problems: list[BaseException] = []

    def guarded() -> None:
        try:
            work()
        except BaseException as exc:
            problems.append(exc)

    thread = threading.Thread(target=guarded)
    thread.start()
    thread.join(10)
    assert not problems
    assert not thread.is_alive()


async def test_each_loop_has_its_own_connections(server: Server) -> None:
    transport = HttpTransport()
    await transport.request("GET", server.url, scope=SCOPE)
    other_status: list[int] = []

    async def elsewhere() -> None:
        async with Server() as own:
            response = await transport.request("GET", own.url, scope=SCOPE)
            other_status.append(response.status_code)
            client = transport._pool.get()
            await client.aclose()

    await asyncio.to_thread(in_thread, lambda: asyncio.run(elsewhere()))
    await transport.request("GET", server.url, scope=SCOPE)
    assert other_status == [200]
    assert server.connections == 1
    assert len(transport._pool._clients) <= 2

    async def third() -> int:
        transport._pool.get()
        return len(transport._pool._clients)

    sizes: list[int] = []
    await asyncio.to_thread(in_thread, lambda: sizes.append(asyncio.run(third())))
    assert sizes == [2]
    await transport.aclose()


async def test_closing_closes_the_clients_of_other_loops_too() -> None:
    transport = HttpTransport()
    ready = threading.Event()
    clients: list[httpx.AsyncClient] = []
    stops: list[Callable[[], object]] = []

    async def elsewhere() -> None:
        stop, loop = asyncio.Event(), asyncio.get_running_loop()
        stops.append(lambda: loop.call_soon_threadsafe(stop.set))
        clients.append(transport._pool.get())
        ready.set()
        await stop.wait()

    thread = threading.Thread(target=lambda: asyncio.run(elsewhere()))
    thread.start()
    await asyncio.to_thread(ready.wait, 5)
    await transport.aclose()
    await transport.aclose()
    stops[0]()
    await asyncio.to_thread(thread.join, 5)
    assert clients[0].is_closed
    with pytest.raises(RuntimeError, match="is closed"):
        await transport.request("GET", "http://127.0.0.1:1", scope=SCOPE)


async def test_a_given_client_is_used_on_one_loop_only(server: Server) -> None:
    client = httpx.AsyncClient(headers={"X-Mine": "1"})
    async with HttpTransport(client=client) as transport:
        await transport.request("GET", server.url, scope=SCOPE)

        async def elsewhere() -> None:
            with pytest.raises(RuntimeError, match="another event loop"):
                await transport.request("GET", server.url, scope=SCOPE)

        await asyncio.to_thread(in_thread, lambda: asyncio.run(elsewhere()))
    assert "x-mine: 1" in server.heads[0].lower()
    assert client.is_closed


def test_importing_the_transport_does_not_import_httpx() -> None:
    code = "import psych_runtime.egress, sys; assert 'httpx' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
