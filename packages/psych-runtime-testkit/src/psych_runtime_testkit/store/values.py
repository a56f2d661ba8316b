"""Values come back exactly as they were given."""

from __future__ import annotations

import pytest
from psych_runtime.ids import RunId
from psych_runtime.ports.store import External, OutboxEntry, RunFilter, RunState
from psych_runtime.scope import Scope

from psych_runtime_testkit.store.base import StoreSuite
from psych_runtime_testkit.store.lab import StoreLab

TRICKY_TEXTS = (
    "na\u00efve",
    "nai\u0308ve",
    "\u0928\u092e\u0938\u094d\u0924\u0947",
    "\u05e9\u05dc\u05d5\u05dd \u202eabc",
    "\U0001f9d1\U0001f3fd\u200d\U0001f680",
    'it\'s "quoted" \\ % _ ; --',
    " leading and trailing ",
)
"""Accents in two forms, Devanagari, right to left, an emoji of four characters, SQL's own."""


class ValueContract(StoreSuite):
    """Bodies, ids and names."""

    async def test_bodies_are_returned_byte_for_byte_c124(self, lab: StoreLab) -> None:
        bodies = [
            b"",
            b"\x00",
            b"W\x00s\x00l",
            "\ud800".encode("utf-8", "surrogatepass"),
            b"\xff\xfe\x00\x80",
            bytes(range(256)),
            b'{"a":  1,\n "a": 2}',
            b"\xef\xbb\xbf{}",
            b"-- ; ' \" \\ %s ?",
        ]
        claim = await lab.held_run(*bodies)
        await lab.append(claim, *bodies)
        await lab.external(claim.header.run_id, *bodies)
        assert await lab.bodies(claim.header.run_id) == bodies * 3

    async def test_large_body(self, lab: StoreLab) -> None:
        body = bytes(range(256)) * 4096
        run_id = await lab.admit(body, b"small")
        assert await lab.bodies(run_id) == [body, b"small"]

    async def test_outbox_body_is_returned_byte_for_byte(self, lab: StoreLab) -> None:
        claim = await lab.held_run()
        entry = OutboxEntry(
            key="\u05e9", target_run_id=RunId("run_\U0001f680"), body=bytes(range(256))
        )
        await lab.move(claim, RunState.RUNNING, outbox=(entry,))
        assert (await lab.header(claim.header.run_id)).outbox == (entry,)

    @pytest.mark.parametrize("text", TRICKY_TEXTS)
    async def test_text_is_exact_c122(self, lab: StoreLab, text: str) -> None:
        scope = Scope(tenant=text, principal=text, labels={text: text})
        run = await lab.new_run(
            run_id=RunId(f"run_{text}"),
            scope=scope,
            name=text,
            idempotency_key=text,
            concurrency_key=text,
        )
        await lab.store.create_run(run, [text.encode()])
        header = await lab.header(run.run_id)
        assert (header.run_id, header.scope, header.name) == (run.run_id, scope, text)
        assert (header.idempotency_key, header.concurrency_key) == (text, text)
        page = await lab.store.list_runs(text, RunFilter(name=text, labels=((text, text),)))
        assert [h.run_id for h in page.headers] == [run.run_id]
        result = await lab.store.append_external(run.run_id, External((b"x",), key=text))
        assert result.applied
        assert await lab.claim_ids() == [run.run_id]

    async def test_ids_differ_by_case_accent_form_and_space_c122(self, lab: StoreLab) -> None:
        names = [
            "run_a",
            "run_A",
            "run_a ",
            "run_\u00e4",
            "run_a\u0308",
            "run_\u212b",
            "run_\u00c5",
        ]
        for name in names:
            created = await lab.create(name.encode(), run_id=RunId(name), idempotency_key=name)
            assert created.created, f"{name!r} was taken for another id"
        for name in names:
            assert await lab.bodies(RunId(name)) == [name.encode()]

    async def test_tenants_differ_by_case_and_accent_form(self, lab: StoreLab) -> None:
        tenants = ["acme", "Acme", "acme ", "a\u0301cme", "\u00e1cme"]
        for tenant in tenants:
            await lab.admit(tenant=tenant)
        for tenant in tenants:
            page = await lab.store.list_runs(tenant, RunFilter())
            assert [h.scope.tenant for h in page.headers] == [tenant]

    async def test_external_keys_differ_by_case(self, lab: StoreLab) -> None:
        run_id = await lab.admit()
        assert (await lab.external(run_id, b"x", key="k")).applied
        assert (await lab.external(run_id, b"y", key="K")).applied

    async def test_times_keep_their_microseconds(self, lab: StoreLab) -> None:
        run = await lab.new_run()
        exact = run.deadline_at.replace(microsecond=123457)
        created = await lab.create(deadline_at=exact)
        assert (await lab.header(created.header.run_id)).deadline_at == exact

    async def test_longest_keys(self, lab: StoreLab) -> None:
        text = "\U0001f680" * 256
        created = await lab.create(idempotency_key=text, concurrency_key=text, tenant=text)
        header = await lab.header(created.header.run_id)
        assert header.idempotency_key == header.concurrency_key == header.scope.tenant == text

    async def test_extreme_priorities(self, lab: StoreLab) -> None:
        low = await lab.admit(priority=-(2**31))
        high = await lab.admit(priority=2**31 - 1)
        assert await lab.claim_ids() == [high, low]
