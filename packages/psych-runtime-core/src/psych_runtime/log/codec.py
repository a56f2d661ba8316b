"""Record bodies: a Record to bytes and back.

A body is a compact JSON object: the type first under ``t`` (then ``v``, the schema version, when
it is not 1), then only the fields that differ from their defaults. It carries neither ``run_id``
nor ``seq``, which the store knows, nor ``scope``, which only ``run_admitted`` has.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, Protocol

from pydantic_core import PydanticSerializationError, from_json

from psych_runtime.errors import UnstorableValueError
from psych_runtime.ids import RunId
from psych_runtime.log.corruption import CorruptionReason, CorruptLog
from psych_runtime.log.jsonable import to_json_value
from psych_runtime.log.records import RECORD_CLASSES, Record, RecordBase
from psych_runtime.log.records.run import RunAdmitted
from psych_runtime.log.upcast import UPCASTERS
from psych_runtime.scope import Scope

_KNOWN_ELSEWHERE = {"run_id", "seq", "scope"}
_ADMITTED_OMITS = {"run_id", "seq"}
_PREFIXES: dict[type[RecordBase], bytes] = {}
_SURROGATE_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")


class Stored(Protocol):
    """A log entry as a store returns it."""

    @property
    def seq(self) -> int:
        """Its position."""
        ...

    @property
    def body(self) -> bytes:
        """What `encode` made."""
        ...


def encode(record: RecordBase) -> bytes:
    """Return the body of ``record``.

    Raises:
        UnstorableValueError: A value cannot be JSON; nothing may be written.
    """
    cls = type(record)
    prefix = _PREFIXES.get(cls) or _prefix(cls)
    omitted = _ADMITTED_OMITS if cls is RunAdmitted else _KNOWN_ELSEWHERE
    try:
        fields = cls.__pydantic_serializer__.to_json(record, exclude=omitted, exclude_defaults=True)
    except PydanticSerializationError:
        fields = _encode_odd_text(record, omitted)
    return prefix + fields[1:]


def _prefix(cls: type[RecordBase]) -> bytes:
    head: dict[str, Any] = {"t": cls.model_fields["type"].default}
    if cls.schema_version > 1:
        head["v"] = cls.schema_version
    # Never followed by an empty object: ``at`` has no default.
    _PREFIXES[cls] = json.dumps(head, separators=(",", ":")).encode()[:-1] + b","
    return _PREFIXES[cls]


def _encode_odd_text(record: RecordBase, omitted: set[str]) -> bytes:
    """Encode text that UTF-8 has no form for (unpaired surrogates)."""
    try:
        fields = record.model_dump(exclude=omitted, exclude_defaults=True)
        text = _dumps(fields, ensure_ascii=False)
        if _SURROGATE_PAIR.search(text):
            # Escaped, the two halves would be read back as one character.
            return text.encode("utf-8", "surrogatepass")
        return _dumps(fields).encode("ascii")
    except (PydanticSerializationError, ValueError, TypeError, RecursionError) as error:
        raise UnstorableValueError(f"cannot store this {record.type} record: {error}") from error


def _dumps(fields: dict[str, Any], *, ensure_ascii: bool = True) -> str:
    return json.dumps(
        fields, separators=(",", ":"), default=to_json_value, ensure_ascii=ensure_ascii
    )


def decode(run_id: RunId, scope: Scope, seq: int, body: bytes) -> Record:
    """Return the Record at ``seq`` of a Run.

    Raises:
        CorruptLog: With reason `UNREADABLE_RECORD` when ``body`` is not a record that this
            release can read.
    """
    try:
        return _validated(run_id, scope, seq, _parsed(body))
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise CorruptLog(
            CorruptionReason.UNREADABLE_RECORD, run_id, seq, f"{type(error).__name__}: {error}"
        ) from error


def decode_log(run_id: RunId, stored: Iterable[Stored], scope: Scope | None = None) -> list[Record]:
    """Return the Records of a whole log, or of its tail when ``scope`` is given.

    Raises:
        CorruptLog: As `decode`; also when no ``scope`` is given and the first entry carries none.
    """
    records: list[Record] = []
    for entry in stored:
        if scope is None:
            scope = _scope_of(run_id, entry)
        records.append(decode(run_id, scope, entry.seq, entry.body))
    return records


def _parsed(body: bytes) -> dict[str, Any]:
    try:
        fields = from_json(body)
    except ValueError:
        fields = json.loads(body.decode("utf-8", "surrogatepass"))
    if not isinstance(fields, dict):
        raise ValueError("the body is not a JSON object")
    return fields


def _validated(run_id: RunId, scope: Scope, seq: int, fields: dict[str, Any]) -> Record:
    name = fields.pop("t", None)
    cls = RECORD_CLASSES.get(name) if isinstance(name, str) else None
    if cls is None:
        raise ValueError(
            f"there is no record type {name!r}: a newer release or another program wrote it"
        )
    found = fields.pop("v", 1)
    if found != cls.schema_version:
        fields = UPCASTERS.bring_up(str(name), fields, found=found, current=cls.schema_version)
    fields["run_id"] = run_id
    fields["seq"] = seq
    if cls is not RunAdmitted or "scope" not in fields:
        fields["scope"] = scope
    # Past `__init__`: what was parsed from JSON needs no conversion to JSON values.
    record = cls.__new__(cls)
    cls.__pydantic_validator__.validate_python(fields, self_instance=record)
    return record  # type: ignore[return-value]


def _scope_of(run_id: RunId, entry: Stored) -> Scope:
    try:
        return Scope.model_validate(_parsed(entry.body)["scope"])
    except (ValueError, KeyError, RecursionError) as error:
        raise CorruptLog(
            CorruptionReason.UNREADABLE_RECORD,
            run_id,
            entry.seq,
            "the log does not begin with a run_admitted record that carries the Scope",
        ) from error
