"""The base of everything the log stores: frozen models whose free-form fields hold plain JSON."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainSerializer

from psych_runtime.log.jsonable import to_json_value


def _from_base64(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return base64.b64decode(value, validate=True)
    except binascii.Error as error:
        raise ValueError(f"not base64: {error}") from error


Data = Annotated[
    bytes,
    BeforeValidator(_from_base64),
    PlainSerializer(
        lambda data: base64.b64encode(data).decode("ascii"), return_type=str, when_used="json"
    ),
]
"""Bytes that are base64 text in JSON; text given for them is read as base64."""


class FrozenModel(BaseModel):
    """Frozen, no unknown fields; a field typed with ``Any`` is stored as plain JSON.

    What is passed in is converted when the object is made (see `to_json_value`), so a fold of live
    objects and a fold of stored ones are the same.

    Raises:
        UnstorableValueError: From the constructor, when a free-form field cannot be JSON.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", defer_build=True, ser_json_inf_nan="constants"
    )

    json_fields: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        cls.json_fields = tuple(
            name for name, field in cls.model_fields.items() if _holds_any(field.annotation)
        )
        # Without free-form fields `__init__` adds nothing, and validation may go past it.
        cls.__pydantic_custom_init__ = bool(cls.json_fields)

    if not TYPE_CHECKING:

        def __init__(self, /, **data: Any) -> None:
            for name in self.json_fields:
                if name in data:
                    data[name] = to_json_value(data[name])
            self.__pydantic_validator__.validate_python(data, self_instance=self)


def _holds_any(annotation: Any) -> bool:
    return annotation is Any or any(_holds_any(item) for item in get_args(annotation))
