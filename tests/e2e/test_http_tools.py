"""HTTP tools in a Run: sent by the Runtime's executor, through the same gate as other tools."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from agents import SCOPE, agent, execute, of_type
from psych_runtime import Decision, HttpTool, HttpTransport, Scope, ToolRegistry, Version
from psych_runtime.ports.secrets import InMemorySecretResolver
from psych_runtime.ports.store import Store
from psych_runtime.testing.fake_model import FakeModel
from psych_runtime.tools.http import HttpToolExecutor


@asynccontextmanager
async def web_server() -> AsyncIterator[tuple[str, list[str]]]:
    """A server that answers everything with JSON; its URL, and the requests as they came."""
    requests: list[str] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        requests.append(head.decode())
        body = b'{"status": "shipped"}'
        writer.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n"
            b"content-length: %d\r\n\r\n%s" % (len(body), body)
        )
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", requests
    finally:
        server.close()
        await server.wait_closed()


def order_tool(url: str, **fields: str) -> HttpTool:
    return HttpTool(
        name="order",
        description="Look up an order.",
        url=f"{url}/orders/{{order_id}}",
        method="GET",
        input_schema={"type": "object", "properties": {"order_id": {"type": "string"}}},
        **fields,
    )


def asking() -> FakeModel:
    return FakeModel().turn(tool_calls=[("order", {"order_id": "A 1"})]).turn(text="done")


class DenyAllTools:
    """A policy that refuses every call."""

    async def allow_tool(self, scope: Scope, tool: str, args: dict[str, object]) -> Decision:
        return Decision.deny("not today")

    async def allow_run(self, scope: Scope, version: Version) -> Decision:
        return Decision.allow()


async def test_an_http_tool_is_called_with_the_credential_of_the_scope(store: Store) -> None:
    secrets = InMemorySecretResolver()
    secrets.set(SCOPE, "shop", "s3cret")
    registry = ToolRegistry()

    @registry.register
    async def order(order_id: str) -> str:
        """A function of the same name, which this Spec does not grant."""
        raise AssertionError("must not run")

    async with web_server() as (url, requests), HttpTransport() as transport:
        http = HttpToolExecutor(transport, secrets)
        spec = agent().model_copy(update={"tools": (order_tool(url, credential="shop"),)})
        model = asking()
        log = await execute(store, spec, model, registry, runtime={"http": http})

    [request] = requests
    assert request.startswith("GET /orders/A%201 HTTP/1.1")
    assert "authorization: bearer s3cret" in request.lower()
    [started] = of_type(log, "tool_call_started")
    assert (started.read_only, started.safe_to_retry) == (True, False)
    [finished] = of_type(log, "tool_call_finished")
    assert finished.result == {"status": "shipped"}
    assert "s3cret" not in "".join(record.model_dump_json() for record in log)
    assert model.last_request.messages[-1].content == '{"status":"shipped"}'


async def test_without_an_executor_the_call_is_denied_and_the_run_goes_on(store: Store) -> None:
    spec = agent().model_copy(update={"tools": (order_tool("http://127.0.0.1:1"),)})
    log = await execute(store, spec, asking())
    [finished] = of_type(log, "tool_call_finished")
    assert finished.failure.kind == "AccessDenied"
    assert "http=" in finished.failure.message
    assert log[-1].state == "completed"


async def test_the_policy_is_asked_before_a_request_is_sent(store: Store) -> None:
    async with web_server() as (url, requests), HttpTransport() as transport:
        options = {"http": HttpToolExecutor(transport), "policy": DenyAllTools()}
        spec = agent().model_copy(update={"tools": (order_tool(url),)})
        log = await execute(store, spec, asking(), runtime=options)
    assert requests == []
    assert of_type(log, "tool_call_finished")[0].failure.kind == "access_denied"
