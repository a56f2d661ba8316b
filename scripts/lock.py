"""Writes requirements.lock, or checks it: every third-party release with its hashes, no hosts."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

LOCK = Path(__file__).parents[1] / "requirements.lock"
HEADER = """\
# Every third-party release that the workspace is developed and tested with, and its hashes.
# Written by scripts/lock.sh; do not edit. Install with: uv pip sync requirements.lock
"""
EXPORT = (
    *("uv", "export", "--quiet", "--all-extras", "--group", "dev", "--no-emit-workspace"),
    *("--no-emit-project", "--format", "requirements-txt", "--no-header", "--no-annotate"),
)
HASH = re.compile(r"\s*\\?\s*--hash=(\S+)")


def resolved() -> str:
    """What uv resolves now."""
    done = subprocess.run(EXPORT, cwd=LOCK.parent, check=True, capture_output=True, text=True)
    text = HEADER + done.stdout
    if "://" in done.stdout:
        raise SystemExit("the export names a host; configure the index outside of the project")
    return text


def releases(text: str) -> dict[str, set[str]]:
    """Each release with its markers, and the hashes of its files."""
    found: dict[str, set[str]] = {}
    for entry in re.sub(r"\s*\\\n\s*", " ", text).splitlines():
        if entry and not entry.startswith("#"):
            found[HASH.sub("", entry).strip()] = set(HASH.findall(entry))
    return found


def differences(written: str, wanted: str) -> list[str]:
    """What is not the same; an index that mirrors fewer files of a release is no difference."""
    old, new = releases(written), releases(wanted)
    lines = [f"no longer resolved: {name}" for name in sorted(old.keys() - new.keys())]
    lines += [f"missing: {name}" for name in sorted(new.keys() - old.keys())]
    shared = old.keys() & new.keys()
    lines += [f"other files: {name}" for name in sorted(shared) if not old[name] & new[name]]
    return lines


def main(arguments: list[str]) -> None:
    """Write, or with ``--check`` compare."""
    wanted = resolved()
    if "--check" not in arguments:
        LOCK.write_text(wanted)
        print(f"wrote {LOCK.name}: {len(releases(wanted))} releases")
        return
    found = differences(LOCK.read_text() if LOCK.exists() else "", wanted)
    if found:
        raise SystemExit(
            "requirements.lock is not current:\n  " + "\n  ".join(found) + "\nrun scripts/lock.sh"
        )
    print("requirements.lock is current")


if __name__ == "__main__":
    main(sys.argv[1:])
