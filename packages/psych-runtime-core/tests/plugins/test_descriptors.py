import dataclasses
import subprocess
import sys
from typing import Any

import pytest
from psych_runtime.plugins.descriptors import DoctorCheck, SandboxAdapter, StoreAdapter


def _open(url: str) -> Any:
    return url


@pytest.mark.parametrize("name", ["", "Upper", "1st", "has space", "x" * 65, None])
def test_a_name_is_a_short_lower_case_word(name: Any) -> None:
    with pytest.raises(ValueError, match=r"StoreAdapter name .* is not usable"):
        StoreAdapter(name=name, schemes=("x",), summary="", open=_open)


@pytest.mark.parametrize("schemes", [("a://",), ("A",), ("",), "redis"])
def test_a_scheme_is_only_the_scheme(schemes: Any) -> None:
    with pytest.raises(ValueError, match="scheme"):
        StoreAdapter(name="x", schemes=schemes, summary="", open=_open)


def test_descriptors_are_frozen_and_hashable() -> None:
    one = SandboxAdapter(name="x", schemes=("x",), summary="", open=_open)
    assert one.available() is None
    assert hash(one) == hash(dataclasses.replace(one))
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.name = "y"  # type: ignore[misc]


def test_a_check_without_schemes_is_allowed() -> None:
    assert DoctorCheck(name="x", summary="", run=lambda url: []).schemes == ()


def test_importing_the_descriptors_does_not_import_pluggy() -> None:
    code = "import sys, psych_runtime.plugins.descriptors; sys.exit('pluggy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
