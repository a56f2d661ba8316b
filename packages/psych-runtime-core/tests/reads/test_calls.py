"""The reads over a store: whose Run it is comes first, then the log."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest
from psych_runtime.errors import RunNotFound, RunPurged, VersionNotFound
from psych_runtime.ids import RunId
from psych_runtime.log.corruption import CorruptLog
from psych_runtime.ports.store import RunState, StoredRecord
from psych_runtime.reads import calls
from psych_runtime.reads.status import Lifecycle
from psych_runtime.scope import Scope
from psych_runtime.spec.agent import AgentSpec
from psych_runtime.spec.model import ModelRef
from psych_runtime.spec.version import make_version
from psych_runtime.store.memory import InMemoryStore
from psych_runtime.testing.store_wrapper import StoreWrapper

NewLog = Callable[..., Any]
Put = Callable[..., Any]
VERSION = make_version(AgentSpec(name="support", model=ModelRef(model="m")))
READS = [
    calls.status,
    calls.state,
    calls.answer,
    calls.thread,
    calls.records,
    calls.report,
    calls.explain,
]


class Watched(StoreWrapper):
    """Notes whose logs were read."""

    def __init__(self, inner: Any) -> None:
        super().__init__(inner)
        self.logs: list[str] = []

    async def read(
        self, run_id: RunId, *, after: int = 0, limit: int | None = None
    ) -> list[StoredRecord]:
        self.logs.append(run_id)
        return await super().read(run_id, after=after, limit=limit)


@pytest.mark.parametrize("read", READS, ids=lambda read: read.__name__)
async def test_a26_a_foreign_run_is_an_unknown_one_and_its_log_is_not_read(
    store: InMemoryStore, new_log: NewLog, put: Put, read: Any
) -> None:
    log = new_log().begun()
    await put(log)
    watched = Watched(store)
    texts = set()
    for run_id, tenant in ((log.run_id, "other"), (RunId("run_none"), "acme")):
        with pytest.raises(RunNotFound) as caught:
            await read(watched, run_id, scope=Scope(tenant=tenant))
        assert type(caught.value) is RunNotFound
        texts.add(str(caught.value).replace(run_id, "ID"))
    assert len(texts) == 1
    assert watched.logs == []


@pytest.mark.parametrize("read", READS, ids=lambda read: read.__name__)
async def test_a_purged_run_says_so(
    store: InMemoryStore, new_log: NewLog, put: Put, read: Any
) -> None:
    log = new_log().begun().settle()
    await put(log)
    header = await store.get_run(log.run_id)
    assert header is not None
    await store.purge(header.created_at.replace(year=9999), tenant="acme")
    with pytest.raises(RunPurged):
        await read(store, log.run_id, scope=log.scope)


@pytest.mark.parametrize("read", READS, ids=lambda read: read.__name__)
def test_every_read_takes_a_scope_by_keyword(read: Any) -> None:
    scope = inspect.signature(read).parameters["scope"]
    assert scope.kind is inspect.Parameter.KEYWORD_ONLY
    assert scope.default is None


async def test_status_state_and_answer(store: InMemoryStore, new_log: NewLog, put: Put) -> None:
    log = new_log().begun().turns("hi").settle()
    await put(log)
    status = await calls.status(store, log.run_id, scope=log.scope)
    assert status.lifecycle is Lifecycle.DONE
    assert (await calls.state(store, log.run_id)).settled
    assert (await calls.answer(store, log.run_id)).text == "hi"


async def test_records_of_a_range(store: InMemoryStore, new_log: NewLog, put: Put) -> None:
    log = new_log().begun().turns("hi")
    await put(log)
    assert list(await calls.records(store, log.run_id)) == log.records
    found = await calls.records(store, log.run_id, after=1, limit=2, scope=log.scope)
    assert [record.seq for record in found] == [2, 3]
    assert await calls.records(store, log.run_id, after=99) == ()


class Holed(StoreWrapper):
    """A store that has lost the second record."""

    async def read(
        self, run_id: RunId, *, after: int = 0, limit: int | None = None
    ) -> list[StoredRecord]:
        stored = await super().read(run_id, after=after, limit=limit)
        return [item for item in stored if item.seq != 2]


@pytest.mark.parametrize("read", [calls.status, calls.records], ids=["whole log", "range"])
async def test_a_gap_is_a_corrupt_log(
    store: InMemoryStore, new_log: NewLog, put: Put, read: Any
) -> None:
    log = new_log().begun().turns("hi")
    await put(log)
    with pytest.raises(CorruptLog) as caught:
        await read(Holed(store), log.run_id)
    assert caught.value.seq == 2


async def test_a_thread_goes_back_to_the_first_run_that_is_there(
    store: InMemoryStore, new_log: NewLog, put: Put
) -> None:
    first = new_log("run_1").begun("one", continues_run_id="run_0").turns("answer one").settle()
    second = new_log("run_2").begun("two", continues_run_id="run_1")
    second.turns("", [("c1", "run_code")]).start("c1", "run_code")
    second.start("p1", parent_call_id="c1").finish("p1", "inner").finish("c1", "outer")
    second.turns("", [("c2", "look")]).start("c2")
    for log in (first, second):
        await put(log)
    view = await calls.thread(store, second.run_id, scope=second.scope)
    assert view.run_ids == ("run_1", "run_2")
    assert [(message.role, message.content) for message in view.messages] == [
        ("user", "one"),
        ("assistant", "answer one"),
        ("user", "two"),
        ("assistant", ""),
        ("tool", "outer"),
        ("assistant", ""),
    ]
    tool = view.messages[4]
    assert (tool.tool_name, tool.tool_call_id, tool.is_error) == ("run_code", "c1", False)
    assert view.messages[3].tool_calls[0].name == "run_code"
    assert (view.messages[1].run_id, view.messages[1].seq) == ("run_1", 5)
    only = await calls.thread(store, second.run_id, limit=1)
    assert only.run_ids == ("run_2",)


async def test_a_thread_never_shows_a_foreign_predecessor(
    store: InMemoryStore, new_log: NewLog, put: Put
) -> None:
    await put(new_log("run_1", "other").begun("secret").settle())
    await put(new_log("run_2").begun("two", continues_run_id="run_1"))
    watched = Watched(store)
    view = await calls.thread(watched, RunId("run_2"))
    assert view.run_ids == ("run_2",)
    assert watched.logs == ["run_2"]


async def test_a_workflows_thread_has_the_turns_of_its_agents(
    store: InMemoryStore, new_log: NewLog, put: Put
) -> None:
    log = new_log().begun("go")
    log.step_started("s1", "draft", "agent", input={"input": {"message": "write"}})
    log.turns("draft", step_id="s1").step_completed("s1", output={})
    log.step_started("s2", "check", "agent").turns("fine", step_id="s2")
    await put(log)
    view = await calls.thread(store, log.run_id)
    assert [message.content for message in view.messages] == ["go", "write", "draft", "fine"]


async def test_a_report_goes_as_deep_as_asked(
    store: InMemoryStore, new_log: NewLog, put: Put
) -> None:
    await store.put_version(VERSION)
    logs = [new_log("run_c").begun().turns("c").settle()]
    logs.append(new_log("run_b").begun().spawned("run_c", "cy").turns("b").settle())
    logs.append(new_log("run_a").begun().spawned("run_b", "bo").spawned("gone", "gus").turns("a"))
    for log in logs:
        log.version_hash = VERSION.hash
        log.records[0] = log.records[0].model_copy(update={"version_hash": VERSION.hash})
        await put(log)
    run_id = RunId("run_a")
    flat = await calls.report(store, run_id)
    assert [row.report for row in flat.subagents] == [None, None]
    one = (await calls.report(store, run_id, child_depth=1)).subagents[0].report
    assert one is not None
    assert one.subagents[0].report is None
    two = await calls.report(store, run_id, child_depth=2, scope=Scope(tenant="acme"))
    bo, gus = two.subagents
    assert gus.report is None
    assert bo.report is not None
    assert bo.report.subagents[0].report is not None
    assert two.subtree is not None
    assert (two.subtree.usage.input, two.subtree.runs, two.subtree.complete) == (30, 4, False)


async def test_a_report_needs_the_version(store: InMemoryStore, new_log: NewLog, put: Put) -> None:
    log = new_log().begun()
    await put(log)
    with pytest.raises(VersionNotFound):
        await calls.report(store, log.run_id)


async def test_runs_are_listed_by_tenant_a_page_at_a_time(
    store: InMemoryStore, new_log: NewLog, put: Put
) -> None:
    for number in range(3):
        await put(new_log(f"run_{number}").begun().settle())
    await put(new_log("run_3").begun())
    await put(new_log("run_x", "other").begun())
    scope = Scope(tenant="acme")
    watched = Watched(store)
    first = await calls.runs(watched, scope, limit=3)
    assert [run.run_id for run in first.runs] == ["run_3", "run_2", "run_1"]
    assert [run.lifecycle for run in first.runs] == [
        Lifecycle.RUNNING, Lifecycle.DONE, Lifecycle.DONE,
    ]  # fmt: skip
    assert (first.runs[0].name, first.runs[0].lease_holder) == ("support", "wrk_test")
    second = await calls.runs(watched, scope, limit=3, cursor=first.cursor)
    assert [run.run_id for run in second.runs] == ["run_0"]
    assert second.cursor is None
    settled = await calls.runs(watched, scope, states={RunState.SETTLED})
    assert [run.run_id for run in settled.runs] == ["run_2", "run_1", "run_0"]
    assert watched.logs == []
