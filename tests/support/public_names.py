"""The names of the last release: what may not vanish without a warning.

python tests/support/public_names.py    rewrites the file; part of releasing
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from pathlib import Path

import psych_runtime

FILE = Path(__file__).parents[1] / "architecture" / "public_names.txt"


def is_deprecated(name: str) -> bool:
    """Whether using ``psych_runtime.<name>`` warns, or the object is marked with `deprecated`."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        target = getattr(psych_runtime, name)
    return hasattr(target, "__deprecated__") or any(
        issubclass(one.category, DeprecationWarning) for one in caught
    )


def read(text: str) -> dict[str, bool]:
    """Each released name, and whether that release already warned about it."""
    lines = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    return {words[0]: words[1:] == ["deprecated"] for words in lines}


def vanished(released: dict[str, bool], present: Iterable[str]) -> list[str]:
    """The released names that are gone although no release warned about them."""
    kept = set(present)
    return sorted(name for name, warned in released.items() if name not in kept and not warned)


def snapshot() -> str:
    """The file's text for the present state."""
    lines = [
        f"# psych_runtime.__all__ of {psych_runtime.__version__}; see tests/support/public_names.py"
    ]
    for name in psych_runtime.__all__:
        lines.append(f"{name} deprecated" if is_deprecated(name) else name)
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    FILE.write_text(snapshot())
