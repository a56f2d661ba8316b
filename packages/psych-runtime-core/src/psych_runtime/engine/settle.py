"""Ending a Run that nobody holds."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial

from psych_runtime.engine.closing import closing_records
from psych_runtime.engine.resend import until_known
from psych_runtime.errors import GuardFailed, RunNotFound, SeqConflict
from psych_runtime.ids import RunId
from psych_runtime.log.codec import decode_log, encode
from psych_runtime.log.corruption import CorruptLog
from psych_runtime.log.fold import reduce
from psych_runtime.log.fold.state import RunStateView
from psych_runtime.log.records import RunSettled, WaitExpired
from psych_runtime.log.values import TerminalState, ToolFailure
from psych_runtime.ports.store import External, Guard, RunHeader, RunState, Store, Transition


async def settle_unheld(
    store: Store,
    run_id: RunId,
    terminal: TerminalState,
    failure: ToolFailure | None,
    *,
    only_if: frozenset[RunState] = frozenset(RunState),
    expired: WaitExpired | None = None,
) -> bool:
    """Settle a Run as ``terminal`` unless somebody holds it, it has ended, or it is not in one of
    the states of ``only_if``. Returns whether this call settled it.

    With ``expired`` it is settled because of that wait, in the same write, if it is still open.
    """
    while True:
        header = await store.get_run(run_id)
        if header is None or header.state is RunState.SETTLED or header.state not in only_if:
            return False
        stored = await store.read(run_id)
        head = stored[-1].seq if stored else 0
        try:
            state: RunStateView | None = reduce(decode_log(run_id, stored), run_id=run_id)
        except CorruptLog as error:
            state, terminal = None, TerminalState.FAILED
            failure = corrupt_failure(error)
        external = External(
            bodies=tuple(_bodies(header, state, head, terminal, failure, expired)),
            key=f"settle:{head}",
            guards=frozenset({Guard.UNHELD} | ({Guard.WAIT_OPEN} if expired else set())),
            wait_id=expired.wait_id if expired else None,
            strict_head=head,
            transition=Transition(RunState.SETTLED, terminal_state=terminal.value),
        )
        try:
            result = await until_known(partial(store.append_external, run_id, external))
            return result.state is RunState.SETTLED
        except SeqConflict:
            continue
        except (GuardFailed, RunNotFound):
            return False


def _bodies(
    header: RunHeader,
    state: RunStateView | None,
    head: int,
    terminal: TerminalState,
    failure: ToolFailure | None,
    expired: WaitExpired | None,
) -> list[bytes]:
    common = {"run_id": header.run_id, "scope": header.scope, "at": datetime.now(UTC)}
    bodies: list[bytes] = []
    if state is not None:
        if expired is not None:
            bodies.append(encode(expired))
        for kind, fields in closing_records(state, f"the Run ended {terminal.value}"):
            bodies.append(encode(kind(**common, seq=head + len(bodies) + 1, **fields)))
    settled = RunSettled(
        run_id=header.run_id,
        scope=header.scope,
        at=datetime.now(UTC),
        seq=head + len(bodies) + 1,
        state=terminal,
        failure=failure,
    )
    return [*bodies, encode(settled)]


def corrupt_failure(error: CorruptLog) -> ToolFailure:
    """The terminal failure of a Run whose log contradicts itself."""
    return ToolFailure(
        kind="corrupt_log",
        message=f"record {error.seq} cannot be: {error.reason.value}: {error.detail}",
    )
