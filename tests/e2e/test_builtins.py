"""``update_tasks`` and ``show_component``: offered when enabled, and calls like any other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psych_runtime
import pytest
from agents import SCOPE, admit, agent, ended, execute, log_of, of_type, serving
from chaos_scenarios import Clock
from psych_runtime import (
    Decision,
    Runtime,
    Scope,
    SuspensionPolicy,
    ToolRegistry,
    Version,
    Worker,
    WorkerId,
)
from psych_runtime.errors import SpecValidationError
from psych_runtime.log.codec import encode
from psych_runtime.log.records import Record
from psych_runtime.ports.store import Lease, Store, WorkerSession
from psych_runtime.testing.explorer import invariant_violations
from psych_runtime.testing.fake_model import FakeModel, FakeTurn
from stores import STORES, open_store

METRIC = {"kind": "metric", "label": "Open orders", "value": 7}


def results(log: list[Record]) -> list[Any]:
    return [record.result for record in of_type(log, "tool_call_finished")]


def told(model: FakeModel) -> list[str]:
    """The tool results in the latest prompt."""
    messages = model.last_request.messages
    return [str(message.content) for message in messages if message.role == "tool"]


class DenyComponents:
    """A policy that lets nothing be shown."""

    async def allow_tool(self, scope: Scope, tool: str, args: dict[str, Any]) -> Decision:
        return Decision.deny("not here") if tool == "show_component" else Decision.allow()

    async def allow_run(self, scope: Scope, version: Version) -> Decision:
        return Decision.allow()


@pytest.mark.parametrize(
    ("enabled", "names"),
    [
        ({}, ["lookup"]),
        ({"tasks_enabled": True}, ["lookup", "update_tasks"]),
        ({"components_enabled": True}, ["lookup", "show_component"]),
        (
            {"tasks_enabled": True, "components_enabled": True},
            ["lookup", "show_component", "update_tasks"],
        ),
    ],
)
async def test_built_in_tools_are_offered_when_they_are_enabled(
    store: Store, enabled: dict[str, bool], names: list[str]
) -> None:
    registry = ToolRegistry()

    @registry.register
    async def lookup() -> str:
        """Look up."""
        return "found"

    model = FakeModel().turn(text="done")
    await execute(store, agent("lookup", **enabled), model, registry)
    assert sorted(tool.name for tool in model.last_request.tools) == names


async def test_a_plan_is_recorded_before_its_result_and_replaces_the_one_before(
    store: Store,
) -> None:
    model = (
        FakeModel()
        .turn(tool_calls=[("update_tasks", {"tasks": ["Read", "Write"]})])
        .turn(
            tool_calls=[
                (
                    "update_tasks",
                    {
                        "todos": [
                            {"content": "Read", "status": "done"},
                            {"title": "Write", "activeForm": "Writing", "status": "in_progress"},
                        ]
                    },
                )
            ]
        )
        .turn(text="done")
    )
    spec = agent(tasks_enabled=True)
    run_id = await admit(store, spec)
    async with serving(store, model):
        log = await ended(store, run_id)

    shown = of_type(log, "tool_call_started", "task_list_updated", "tool_call_finished")
    assert [record.type for record in shown] == [
        "tool_call_started",
        "task_list_updated",
        "tool_call_finished",
    ] * 2
    assert shown[0].read_only
    assert shown[0].safe_to_retry
    assert [task.title for task in shown[1].tasks] == ["Read", "Write"]
    assert (
        told(model)
        == results(log)
        == [
            "The plan is shown: 0 of 2 done.",
            "The plan is shown: Writing · 1 of 2 done.",
        ]
    )
    status = await psych_runtime.status(store, run_id, scope=SCOPE)
    assert [(task.title, task.status) for task in status.tasks] == [
        ("Read", "completed"),
        ("Write", "in_progress"),
    ]
    assert status.tool_calls == 2
    assert log[-1].state == "completed"


async def test_an_empty_plan_clears_the_plan(store: Store) -> None:
    model = (
        FakeModel()
        .turn(tool_calls=[("update_tasks", {"tasks": ["Read"]})])
        .turn(tool_calls=[("update_tasks", {"tasks": []})])
        .turn(text="done")
    )
    run_id = await admit(store, agent(tasks_enabled=True))
    async with serving(store, model):
        await ended(store, run_id)
    assert (await psych_runtime.status(store, run_id, scope=SCOPE)).tasks == ()
    assert told(model)[-1] == "The plan is empty now."


async def test_components_are_recorded_before_their_results_in_the_order_they_were_shown(
    store: Store,
) -> None:
    model = (
        FakeModel()
        .turn(
            tool_calls=[
                ("show_component", {"component": METRIC}),
                (
                    "show_component",
                    {"type": "product", "name": "Lamp", "imageUrl": "https://x.y/z"},
                ),
            ]
        )
        .turn(text="done")
    )
    run_id = await admit(store, agent(components_enabled=True))
    async with serving(store, model):
        log = await ended(store, run_id)

    assert len(of_type(log, "component_shown")) == 2
    first_result = of_type(log, "tool_call_finished")[0].seq
    assert of_type(log, "component_shown")[0].seq < first_result
    assert all(record.read_only for record in of_type(log, "tool_call_started"))
    assert told(model) == [
        "Shown to the user: metric: Open orders 7.",
        "Shown to the user: card: Lamp.",
    ]
    status = await psych_runtime.status(store, run_id, scope=SCOPE)
    metric, card = status.components
    assert (metric.kind, metric.value) == ("metric", 7)
    assert (card.kind, card.title, card.image_url) == ("card", "Lamp", "https://x.y/z")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({}, "must be an object whose kind is one of card, carousel"),
        ({"component": {"kind": "hologram"}}, "kind is one of card, carousel"),
        ({"component": {"kind": "card", "title": ""}}, "card: title:"),
        (
            {"component": {"kind": "card", "title": "Lamp", "href": "javascript:alert(1)"}},
            "card: href: Value error, must be an http or https URL",
        ),
    ],
)
async def test_what_cannot_be_shown_is_explained_and_the_run_goes_on(
    store: Store, arguments: dict[str, Any], problem: str
) -> None:
    model = (
        FakeModel()
        .turn(tool_calls=[("show_component", arguments)])
        .turn(tool_calls=[("show_component", {"component": METRIC})])
        .turn(text="done")
    )
    log = await execute(store, agent(components_enabled=True), model)
    first, second = told(model)
    assert first.startswith("Nothing was shown.")
    assert problem in first
    assert second == "Shown to the user: metric: Open orders 7."
    assert [record.outcome for record in of_type(log, "tool_call_finished")] == ["ok", "ok"]
    assert len(of_type(log, "component_shown")) == 1
    assert log[-1].state == "completed"


async def test_a_built_in_tool_that_is_not_enabled_is_unknown(store: Store) -> None:
    model = (
        FakeModel()
        .turn(tool_calls=[("update_tasks", {"tasks": ["x"]}), ("show_component", METRIC)])
        .turn(text="done")
    )
    log = await execute(store, agent(), model)
    kinds = [record.failure.kind for record in of_type(log, "tool_call_finished")]
    assert kinds == ["unknown_tool", "unknown_tool"]
    assert of_type(log, "task_list_updated", "component_shown") == []


async def test_the_policy_is_asked_before_a_built_in_tool_runs(store: Store) -> None:
    model = (
        FakeModel()
        .turn(tool_calls=[("update_tasks", {"tasks": ["Read"]}), ("show_component", METRIC)])
        .turn(text="done")
    )
    spec = agent(tasks_enabled=True, components_enabled=True)
    log = await execute(store, spec, model, runtime={"policy": DenyComponents()})
    by_call = {record.call_id: record for record in of_type(log, "tool_call_finished")}
    tasks, component = (
        by_call[call.call_id] for call in of_type(log, "model_call_finished")[0].calls
    )
    assert tasks.outcome == "ok"
    assert component.failure.kind == "access_denied"
    assert of_type(log, "component_shown") == []


async def test_an_approval_can_be_asked_for_a_built_in_tool(store: Store) -> None:
    model = FakeModel().turn(tool_calls=[("show_component", METRIC)]).turn(text="done")
    run_id = await admit(store, agent(components_enabled=True))
    async with serving(store, model, runtime={"approval_selectors": ("@read-only",)}):
        async for record in psych_runtime.stream(store, run_id):
            if record.type == "suspended":
                waiting = await psych_runtime.status(store, run_id)
                await psych_runtime.resume(store, run_id, approved=True)
        log = await ended(store, run_id)
    assert waiting.pending_approval is not None
    assert waiting.components == ()
    assert len(of_type(log, "component_shown")) == 1


@pytest.mark.parametrize("kind", STORES)
async def test_a_crash_after_any_record_leaves_one_plan_and_every_component_once(
    kind: str, tmp_path: Path
) -> None:
    clock = Clock()
    store = open_store(kind, tmp_path, clock)
    await store.migrate()
    asked = FakeTurn(
        tool_calls=[
            ("show_component", METRIC),
            ("update_tasks", {"tasks": ["Read"]}),
            ("show_component", {"kind": "card", "title": "Lamp"}),
        ]
    )
    model = FakeModel().respond(
        lambda request: "done" if any(m.role == "tool" for m in request.messages) else asked
    )
    spec = agent(tasks_enabled=True, components_enabled=True)
    whole = await execute(store, spec, model)
    assert len(of_type(whole, "component_shown")) == 2

    for length in range(2, len(whole)):
        run_id = await admit(store, spec)
        session = WorkerSession(f"wrk_dead:{length}", WorkerId("wrk_dead"), 30.0)
        [claim] = await store.claim(session, 1)
        lease = Lease(session.session_id, session.worker_id, claim.header.epoch)
        bodies = [encode(record) for record in whole[1:length]]
        await store.append(run_id, bodies, lease=lease, batch_no=1)
        clock.offset += 31
        await Worker(store, Runtime(store, model, ToolRegistry())).drain()

        log = await log_of(store, run_id)
        died_after = whole[length - 1].type
        assert invariant_violations(log) == [], died_after
        assert log[-1].state == "completed", died_after
        outcomes = [record.outcome for record in of_type(log, "tool_call_finished")]
        assert outcomes == ["ok"] * 3, died_after
        status = await psych_runtime.status(store, run_id)
        assert sorted(shown.kind for shown in status.components) == ["card", "metric"], died_after
        assert [task.title for task in status.tasks] == ["Read"], died_after
    await store.close()


async def test_a_spec_that_may_ask_questions_is_refused_by_name(store: Store) -> None:
    spec = agent(suspension=SuspensionPolicy(may_ask_questions=True))
    with pytest.raises(SpecValidationError) as caught:
        await psych_runtime.publish(store, spec)
    [issue] = caught.value.issues
    assert issue.path == "agent.suspension.may_ask_questions"
    assert issue.message.endswith("(questions)")
