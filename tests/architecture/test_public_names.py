from __future__ import annotations

import dataclasses
import inspect
import typing
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import griffe
import psych_runtime
import pydantic
import pytest
from psych_runtime.deprecation import deprecated
from public_names import FILE, read, vanished


@pytest.fixture(scope="module")
def package() -> griffe.Module:
    """The package as its source describes it."""
    loader = griffe.GriffeLoader()
    module = loader.load("psych_runtime")
    loader.load("psych_runtime_openai")
    loader.resolve_aliases(implicit=True)
    assert isinstance(module, griffe.Module)
    return module


def _exported() -> dict[str, Any]:
    return {name: getattr(psych_runtime, name) for name in psych_runtime.__all__}


def test_all_is_sorted_and_has_no_doubles() -> None:
    names = list(psych_runtime.__all__)
    assert names == sorted(set(names), key=lambda name: (name.lower(), name))


def test_all_is_complete(package: griffe.Module) -> None:
    """What a type checker sees on the module, what exists at run time, and ``__all__`` agree."""
    for name in psych_runtime.__all__:
        assert getattr(psych_runtime, name) is not None
    imported = {
        name
        for name, member in package.members.items()
        if isinstance(member, griffe.Alias) and member.target_path.startswith("psych_runtime")
    }
    assert imported ^ set(psych_runtime.__all__) == {"__version__"}


def test_no_public_name_is_a_submodule_too() -> None:
    """Importing such a submodule would put the module in the place of the name."""
    both = [name for name in psych_runtime.__all__ if find_spec(f"psych_runtime.{name}")]
    assert both == []


def test_every_public_name_is_documented(package: griffe.Module) -> None:
    silent = []
    for name in psych_runtime.__all__:
        member = package[name]
        target = member.final_target if isinstance(member, griffe.Alias) else member
        if target.docstring is None or not target.docstring.value.strip():
            silent.append(name)
    assert silent == []


def test_every_public_function_documents_the_types_it_takes_and_returns() -> None:
    for name, value in _exported().items():
        if inspect.isfunction(value):
            signature = inspect.signature(value)
            untyped = [
                parameter.name
                for parameter in signature.parameters.values()
                if parameter.annotation is inspect.Parameter.empty
            ]
            assert untyped == [], name
            assert signature.return_annotation is not inspect.Signature.empty, name


def _types_in(annotation: Any) -> Iterator[Any]:
    if isinstance(annotation, typing.TypeAliasType):
        yield from _types_in(annotation.__value__)
        return
    if inspect.isclass(annotation):
        yield annotation
    for part in typing.get_args(annotation):
        yield from _types_in(part)


_OPAQUE = {"RunStateView"}
"""Folded state, whose entries mirror the Records: read it through the reads."""


def _fields(value: Any) -> dict[str, Any]:
    if not inspect.isclass(value):
        return {}
    if issubclass(value, pydantic.BaseModel):
        value.model_rebuild()
        return {name: field.annotation for name, field in value.model_fields.items()}
    if dataclasses.is_dataclass(value):
        hints = typing.get_type_hints(value)
        names = [one.name for one in dataclasses.fields(value) if not one.name.startswith("_")]
        return {name: hints[name] for name in names}
    return {}


def test_every_type_that_a_public_type_holds_is_public_itself() -> None:
    exported = _exported()
    reachable = {id(value) for value in exported.values()}
    for value in exported.values():
        reachable |= {id(part) for part in _types_in(value)}
    unreachable = {
        f"{name}.{field}: {part.__name__}"
        for name, value in exported.items()
        if name not in _OPAQUE
        for field, annotation in _fields(value).items()
        for part in _types_in(annotation)
        if part.__module__.split(".")[0].startswith("psych_runtime") and id(part) not in reachable
    }
    assert unreachable == set()


def test_no_released_name_vanishes_without_a_warning() -> None:
    released = read(FILE.read_text())
    assert released, "the snapshot is empty: run tests/support/public_names.py"
    assert vanished(released, psych_runtime.__all__) == []


def test_a_name_may_vanish_only_after_a_release_that_warned() -> None:
    released = read("# of 0.3.0\nkept\nwarned deprecated\ndropped\n")
    assert vanished(released, ["kept", "new"]) == ["dropped"]


def test_the_snapshot_knows_a_deprecated_name(monkeypatch: pytest.MonkeyPatch) -> None:
    from public_names import is_deprecated

    @deprecated(since="0.3", removal="0.4")
    def old() -> None: ...

    monkeypatch.setattr(psych_runtime, "old", old, raising=False)
    monkeypatch.setattr(psych_runtime, "new", object(), raising=False)
    assert is_deprecated("old")
    assert not is_deprecated("new")
