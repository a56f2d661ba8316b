"""The worked examples that users know the product by, on the parts that exist."""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import Coroutine
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psych_runtime
import pytest
from agents import serving
from psych_runtime.errors import ToolSchemaError
from psych_runtime.ports.store import Store
from psych_runtime.store.sqlite import SQLiteStore
from psych_runtime.testing.fake_model import FakeModel
from psych_runtime.testing.openai_stub import OpenAIStub
from pydantic import ConfigDict, create_model


async def test_the_worked_example_against_a_compatible_server(tmp_path: Path) -> None:
    registry = psych_runtime.ToolRegistry()

    @registry.register(annotations={"read-only"})
    async def lookup_order(order_id: str) -> dict[str, str]:
        """Look up an order by its id."""
        return {"order_id": order_id, "status": "shipped"}

    @registry.register(interruptible=False, annotations={"destructive"})
    async def issue_refund(order_id: str, cents: int) -> str:
        """Refund an order. Not interruptible: a half-issued refund is worse than a
        slow stop."""
        return f"refunded {cents} on {order_id}"

    spec = psych_runtime.AgentSpec(
        name="support",
        instructions="Help the customer with their order. Be brief.",
        model=psych_runtime.ModelRef(model="gpt-4o", temperature=0.2),
        tools=(
            psych_runtime.CodeTool(name="lookup_order"),
            psych_runtime.CodeTool(name="issue_refund", interruptible=False),
        ),
        limits=psych_runtime.Limits(max_turns=12, deadline_seconds=300),
    )
    said = []
    async with OpenAIStub() as stub, SQLiteStore(tmp_path / "psych.db") as store:
        stub.answer(tool_calls=[("lookup_order", {"order_id": "A1"})])
        stub.answer("A1 has shipped.", usage={"prompt_tokens": 20, "completion_tokens": 5})
        await store.migrate()
        version = await psych_runtime.publish(
            store,
            spec,
            context=psych_runtime.ValidationContext(registered_tools=registry.names),
        )
        transport = psych_runtime.HttpTransport()
        runtime = psych_runtime.Runtime(
            store=store,
            model=psych_runtime.OpenAICompatibleClient(
                base_url=stub.url,
                transport=transport,
                scope=psych_runtime.Scope(tenant="acme"),
            ),
            registry=registry,
            approval_selectors=("@destructive",),
            prices=psych_runtime.DEFAULT_PRICES,
        )
        worker = psych_runtime.Worker(store, runtime)
        worker_task = asyncio.create_task(worker.run())
        scope = psych_runtime.Scope(tenant="acme", principal="user-42")
        run = await psych_runtime.dispatch(
            store,
            version,
            scope,
            input={"message": "where is order A1?"},
            idempotency_key="webhook-evt-8891",
        )
        async for record in psych_runtime.stream(store, run.run_id):
            if record.type == "model_call_finished" and record.text:
                said.append(record.text)
        report = await psych_runtime.report(store, run.run_id)
        worker.stop()
        await worker_task
        await transport.aclose()
    assert said == ["A1 has shipped."]
    assert report.terminal_state == "completed"
    assert report.totals.usage.output > 0
    assert report.totals.cost is not None
    assert report.totals.cost.source == "computed"
    assert [call.result for call in report.tool_calls] == [{"order_id": "A1", "status": "shipped"}]


async def test_tools_whose_shape_is_known_only_at_run_time(store: Store) -> None:
    registry = psych_runtime.ToolRegistry()
    integrations = {
        "lookup_salesforce_account": ("account_id", "Look up a Salesforce account by id."),
        "lookup_zendesk_ticket": ("ticket_id", "Look up a Zendesk ticket by id."),
    }

    async def call_integration(name: str, **arguments: str) -> dict[str, str]:
        return {"tool": name, **arguments}

    for tool_name, (field, description) in integrations.items():
        fields: dict[str, Any] = {field: (str, ...)}
        arguments_model = create_model(
            f"{tool_name}_Arguments", __config__=ConfigDict(extra="forbid"), **fields
        )
        registry.register_dynamic(
            tool_name,
            functools.partial(call_integration, tool_name),
            arguments_model,
            description=description,
            annotations={"read-only"},
        )
    loose = create_model("Loose", x=(str, ...))  # type: ignore[call-overload]
    with pytest.raises(ToolSchemaError):
        registry.register_dynamic("loose", call_integration, loose, description="Loose.")
    strict = create_model("Strict", __config__=ConfigDict(extra="forbid"))
    with pytest.raises(ToolSchemaError):
        registry.register_dynamic("silent", lambda: None, strict)
    model = (
        FakeModel()
        .turn(tool_calls=[("lookup_zendesk_ticket", {"ticket_id": "T1"})])
        .turn(text="done")
    )
    spec = psych_runtime.AgentSpec(
        name="support",
        model=psych_runtime.ModelRef(model="fake-standard"),
        tools=tuple(psych_runtime.CodeTool(name=name) for name in integrations),
    )
    version = await psych_runtime.publish(store, spec)
    run = await psych_runtime.dispatch(store, version, psych_runtime.Scope(tenant="acme"))
    async with serving(store, model, registry):
        async for _ in psych_runtime.stream(store, run.run_id):
            pass
    report = await psych_runtime.report(store, run.run_id)
    assert report.tool_calls[0].result == {"tool": "lookup_zendesk_ticket", "ticket_id": "T1"}


async def test_a_schedulers_window_is_the_idempotency_key(store: Store) -> None:
    spec = psych_runtime.AgentSpec(
        name="digest", model=psych_runtime.ModelRef(model="fake-standard")
    )
    version = await psych_runtime.publish(store, spec)
    tenant = "acme"
    window = datetime(2026, 11, 29, 17, tzinfo=UTC).strftime("%Y-%m-%dT%H")
    runs = [
        await psych_runtime.dispatch(
            store,
            version,
            psych_runtime.Scope(tenant=tenant),
            input={"message": "run the hourly digest"},
            idempotency_key=f"digest:{tenant}:{window}",
        )
        for _ in range(3)
    ]
    assert [run.created for run in runs] == [True, False, False]
    assert len({run.run_id for run in runs}) == 1


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_one_store_from_synchronous_code_and_several_loops(kind: str, tmp_path: Path) -> None:
    """A sync web view (a new loop for each call) admits; a Celery-style process loop executes."""
    store: Any = (
        SQLiteStore(tmp_path / "psych.db") if kind == "sqlite" else psych_runtime.InMemoryStore()
    )
    spec = psych_runtime.AgentSpec(
        name="hello", model=psych_runtime.ModelRef(model="fake-standard")
    )
    asyncio.run(store.migrate())
    version = asyncio.run(psych_runtime.publish(store, spec))
    scope = psych_runtime.Scope(tenant="acme")

    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    def run_sync[T](coroutine: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(coroutine, loop).result(timeout=20)

    model = FakeModel().respond(lambda request: f"heard {request.messages[-1].content}")
    runtime = psych_runtime.Runtime(store, model, psych_runtime.ToolRegistry())
    worker = psych_runtime.Worker(store, runtime)

    async def serve() -> asyncio.Task[None]:
        return asyncio.create_task(worker.run())

    async def stop(task: asyncio.Task[None]) -> None:
        worker.stop()
        await task

    task = run_sync(serve())
    for n in range(3):
        run = asyncio.run(
            psych_runtime.dispatch(store, version, scope, input={"message": f"view {n}"})
        )

        async def wait(run_id: psych_runtime.RunId = run.run_id) -> str:
            async with asyncio.timeout(20):
                return "".join([text async for text in psych_runtime.stream_text(store, run_id)])

        assert asyncio.run(wait()) == f"heard view {n}"
    run_sync(stop(task))
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()
    asyncio.run(store.close())
