"""From a function's type hints to an arguments model and its JSON Schema."""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, create_model
from pydantic.errors import PydanticUserError
from pydantic.json_schema import PydanticJsonSchemaWarning
from pydantic_core import PydanticSerializationError, to_json

from psych_runtime.errors import ToolSchemaError
from psych_runtime.spec.names import TOOL_NAME_PATTERN
from psych_runtime.tools.signatures import Signature

_NAME = re.compile(TOOL_NAME_PATTERN)
_SHOWN_INPUT = 80


@dataclass(frozen=True, slots=True)
class ArgumentsModel:
    """An arguments model, ready to use.

    Attributes:
        adapter: Validates a mapping of arguments.
        json_schema: What the model is shown; without a title.
        fields: Pairs of function parameter and model attribute.
    """

    adapter: TypeAdapter[BaseModel]
    json_schema: dict[str, Any]
    fields: tuple[tuple[str, str], ...]


def check_name(name: object) -> str:
    """Return ``name`` if a tool may have it.

    Raises:
        ToolSchemaError: It is not a name that a Spec could grant and a provider would accept.
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ToolSchemaError(
            f"{name!r} cannot be a tool's name: pass name= with a letter or underscore first, "
            "then letters, digits, '_' or '-', at most 64 in all"
        )
    return name


def description_of(name: str, fn: Callable[..., Any], description: str | None) -> str:
    """Return the given description, or the first paragraph of the function's docstring.

    Raises:
        ToolSchemaError: There is neither. A model chooses tools by their descriptions.
    """
    # Partials and objects have their class's docstring, which says nothing about the tool.
    docstring = inspect.getdoc(fn) if inspect.isroutine(fn) else None
    text = docstring if description is None else description
    paragraph = (text or "").strip()
    if description is None:
        paragraph = " ".join(re.split(r"\n\s*\n", paragraph, maxsplit=1)[0].split())
    if not paragraph:
        raise ToolSchemaError(
            f"tool {name!r} has no description: write a docstring, or pass description=; "
            "the model decides by it when to call the tool"
        )
    return paragraph


def derive_model(name: str, signature: Signature) -> ArgumentsModel:
    """Build the arguments model of a function: one field per parameter, nothing else allowed.

    Raises:
        ToolSchemaError: A parameter cannot be filled by a model, with the reason and what to do.
    """
    definitions: dict[str, Any] = {}
    fields: list[tuple[str, str]] = []
    for parameter in signature.parameters.values():
        _check_parameter(name, parameter, signature.hints)
        attribute = _attribute(parameter.name, len(fields))
        default = ... if parameter.default is inspect.Parameter.empty else parameter.default
        if attribute != parameter.name and not _is_field(default):
            default = Field(default, alias=parameter.name)
        definitions[attribute] = (signature.hints[parameter.name], default)
        fields.append((parameter.name, attribute))
    try:
        model: type[BaseModel] = create_model(
            f"{name}_Arguments", __config__=ConfigDict(extra="forbid"), **definitions
        )
    except Exception as error:
        raise _unmodellable(name, error) from error
    return _ready(name, model, tuple(fields))


def dynamic_model(name: str, model: type[BaseModel]) -> ArgumentsModel:
    """Prepare a caller's own arguments model, which is used as it is.

    Raises:
        ToolSchemaError: It is not a pydantic model, lets unknown arguments pass, or has no schema.
    """
    if not (isinstance(model, type) and issubclass(model, BaseModel)):
        raise ToolSchemaError(
            f"tool {name!r}: arguments_model must be a pydantic model class, not {model!r}"
        )
    if model.model_config.get("extra") != "forbid":
        raise ToolSchemaError(
            f"tool {name!r}: {model.__name__} would silently drop arguments it does not know; "
            'build it with ConfigDict(extra="forbid")'
        )
    return _ready(name, model, tuple((field, field) for field in model.model_fields))


def validate_arguments(adapter: TypeAdapter[BaseModel], arguments: Mapping[str, Any]) -> BaseModel:
    """Validate what a model sent.

    Raises:
        ValidationError: The arguments do not fit.
    """
    given = dict(arguments)
    try:
        return adapter.validate_python(given)
    except ValidationError as error:
        # Arguments were JSON once: strict models accept dates and the like only from JSON.
        try:
            return adapter.validate_json(to_json(given, inf_nan_mode="constants"))
        except (ValidationError, PydanticSerializationError, ValueError):
            raise error from None


def explain_invalid(name: str, error: ValidationError) -> str:
    """Say for each field what is wrong with it, in words for the model."""
    lines = [
        _problem(details) for details in error.errors(include_url=False, include_context=False)
    ]
    shown = "\n".join(f"- {line}" for line in lines[:20])
    more = f"\n- and {len(lines) - 20} more" if len(lines) > 20 else ""
    return f"the arguments do not fit the schema of {name!r}:\n{shown}{more}"


def _problem(details: Any) -> str:
    where = ".".join(str(part) for part in details["loc"]) or "arguments"
    if details["type"] == "extra_forbidden":
        return f"{where}: the tool has no such argument; leave it out"
    if details["type"] == "missing":
        return f"{where}: required, but not given"
    given = repr(details["input"])
    if len(given) > _SHOWN_INPUT:
        given = f"{given[:_SHOWN_INPUT]}…"
    return f"{where}: {details['msg']}; given: {given}"


def _check_parameter(name: str, parameter: inspect.Parameter, hints: dict[str, Any]) -> None:
    label = f"tool {name!r}: parameter {parameter.name!r}"
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        stars = "*" if parameter.kind is parameter.VAR_POSITIONAL else "**"
        raise ToolSchemaError(
            f"tool {name!r}: {stars}{parameter.name} has no schema; name each parameter, or use "
            "register_dynamic with an arguments model"
        )
    if parameter.kind is parameter.POSITIONAL_ONLY:
        raise ToolSchemaError(
            f"{label} can only be passed by position; arguments come by name, so remove the '/'"
        )
    if parameter.name in hints:
        return
    if parameter.name in ("self", "cls"):
        raise ToolSchemaError(
            f"tool {name!r} is a method without its object; register the bound method instead"
        )
    raise ToolSchemaError(f"{label} has no type hint; add one, it becomes the argument's schema")


def _attribute(parameter: str, position: int) -> str:
    """A field name for the parameter that no model attribute or pydantic rule is in the way of."""
    if parameter.startswith(("_", "model_")) or hasattr(BaseModel, parameter):
        return f"argument_{position}"
    return parameter


def _is_field(default: Any) -> bool:
    return type(default).__name__ == "FieldInfo"


def _ready(
    name: str, model: type[BaseModel], fields: tuple[tuple[str, str], ...]
) -> ArgumentsModel:
    try:
        adapter: TypeAdapter[BaseModel] = TypeAdapter(model)
        with warnings.catch_warnings():
            # A default that JSON cannot show is left out of the schema, which is all right.
            warnings.simplefilter("ignore", PydanticJsonSchemaWarning)
            schema = adapter.json_schema()
    except (PydanticUserError, NameError, TypeError, ValueError) as error:
        raise _unmodellable(name, error) from error
    schema.pop("title", None)
    return ArgumentsModel(adapter, schema, fields)


def _unmodellable(name: str, error: Exception) -> ToolSchemaError:
    reason = str(error).split("\n\n", maxsplit=1)[0].split("\nFor further", maxsplit=1)[0]
    return ToolSchemaError(
        f"tool {name!r}: no JSON Schema can be made of its parameters: {reason}. "
        "Use types that JSON can carry, such as str, int, list, dict or a pydantic model"
    )
