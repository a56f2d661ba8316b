"""The same random calls on SQLiteStore and on InMemoryStore have the same outcome."""

import random
from datetime import timedelta

import pytest
from psych_runtime.errors import PsychError
from psych_runtime.ports.store import (
    External,
    Guard,
    Lease,
    NewRun,
    OpenWait,
    OutboxEntry,
    RunFilter,
    RunState,
    Transition,
    WorkerSession,
)
from psych_runtime.scope import Scope
from psych_runtime.store.memory import InMemoryStore
from psych_runtime_sqlite.store import SQLiteStore
from psych_runtime_testkit.clock import ManualClock


class Script:
    """Draws calls; the same for both stores, because it looks at neither."""

    def __init__(self, seed, clock):
        self.random = random.Random(seed)
        self.clock = clock
        self.count = 0

    def pick(self, *options):
        return self.random.choice(options)

    def maybe(self, value, chance=0.3):
        return value if self.random.random() < chance else None

    def time(self):
        return self.clock() + timedelta(seconds=self.random.uniform(-5, 60))

    def run_id(self):
        return f"run_{self.random.randint(1, 8)}"

    def session(self):
        n = self.random.randint(1, 12)
        return WorkerSession(f"s{n}", f"w{n}", self.random.uniform(5, 40))

    def bodies(self):
        self.count += 1
        return tuple(b"%d" % self.count for _ in range(self.random.randint(0, 3)))

    def transition(self, head):
        if head is None:
            return None
        state = self.pick(*RunState)
        waits = tuple(
            OpenWait(wait_id=w, expires_at=self.time(), wake_at=self.maybe(self.time()))
            for w in ("a", "b")
            if self.maybe(True, 0.5)
        )
        outbox = (OutboxEntry(key=self.pick("o1", "o2"), target_run_id="run_1", body=b"x"),)
        return Transition(
            state,
            waits=waits,
            runnable_after=self.maybe(self.time()) if state is not RunState.SETTLED else None,
            terminal_state="completed" if state is RunState.SETTLED else None,
            outbox=outbox if self.maybe(True) else (),
        )

    def call(self):
        kind = self.random.choices(
            ("create", "append", "external", "claim", "heartbeat", "end", "due", "next", "purge",
             "list", "held", "read"),
            (4, 10, 8, 8, 3, 1, 3, 3, 1, 2, 2, 2),
        )[0]  # fmt: skip
        return getattr(self, f"_{kind}")()

    def _create(self):
        run = NewRun(
            self.run_id(),
            # One tenant: whose turn it is among several is each store's own choice.
            Scope(tenant="acme"),
            "v",
            "n",
            self.time(),
            idempotency_key=self.maybe(self.pick("k1", "k2")),
            priority=self.pick(0, 0, 1),
            concurrency_key=self.maybe("line", 0.4),
            parent_run_id=self.maybe(self.run_id()),
            continues_run_id=self.maybe(self.run_id()),
        )
        bodies = self.bodies()
        return lambda store: store.create_run(run, bodies)

    def _append(self):
        session, run_id, bodies = self.session(), self.run_id(), self.bodies()
        epoch, batch_no = self.random.randint(1, 4), self.random.randint(1, 3)
        steady, draw = self.maybe(True, 0.8), self.random.random()
        head = self.maybe(True, 0.6)
        transition = self.transition(head)

        async def call(store):
            header = await store.get_run(run_id)
            lease, number, strict = Lease(session.session_id, session.worker_id, epoch), batch_no, 3
            if header is not None and steady:
                holder = header.session_id or session.session_id
                lease = Lease(holder, "w", header.epoch)
                number, strict = header.batch_no + (draw < 0.8), header.head_seq
            return await store.append(
                run_id,
                bodies,
                lease=lease,
                batch_no=number,
                strict_head=strict if head else None,
                transition=transition,
            )

        return call

    def _external(self):
        run_id, bodies, wait_id = self.run_id(), self.bodies(), self.pick("a", "b")
        guards = frozenset(g for g in Guard if self.maybe(True, 0.2))
        head = self.maybe(True, 0.3)
        transition = self.transition(head)
        flags = {name: bool(self.maybe(True)) for name in ("closes_wait", "wake", "aborts")}
        key = self.pick("x1", "x2", f"y{self.count}")
        clears = self.maybe(self.pick("o1", "o2"))

        async def call(store):
            header = await store.get_run(run_id)
            strict = header.head_seq if header is not None and head else None
            external = External(
                bodies,
                key,
                guards=guards,
                wait_id=wait_id,
                strict_head=strict,
                transition=transition if strict is not None else None,
                clears_outbox=clears,
                **flags,
            )
            return await store.append_external(run_id, external)

        return call

    def _claim(self):
        session, limit = self.session(), self.random.randint(1, 3)
        return lambda store: store.claim(session, limit, log_limit=4)

    def _heartbeat(self):
        session = self.session()
        return lambda store: store.heartbeat(session)

    def _end(self):
        session = self.session()
        return lambda store: store.end_session(session.session_id)

    def _held(self):
        session = self.session()

        async def call(store):
            held = await store.held(session.session_id)
            return sorted(claim.header.run_id for claim in held)

        return call

    def _due(self):
        async def call(store):
            return {(due.header.run_id, due.kind) for due in await store.due()}

        return call

    def _next(self):
        return lambda store: store.next_due_at()

    def _purge(self):
        before = self.time()
        return lambda store: store.purge(before, tenant="acme", limit=2)

    def _list(self):
        where = RunFilter(states=frozenset(s for s in RunState if self.maybe(True)))
        return lambda store: store.list_runs("acme", where, limit=4)

    def _read(self):
        run_id, after, limit = self.run_id(), self.random.randint(0, 4), self.pick(None, 1, 3)
        return lambda store: store.read(run_id, after=after, limit=limit)


async def _outcome(call, store):
    try:
        return await call(store)
    except (PsychError, ValueError) as exc:
        return type(exc), str(exc)


@pytest.mark.parametrize("seed", range(10))
async def test_same_calls_same_outcome(tmp_path, seed):
    clock = ManualClock()
    script = Script(seed, clock)
    memory = InMemoryStore(clock=clock)
    async with SQLiteStore(tmp_path / "runs.db", clock=clock) as sqlite:
        for step in range(300):
            call = script.call()
            expected, found = await _outcome(call, memory), await _outcome(call, sqlite)
            assert found == expected, f"step {step}: {call.__qualname__}"
            for n in range(1, 9):
                run_id = f"run_{n}"
                assert await sqlite.get_run(run_id) == await memory.get_run(run_id), f"step {step}"
            clock.advance(script.pick(0, 0, 1, 7))
