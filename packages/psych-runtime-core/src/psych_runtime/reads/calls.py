"""The reads: a Store and a Run's id in, a projection of its log out.

Every call takes ``scope``: a Run of another tenant is answered exactly like an unknown id, and
that is decided before any log is read. Without a Scope any Run is read by its id.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime

from psych_runtime.errors import RunNotFound, VersionNotFound
from psych_runtime.ids import RunId, VersionHash
from psych_runtime.log.corruption import CorruptLog
from psych_runtime.log.fold import reduce
from psych_runtime.log.fold.state import RunStateView
from psych_runtime.log.records import Record
from psych_runtime.log.values import TerminalState
from psych_runtime.ports.store import RunFilter, RunState, Store
from psych_runtime.reads.answer import AnswerView, answer_of
from psych_runtime.reads.explain import Explanation, explanation_of
from psych_runtime.reads.fetch import load, load_header, load_range, load_state
from psych_runtime.reads.listing import RunsPage, summary_of
from psych_runtime.reads.report.builder import build_report, child_run_ids
from psych_runtime.reads.report.run_report import RunReport
from psych_runtime.reads.status import RunStatus, status_of
from psych_runtime.reads.thread import MessageView, ThreadView, messages_of
from psych_runtime.scope import Scope


async def status(store: Store, run_id: RunId, *, scope: Scope | None = None) -> RunStatus:
    """Return where a Run stands and what it waits for.

    Args:
        store: Where the Run is.
        run_id: The Run.
        scope: The caller's Scope; its tenant must be the Run's. None: any Run.

    Raises:
        RunNotFound: No such Run, or it belongs to another tenant.
        RunPurged: Retention has removed the log.
        CorruptLog: The log contradicts itself.
    """
    header, _, folded = await load_state(store, run_id, scope)
    return status_of(folded, header)


async def state(store: Store, run_id: RunId, *, scope: Scope | None = None) -> RunStateView:
    """Return the whole folded state of a Run. Arguments and errors as `status`."""
    _, _, folded = await load_state(store, run_id, scope)
    return folded


async def answer(store: Store, run_id: RunId, *, scope: Scope | None = None) -> AnswerView:
    """Return what a Run says and the work behind it. Arguments and errors as `status`."""
    _, log = await load(store, run_id, scope)
    return answer_of(run_id, log)


async def thread(
    store: Store, run_id: RunId, *, scope: Scope | None = None, limit: int | None = None
) -> ThreadView:
    """Return the conversation that a Run belongs to, up to that Run.

    Args:
        store: Where the Run is.
        run_id: The last Run to show.
        scope: The caller's Scope; its tenant must be the Run's. None: any Run.
        limit: How many Runs to show at most, counted back from the given one. None: all.

    Raises:
        RunNotFound: No such Run, or it belongs to another tenant. A predecessor of which that is
            true, or that was purged, ends the walk without an error.
        RunPurged: Retention has removed the Run's own log.
        CorruptLog: A log contradicts itself.
    """
    header, log = await load(store, run_id, scope)
    found: list[tuple[RunId, tuple[MessageView, ...]]] = [(run_id, messages_of(run_id, log))]
    seen = {run_id}
    scope = header.scope
    while (before := header.continues_run_id) is not None and before not in seen:
        if limit is not None and len(found) >= limit:
            break
        try:
            header, log = await load(store, before, scope)
        except RunNotFound:
            break
        seen.add(before)
        found.append((before, messages_of(before, log)))
    found.reverse()
    return ThreadView(
        run_ids=tuple(each for each, _ in found),
        messages=tuple(message for _, messages in found for message in messages),
    )


async def records(
    store: Store,
    run_id: RunId,
    *,
    after: int = 0,
    limit: int | None = None,
    scope: Scope | None = None,
) -> tuple[Record, ...]:
    """Return a Run's Records after seq ``after``, in order, at most ``limit``.

    Raises:
        RunNotFound: No such Run, or it belongs to another tenant.
        RunPurged: Retention has removed the log.
        CorruptLog: A seq is missing, or a Record does not decode.
    """
    header = await load_header(store, run_id, scope)
    return await load_range(store, header, after=after, limit=limit)


async def report(
    store: Store, run_id: RunId, *, child_depth: int = 0, scope: Scope | None = None
) -> RunReport:
    """Return everything that happened in a Run, what it took and what it cost.

    Args:
        store: Where the Run is.
        run_id: The Run.
        child_depth: How many levels of child Runs to report on; 0 shows children only as far as
            their parent recorded them.
        scope: The caller's Scope; its tenant must be the Run's. None: any Run.

    Raises:
        RunNotFound: No such Run, or it belongs to another tenant.
        RunPurged: Retention has removed the log.
        VersionNotFound: The Run's Version is not stored.
        CorruptLog: The log contradicts itself.
    """
    header, log = await load(store, run_id, scope)
    version = await store.get_version(header.version_hash)
    if version is None:
        raise VersionNotFound(header.version_hash)
    children: dict[RunId, RunReport] = {}
    if child_depth > 0:
        for child in child_run_ids(log):
            try:
                children[child] = await report(
                    store, child, child_depth=child_depth - 1, scope=header.scope
                )
            except (RunNotFound, VersionNotFound):
                continue
    return build_report(header, log, version, children)


async def explain(store: Store, run_id: RunId, *, scope: Scope | None = None) -> Explanation:
    """Return why a Run is where it is: what it waits for, who holds it, what would move it.

    Answers for a corrupt log too, from the header alone. Arguments as `status`.

    Raises:
        RunNotFound: No such Run, or it belongs to another tenant.
        RunPurged: Retention has removed the log.
    """
    header = await load_header(store, run_id, scope)
    now = await store.now()
    try:
        header, log = await load(store, run_id, scope)
        return explanation_of(header, reduce(log, run_id=run_id), now=now)
    except CorruptLog as error:
        return explanation_of(header, None, now=now, corruption=error)


async def runs(
    store: Store,
    scope: Scope,
    *,
    states: Collection[RunState] = (),
    terminal_states: Collection[TerminalState] = (),
    name: str | None = None,
    version_hash: VersionHash | None = None,
    created_after: datetime | None = None,
    created_before: datetime | None = None,
    parent_run_id: RunId | None = None,
    continues_run_id: RunId | None = None,
    labels: Mapping[str, str] | None = None,
    limit: int = 50,
    cursor: str | None = None,
) -> RunsPage:
    """Return a tenant's Runs, newest first, a page at a time. No log is read.

    Args:
        store: Where the Runs are.
        scope: Whose Runs; the tenant decides.
        states: Any of these header states. Empty: all.
        terminal_states: Any of these endings. Empty: all, unsettled ones too.
        name: The Spec's name.
        version_hash: The pinned Version.
        created_after: Admitted later than this (UTC).
        created_before: Admitted earlier than this (UTC).
        parent_run_id: Children of this Run.
        continues_run_id: Runs that continue this one.
        labels: Labels that the Run's Scope has, all of them.
        limit: Runs on a page.
        cursor: The previous page's, for the next one.
    """
    where = RunFilter(
        states=frozenset(states),
        terminal_states=frozenset(each.value for each in terminal_states),
        name=name,
        version_hash=version_hash,
        created_after=created_after,
        created_before=created_before,
        parent_run_id=parent_run_id,
        continues_run_id=continues_run_id,
        labels=tuple(sorted((labels or {}).items())),
    )
    page = await store.list_runs(scope.tenant, where, limit=limit, cursor=cursor)
    return RunsPage(runs=tuple(summary_of(each) for each in page.headers), cursor=page.cursor)
