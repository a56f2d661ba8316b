from __future__ import annotations

import json
import math
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from psych_runtime.errors import UnstorableValueError
from psych_runtime.ids import RunId
from psych_runtime.log import records as r
from psych_runtime.log.codec import decode, decode_log, encode
from psych_runtime.log.corruption import CorruptionReason, CorruptLog
from psych_runtime.log.values import MediaPart, ModelToolCall, ResultAttachment
from psych_runtime.ports.store import StoredRecord
from psych_runtime.scope import Scope
from psych_runtime.spec.usage import Cost, Usage
from psych_runtime.testing.logs import EPOCH, LogBuilder
from pydantic import ValidationError

RUN = RunId("run_test")
SCOPE = Scope(tenant="acme", principal="ann", labels={"team": "a"})
COMMON: dict[str, Any] = {"run_id": RUN, "seq": 7, "at": EPOCH, "scope": SCOPE}

# Any code point, halves of surrogate pairs too.
TEXT = st.text(st.characters(), max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=15,
)


def same(one: Any, other: Any) -> bool:
    """Equal in value and type, with NaN equal to itself and -0.0 different from 0.0."""
    return repr(one) == repr(other)


def stored_and_read(record: r.Record) -> r.Record:
    return decode(RUN, SCOPE, record.seq, encode(record))


@settings(deadline=None)
@given(VALUES, TEXT)
@example([math.nan, math.inf, -math.inf, -0.0, 0.0], "\x00")
@example({"\ud800": ["\udfff", "\ud83d\ude00", "😀", "a\x00b"]}, "\udc00\ud800")
@example([2**64, -(2**63) - 1, 10**4299, -(10**4299)], "")
def test_every_json_value_and_text_is_stored_losslessly(value: Any, text: str) -> None:
    finished = r.ToolCallFinished(**COMMON, call_id="c", outcome="ok", result=value, preview=text)
    read = stored_and_read(finished)
    assert isinstance(read, r.ToolCallFinished)
    assert same(read.result, value)
    assert read.preview == text

    started = r.ToolCallStarted(
        **COMMON, call_id="c", tool="t", turn=1, arguments={"value": value, text: text}
    )
    read_started = stored_and_read(started)
    assert isinstance(read_started, r.ToolCallStarted)
    assert same(read_started.arguments, started.arguments)


@pytest.mark.parametrize(
    "value", [10**4300, object(), {"a": {1j}}], ids=["long integer", "object", "complex"]
)
def test_an_unstorable_value_is_refused_before_there_is_a_record(value: object) -> None:
    with pytest.raises(UnstorableValueError):
        r.ToolCallFinished(**COMMON, call_id="c", outcome="ok", result=value)
    with pytest.raises(UnstorableValueError):
        ModelToolCall(call_id="c", name="t", arguments={"value": value})
    with pytest.raises(UnstorableValueError):
        r.ModelCallFinished(
            **COMMON,
            turn=1,
            model="m",
            usage=Usage(),
            cost=None,
            timings={},
            finish_reason="stop",
            reasoning_blocks=({"value": value},),
        )


def test_a_live_record_equals_the_stored_one() -> None:
    record = r.RunSettled(**COMMON, state="completed", output={"total": Decimal("1.5"), "t": (1,)})
    assert record.output == {"total": "1.5", "t": [1]}
    assert stored_and_read(record) == record


def test_a_body_has_the_type_first_and_only_what_differs_from_the_defaults() -> None:
    body = encode(r.TurnStarted(**COMMON, turn=3))
    assert body == b'{"t":"turn_started","at":"2026-01-01T00:00:00Z","turn":3}'
    admitted = LogBuilder(scope=SCOPE).admitted().records[0]
    assert json.loads(encode(admitted)) == {
        "t": "run_admitted",
        "at": "2026-01-01T00:00:01Z",
        "scope": {"tenant": "acme", "principal": "ann", "labels": {"team": "a"}},
        "version_hash": "sha256:test",
        "deadline_at": "2026-01-01T00:15:00Z",
    }


@pytest.mark.parametrize("odd", ["\ud800", "plain"])
def test_bytes_are_base64_text_on_both_ways_of_encoding(odd: str) -> None:
    data = bytes(range(256))
    record = r.ToolCallFinished(
        **COMMON,
        call_id="c",
        outcome="ok",
        result=odd,
        parts=(MediaPart(kind="image", content_type="image/png", data=data),),
        attachments=(
            ResultAttachment(
                name="stdout",
                handle="h",
                content_type="text/plain",
                size_bytes=256,
                observed_bytes=300,
                truncated=True,
                data=data,
            ),
        ),
    )
    body = json.loads(encode(record))
    assert body["parts"][0]["data"].startswith("AAECAwQ")
    assert stored_and_read(record) == record


def test_money_and_times_are_exact() -> None:
    east = datetime(2026, 1, 1, 12, 0, 0, 123456, tzinfo=timezone(timedelta(hours=5)))
    record = r.ModelCallFailed(
        **{**COMMON, "at": east},
        turn=1,
        model="m",
        failure={"kind": "E", "message": "no"},
        cost=Cost(amount=Decimal("0.000000000000000001"), model="m"),
    )
    read = stored_and_read(record)
    assert isinstance(read, r.ModelCallFailed)
    assert read.cost == record.cost
    assert read.at == east
    assert read == record


def test_a_log_is_readable_on_its_own() -> None:
    log = LogBuilder(scope=SCOPE).admitted().attempt().turn()
    records = decode_log(RUN, log.stored())
    assert records == log.records
    assert all(record.scope == SCOPE for record in records)
    assert decode_log(RUN, log.stored()[1:], SCOPE) == log.records[1:]
    with pytest.raises(CorruptLog, match="does not begin with a run_admitted"):
        decode_log(RUN, log.stored()[1:])


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", "JSON"),
        (b"\xff\xfe", "ValueError|decode|JSON"),
        (b"[1]", "not a JSON object"),
        (b'{"t":"turn_started"', "JSON|Expecting"),
        (b'{"turn":1}', "no record type None"),
        (b'{"t":["x"]}', "no record type"),
        (b'{"t":"from_the_future","at":"2026-01-01T00:00:00Z"}', "'from_the_future'"),
        (b'{"t":"turn_started","at":"2026-01-01T00:00:00Z"}', "turn"),
        (b'{"t":"turn_started","at":"2026-01-01T00:00:00Z","turn":1,"more":2}', "more"),
        (b'{"t":"turn_started","v":2,"at":"2026-01-01T00:00:00Z","turn":1}', "version 2.*up to 1"),
        (b'{"t":"turn_started","v":"x","at":"2026-01-01T00:00:00Z","turn":1}', "TypeError|version"),
        (b"[" * 100_000, "Recursion|recursion|JSON"),
    ],
)
def test_an_unreadable_body_is_a_corrupt_log_with_its_place(body: bytes, why: str) -> None:
    with pytest.raises(CorruptLog, match=why) as caught:
        decode_log(RUN, [StoredRecord(4, body)], SCOPE)
    assert caught.value.reason is CorruptionReason.UNREADABLE_RECORD
    assert (caught.value.run_id, caught.value.seq) == (RUN, 4)


def test_every_type_is_written_under_its_own_name_and_read_as_its_class() -> None:
    for name, cls in r.RECORD_CLASSES.items():
        assert cls.model_fields["type"].default == name
    known = r.RECORD_ADAPTER.json_schema()["discriminator"]["mapping"]
    assert known.keys() == r.RECORD_CLASSES.keys()
    assert set(r.RECORD_CLASSES) >= r.EXTERNAL_TYPES


def test_the_adapter_tells_records_apart() -> None:
    record = r.TurnStarted(**COMMON, turn=3)
    assert r.RECORD_ADAPTER.validate_python(record.model_dump()) == record
    assert r.RECORD_ADAPTER.validate_json(record.model_dump_json()) == record
    with pytest.raises(ValidationError):
        r.RECORD_ADAPTER.validate_python({**record.model_dump(), "type": "nothing"})


def test_a_record_cannot_be_changed_or_carry_unknown_fields() -> None:
    record = r.TurnStarted(**COMMON, turn=3)
    with pytest.raises(ValidationError):
        record.turn = 4  # type: ignore[misc]
    with pytest.raises(ValidationError):
        r.TurnStarted(**COMMON, turn=3, colour="red")  # type: ignore[call-arg]
    with pytest.raises(ValidationError):
        r.TurnStarted(**{**COMMON, "at": datetime(2026, 1, 1)}, turn=3)
