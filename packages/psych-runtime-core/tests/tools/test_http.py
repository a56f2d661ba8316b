import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest
from psych_runtime.egress.policies import DenyAll
from psych_runtime.egress.transport import HttpTransport
from psych_runtime.errors import (
    AccessDenied,
    CredentialNotFound,
    HttpToolError,
    InvalidInput,
    TransientError,
)
from psych_runtime.log.values import ToolOutcome
from psych_runtime.model.transient import is_transient
from psych_runtime.ports.secrets import InMemorySecretResolver
from psych_runtime.scope import Scope
from psych_runtime.spec.tools import HttpTool
from psych_runtime.tools.context import ToolContext
from psych_runtime.tools.execution import execute_tool
from psych_runtime.tools.http import HttpToolExecutor, http_tool
from psych_runtime.tools.registry import ToolRegistry
from psych_runtime.tools.threads import ToolThreads

ACME = Scope(tenant="acme")


class Server:
    """A real HTTP server that notes what it gets and sends one prepared answer."""

    def __init__(self) -> None:
        self.requests: list[bytes] = []
        self.answer = response(b"hello")
        self.hangs = False
        self.url = ""

    @property
    def line(self) -> str:
        return self.requests[-1].split(b"\r\n")[0].decode()

    @property
    def body(self) -> bytes:
        return self.requests[-1].split(b"\r\n\r\n", 1)[1]

    def header(self, name: str) -> str | None:
        for line in self.requests[-1].split(b"\r\n\r\n")[0].decode().split("\r\n")[1:]:
            key, _, value = line.partition(": ")
            if key.lower() == name:
                return value
        return None

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            length = 0
            for line in head.lower().split(b"\r\n"):
                if line.startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            self.requests.append(head + await reader.readexactly(length))
            if self.hangs:
                await reader.read()
            else:
                writer.write(self.answer)
                await writer.drain()
        finally:
            writer.close()


def response(body: bytes, content_type: str = "text/plain", status: str = "200 OK") -> bytes:
    head = (
        f"HTTP/1.1 {status}\r\ncontent-type: {content_type}\r\n"
        f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
    )
    return head.encode() + body


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    made = Server()
    listener = await asyncio.start_server(made.handle, "127.0.0.1", 0)
    made.url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    async with listener:
        yield made


@pytest.fixture
async def transport() -> AsyncIterator[HttpTransport]:
    async with HttpTransport() as made:
        yield made


def tool_at(url: str, **fields: Any) -> HttpTool:
    return HttpTool(name="tool", description="A tool.", url=url, **fields)


async def call(transport: HttpTransport, tool: HttpTool, **arguments: Any) -> Any:
    return await HttpToolExecutor(transport).call(ACME, tool, arguments)


async def test_the_url_is_filled_and_the_rest_is_the_query(
    server: Server, transport: HttpTransport
) -> None:
    tool = tool_at(f"{server.url}/orders/{{id}}/items?v=1&q={{q}}", method="GET")
    arguments = {"id": "a/b c?é", "q": "x&y", "all": True, "none": None, "tags": ["a", 2], "f": {}}
    assert await call(transport, tool, **arguments) == "hello"
    assert server.line == (
        "GET /orders/a%2Fb%20c%3F%C3%A9/items?v=1&q=x%26y&all=true&tags=a&tags=2&f=%7B%7D HTTP/1.1"
    )
    assert server.body == b""


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
async def test_the_rest_is_the_body(server: Server, transport: HttpTransport, method: str) -> None:
    tool = tool_at(f"{server.url}/o/{{id}}", method=method, headers={"x-team": "a"})
    await call(transport, tool, id=7, note="\ud800é", none=None)
    assert server.line == f"{method} /o/7 HTTP/1.1"
    assert server.body == rb'{"note":"\ud800\u00e9","none":null}'
    assert server.header("content-type") == "application/json"
    assert server.header("x-team") == "a"
    assert server.header("authorization") is None


async def test_delete_sends_a_query(server: Server, transport: HttpTransport) -> None:
    await call(transport, tool_at(f"{server.url}/o", method="DELETE"), id="7")
    assert server.line == "DELETE /o?id=7 HTTP/1.1"


@pytest.mark.parametrize("value", [None, "", "..", ".", [1], {"a": 1}])
async def test_a_value_that_would_change_the_path_is_refused(
    server: Server, transport: HttpTransport, value: Any
) -> None:
    with pytest.raises(ValueError, match=r"id|path"):
        await call(transport, tool_at(f"{server.url}/users/{{id}}/orders"), id=value)
    with pytest.raises(ValueError, match="'id'"):
        await call(transport, tool_at(f"{server.url}/users/{{id}}"))
    assert server.requests == []


async def test_values_together_cannot_climb_either(
    server: Server, transport: HttpTransport
) -> None:
    with pytest.raises(ValueError, match="path"):
        await call(transport, tool_at(f"{server.url}/a/{{x}}{{y}}/b"), x=".", y=".")
    assert server.requests == []


async def test_json_is_parsed_when_the_answer_says_so(
    server: Server, transport: HttpTransport
) -> None:
    tool = tool_at(server.url)
    for content_type in ("application/json; charset=utf-8", "application/problem+json"):
        server.answer = response(b'\xef\xbb\xbf{"a": [1]}'[3:], content_type)
        assert await call(transport, tool) == {"a": [1]}
    server.answer = response(b"{not json", "application/json")
    assert await call(transport, tool) == "{not json"
    server.answer = response(b'{"a": 1}', "text/plain")
    assert await call(transport, tool) == '{"a": 1}'
    server.answer = response("é".encode("latin-1"), "text/plain; charset=ISO-8859-1")
    assert await call(transport, tool) == "é"
    server.answer = response("é".encode(), "text/plain; charset=unheard-of")
    assert await call(transport, tool) == "é"
    server.answer = response(b"", "application/json", "204 No Content")
    assert await call(transport, tool) == ""


async def test_a_long_answer_is_cut(server: Server, transport: HttpTransport) -> None:
    executor = HttpToolExecutor(transport, max_response_chars=10)
    for body in (b"x" * 11, "é".encode() * 5000, b"[" + b"1," * 10 + b"1]"):
        server.answer = response(body, "application/json")
        answer = await executor.call(ACME, tool_at(server.url), {})
        assert answer.startswith(body.decode()[:10] + "\n")
        assert "longer than 10 characters" in answer
    server.answer = response("é".encode() * 10)
    assert await executor.call(ACME, tool_at(server.url), {}) == "é" * 10


async def test_other_statuses_are_errors(server: Server, transport: HttpTransport) -> None:
    server.answer = response(b"no such order" + b"!" * 5000, status="404 Not Found")
    with pytest.raises(HttpToolError, match="404: no such order") as caught:
        await call(transport, tool_at(server.url))
    assert caught.value.status_code == 404
    assert len(caught.value.body) == 2000
    assert not is_transient(caught.value)
    server.answer = response(b"", status="503 Busy")
    with pytest.raises(HttpToolError, match="503, without") as caught:
        await call(transport, tool_at(server.url))
    assert is_transient(caught.value)


async def test_redirects_are_not_followed(server: Server, transport: HttpTransport) -> None:
    server.answer = (
        b"HTTP/1.1 302 Found\r\nlocation: /elsewhere\r\n"
        b"content-length: 0\r\nconnection: close\r\n\r\n"
    )
    with pytest.raises(HttpToolError, match="/elsewhere"):
        await call(transport, tool_at(server.url))
    assert len(server.requests) == 1


async def test_the_credential_of_the_scope_is_sent(
    server: Server, transport: HttpTransport
) -> None:
    secrets = InMemorySecretResolver()
    secrets.set(ACME, "crm", "s3cret\n")
    secrets.set(ACME, "broken", "line1\nline2")
    executor = HttpToolExecutor(transport, secrets)
    tool = tool_at(server.url, credential="crm")
    await executor.bind(ACME)(tool, {})
    assert server.header("authorization") == "Bearer s3cret"
    with pytest.raises(CredentialNotFound, match="crm"):
        await executor.call(Scope(tenant="other"), tool, {})
    with pytest.raises(CredentialNotFound):
        await HttpToolExecutor(transport).call(ACME, tool, {})
    with pytest.raises(InvalidInput) as caught:
        await executor.call(ACME, tool_at(server.url, credential="broken"), {})
    assert "line1" not in str(caught.value)
    assert len(server.requests) == 1


async def test_no_answer_in_time_is_transient(server: Server, transport: HttpTransport) -> None:
    server.hangs = True
    with pytest.raises(TransientError):
        await call(transport, tool_at(server.url, timeout_seconds=0.05))


async def test_a_dripping_answer_runs_out_of_time_too(transport: HttpTransport) -> None:
    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n")
        with contextlib.suppress(ConnectionError):
            while not reader.at_eof():
                writer.write(b"x")
                await writer.drain()
                await asyncio.wait({asyncio.ensure_future(asyncio.sleep(0.01))})
        writer.close()

    listener = await asyncio.start_server(drip, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    async with listener:
        tool = tool_at(f"http://127.0.0.1:{port}", timeout_seconds=0.1)
        with pytest.raises(TransientError, match=r"0\.1 s"):
            await call(transport, tool)


async def test_the_egress_policy_is_asked(server: Server) -> None:
    async with HttpTransport(policy=DenyAll()) as closed:
        with pytest.raises(AccessDenied):
            await call(closed, tool_at(server.url))
    assert server.requests == []


async def test_as_a_registered_tool(server: Server, transport: HttpTransport) -> None:
    registry = ToolRegistry()
    granted = tool_at(f"{server.url}/o/{{id}}", method="GET", interruptible=False)
    registry.add(http_tool(HttpToolExecutor(transport), granted))
    tool = registry.require("tool")
    assert tool.read_only
    assert not tool.interruptible
    context, threads = ToolContext.for_testing(scope=ACME), ToolThreads()
    ok = await execute_tool(tool, {"id": 7, "context": "mine"}, context, threads=threads)
    assert (ok.outcome, ok.result) == (ToolOutcome.OK, "hello")
    assert server.line == "GET /o/7?context=mine HTTP/1.1"
    bad = await execute_tool(tool, {}, context, threads=threads)
    assert bad.failure is not None
    assert (bad.failure.kind, "'id'" in bad.failure.message) == ("invalid_arguments", True)
    assert len(server.requests) == 1
    server.answer = response(b"", status="503 Busy")
    failed = await execute_tool(tool, {"id": 7}, context, threads=threads)
    assert failed.failure is not None
    assert (failed.failure.kind, failed.failure.transient) == ("HttpToolError", True)
