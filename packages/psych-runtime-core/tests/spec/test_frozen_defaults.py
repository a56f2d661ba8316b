"""Defaults are part of every hash: a Spec stores only what differs from them.

A new field may be added to ``frozen_defaults.json``. An entry that is there is never changed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from psych_runtime.spec import version, workflow  # noqa: F401  (defines every Spec model)
from psych_runtime.spec.base import SpecModel
from psych_runtime.spec.questions import AskedQuestion, QuestionOption
from pydantic import BaseModel
from pydantic.fields import FieldInfo

FROZEN: dict[str, dict[str, str]] = json.loads(
    Path(__file__).with_name("frozen_defaults.json").read_text()
)


def spec_models() -> Iterator[type[BaseModel]]:
    stack: list[type[BaseModel]] = [SpecModel, AskedQuestion, QuestionOption]
    while stack:
        model = stack.pop()
        stack += model.__subclasses__()
        if model.__module__.startswith("psych_runtime.spec") and model.__name__ not in (
            "SpecModel",
            "StepBase",
        ):
            yield model


def shown(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    default = field.get_default(call_default_factory=True)
    if isinstance(default, BaseModel):
        assert default == type(default)()
        return f"{type(default).__name__}()"
    return repr(default)


def defaults_of(model: type[BaseModel]) -> dict[str, str]:
    return {name: shown(field) for name, field in model.model_fields.items()}


MODELS = {model.__name__: model for model in spec_models()}


def test_every_model_is_in_the_table() -> None:
    assert sorted(MODELS) == sorted(FROZEN)


@pytest.mark.parametrize("name", sorted(FROZEN))
def test_defaults_never_change(name: str) -> None:
    assert defaults_of(MODELS[name]) == FROZEN[name]
