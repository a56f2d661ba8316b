"""The Spec, its canonical form and hash, and the Version that a Run is pinned to."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from enum import Enum
from typing import Annotated, Any, Final, Self, cast

from pydantic import AwareDatetime, BaseModel, BeforeValidator, Field, ValidationError
from pydantic.fields import FieldInfo

from psych_runtime.errors import SpecValidationError, ValidationIssue
from psych_runtime.ids import VersionHash
from psych_runtime.spec.agent import AgentSpec
from psych_runtime.spec.base import FrozenValue
from psych_runtime.spec.json_values import plain_json
from psych_runtime.spec.workflow import WorkflowSpec

Spec = Annotated[AgentSpec | WorkflowSpec, Field(discriminator="kind")]
"""An agent or a workflow, told apart by ``kind``."""

_KINDS: Final[dict[object, type[AgentSpec | WorkflowSpec]]] = {
    "agent": AgentSpec,
    "workflow": WorkflowSpec,
}


def canonical_data(spec: AgentSpec | WorkflowSpec) -> dict[str, Any]:
    """Return a Spec as JSON data without the fields that have their default value.

    ``kind`` is always there. Leaving defaults out keeps the hash when a later release adds a
    field, so a default that was released once never changes.

    Raises:
        SpecValidationError: A value is not JSON (which only a Spec made around validation has).
    """
    data = _canonical(spec)
    try:
        return cast("dict[str, Any]", plain_json(data))
    except ValueError as error:
        raise SpecValidationError([ValidationIssue(str(spec.name), str(error))]) from error


def canonical_bytes(spec: AgentSpec | WorkflowSpec) -> bytes:
    """Return the bytes that are hashed: `canonical_data` as compact UTF-8 JSON with sorted keys.

    Raises:
        SpecValidationError: As `canonical_data`.
    """
    text = json.dumps(
        canonical_data(spec),
        sort_keys=True,
        separators=(",", ":"),
        ensure_ascii=False,
        allow_nan=False,
    )
    return text.encode()


def compute_hash(spec: AgentSpec | WorkflowSpec) -> VersionHash:
    """Return ``sha256:`` and the hex digest of the Spec's canonical bytes."""
    return VersionHash("sha256:" + hashlib.sha256(canonical_bytes(spec)).hexdigest())


def load_spec(
    spec: AgentSpec | WorkflowSpec | dict[str, Any] | str | bytes,
) -> AgentSpec | WorkflowSpec:
    """Return a checked Spec from a Spec, a dict or JSON text.

    A Spec that was changed around its validation (``model_copy(update=...)``) is checked again.

    Raises:
        SpecValidationError: Lists every problem, each with its path.
    """
    data: Any = spec
    if isinstance(spec, AgentSpec | WorkflowSpec):
        data = canonical_data(spec)
    elif isinstance(spec, str | bytes):
        data = _parsed(spec)
    if not isinstance(data, dict):
        raise _refused(f"a Spec is a JSON object, not {type(data).__name__}")
    model = _KINDS.get(kind) if isinstance(kind := data.get("kind"), str) else None
    if model is None:
        raise _refused(f'"kind" must be "agent" or "workflow", not {kind!r}', data)
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise SpecValidationError(
            [
                ValidationIssue(_path(data, item["loc"]), _reason(item["msg"]))
                for item in error.errors()
            ]
        ) from error


def _utc_if_naive(value: Any) -> Any:
    if isinstance(value, datetime) and value.tzinfo is None:
        return value.replace(tzinfo=UTC)
    return value


class Version(FrozenValue):
    """A published Spec: immutable, and named by the hash of its content."""

    hash: VersionHash = Field(pattern=r"^sha256:[0-9a-f]{64}$")
    spec: Spec
    published_at: Annotated[AwareDatetime, BeforeValidator(_utc_if_naive)]
    """When it was published first (UTC); not part of the hash."""

    @property
    def name(self) -> str:
        """The Spec's name."""
        return self.spec.name

    def verify(self) -> bool:
        """Return whether the Spec still has this hash."""
        return compute_hash(self.spec) == self.hash

    def export_json(self) -> str:
        """Return the Version as readable JSON for `import_json`, in this and other releases.

        Fields of the Spec that have their default value are left out.
        """
        document = {
            "hash": self.hash,
            "published_at": self.published_at.isoformat(),
            "spec": canonical_data(self.spec),
        }
        return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)

    @classmethod
    def import_json(cls, document: str | bytes) -> Self:
        """Read what `export_json` wrote and check it; a missing ``published_at`` means now.

        Raises:
            ValueError: It is not such a document, the Spec is not valid, or its hash is not the
                one stated.
        """
        data = _parsed(document)
        if not isinstance(data, dict) or not {"hash", "spec"} <= data.keys():
            raise _refused('a Version document is a JSON object with "hash" and "spec"')
        unknown = sorted(data.keys() - {"hash", "spec", "published_at"})
        if unknown:
            raise _refused(f"a Version document has no {', '.join(map(repr, unknown))}")
        spec = load_spec(data["spec"])
        actual = compute_hash(spec)
        if data["hash"] != actual:
            raise _refused(
                f"the document says its hash is {data['hash']!r}, but its Spec has {actual!r}: it "
                "was changed after it was exported"
            )
        published_at = data.get("published_at")
        return cls(
            hash=actual,
            spec=spec,
            published_at=datetime.now(UTC) if published_at is None else published_at,
        )


def make_version(spec: AgentSpec | WorkflowSpec) -> Version:
    """Return the Version of a Spec, published now. Nothing is stored; see `publish`."""
    return Version(hash=compute_hash(spec), spec=spec, published_at=datetime.now(UTC))


def _canonical(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return {
            name: _canonical(item)
            for name, field in type(value).model_fields.items()
            if _is_written(name, field, item := getattr(value, name))
        }
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple | list):
        return [_canonical(item) for item in value]
    if isinstance(value, dict):
        return {key: _canonical(item) for key, item in value.items()}
    return value


def _is_written(name: str, field: FieldInfo, value: Any) -> bool:
    if name == "kind" or field.is_required():
        return True
    return bool(value != field.get_default(call_default_factory=True))


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _parsed(document: str | bytes) -> Any:
    try:
        return json.loads(document, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise _refused(f"this is not JSON: {error}") from error


def _path(data: dict[str, Any], loc: tuple[int | str, ...]) -> str:
    name = data.get("name")
    return ".".join([name if isinstance(name, str) and name else "spec", *map(str, loc)])


def _reason(message: str) -> str:
    return message.removeprefix("Value error, ")


def _refused(message: str, data: dict[str, Any] | None = None) -> SpecValidationError:
    return SpecValidationError([ValidationIssue(_path(data or {}, ()), message)])
