from __future__ import annotations

from typing import Any, ClassVar, Literal

import pytest
from psych_runtime.ids import RunId
from psych_runtime.log import codec, upcast
from psych_runtime.log.corruption import CorruptLog
from psych_runtime.log.records import RECORD_CLASSES, RecordBase
from psych_runtime.log.upcast import UnknownSchemaVersion, Upcasters
from psych_runtime.scope import Scope
from psych_runtime.testing.logs import EPOCH

SCOPE = Scope(tenant="acme")


class Greeted(RecordBase):
    """A record type in its third schema version."""

    schema_version: ClassVar[int] = 3

    type: Literal["test_greeted"] = "test_greeted"
    words: tuple[str, ...]


@pytest.fixture
def upcasters(monkeypatch: pytest.MonkeyPatch) -> Upcasters:
    own = Upcasters()
    monkeypatch.setattr(codec, "UPCASTERS", own)
    monkeypatch.setitem(RECORD_CLASSES, "test_greeted", Greeted)
    return own


def read(body: bytes) -> Any:
    return codec.decode(RunId("run_1"), SCOPE, 1, body)


def test_older_bodies_go_through_every_step(upcasters: Upcasters) -> None:
    upcasters.register("test_greeted", 1, lambda old: {**_without(old, "m"), "text": old["m"]})
    upcasters.register(
        "test_greeted", 2, lambda old: {**_without(old, "text"), "words": old["text"].split()}
    )
    first = b'{"t":"test_greeted","at":"2026-01-01T00:00:00Z","m":"hello you"}'
    second = b'{"t":"test_greeted","v":2,"at":"2026-01-01T00:00:00Z","text":"hello you"}'
    assert read(first).words == read(second).words == ("hello", "you")


def test_a_version_above_one_is_written_and_read_as_it_is(upcasters: Upcasters) -> None:
    record = Greeted(run_id=RunId("run_1"), seq=1, at=EPOCH, scope=SCOPE, words=("a",))
    body = codec.encode(record)  # type: ignore[arg-type]
    assert body.startswith(b'{"t":"test_greeted","v":3,')
    assert read(body) == record


def test_a_newer_or_unreachable_version_names_both(upcasters: Upcasters) -> None:
    with pytest.raises(CorruptLog, match="version 4, this release reads up to 3"):
        read(b'{"t":"test_greeted","v":4,"at":"2026-01-01T00:00:00Z"}')
    with pytest.raises(CorruptLog, match="version 2, the current one is 3"):
        read(b'{"t":"test_greeted","v":2,"at":"2026-01-01T00:00:00Z"}')
    with pytest.raises(UnknownSchemaVersion):
        upcasters.bring_up("test_greeted", {}, found=0, current=3)


def test_one_step_per_version(upcasters: Upcasters) -> None:
    upcasters.register("x", 1, dict)
    with pytest.raises(ValueError, match="x version 1"):
        upcasters.register("x", 1, dict)
    assert upcast.UPCASTERS is not upcasters


def _without(fields: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if key != name}
