from __future__ import annotations

import json
import subprocess
import sys

THIRD_PARTY = {
    "annotated_types",
    "pydantic",
    "pydantic_core",
    "typing_extensions",
    "typing_inspection",
}
NEVER_BY_ITSELF = {"aiomysql", "asyncpg", "boto3", "httpx", "pluggy", "sqlite3"}


def _python(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60
    )
    return done.stdout


def _loaded_by(statement: str) -> set[str]:
    code = (
        "import sys; before = set(sys.modules)\n"
        f"{statement}\n"
        "import json; print(json.dumps(sorted({n.split('.')[0] for n in set(sys.modules) - before})))"
    )
    return set(json.loads(_python(code)))


def test_importing_psych_runtime_loads_a_counted_set_of_packages() -> None:
    loaded = _loaded_by("import psych_runtime")
    third_party = loaded - sys.stdlib_module_names - {"psych_runtime"}
    assert third_party <= THIRD_PARTY
    assert loaded & NEVER_BY_ITSELF == set()
    assert not [name for name in loaded if name.startswith("psych_runtime_")]


def test_every_public_name_that_the_core_defines_comes_without_a_plugin() -> None:
    """Touching the names, not only importing the package: laziness may not hide a driver."""
    loaded = _loaded_by(
        "import psych_runtime\n"
        "for name in psych_runtime.__all__:\n"
        "    if not name.startswith(('OpenAI', 'Mcp', 'A2A')): getattr(psych_runtime, name)"
    )
    assert loaded & (NEVER_BY_ITSELF - {"httpx"}) == set()
    assert not [name for name in loaded if name.startswith("psych_runtime_")]


def test_print_what_the_import_costs(note: list[str]) -> None:
    def best_ms(statement: str) -> float:
        code = f"import time; began = time.perf_counter()\n{statement}\nprint(time.perf_counter() - began)"
        return min(float(_python(code)) for _ in range(3)) * 1000

    pydantic = best_ms("import pydantic; pydantic.BaseModel")
    ours = {
        "import psych_runtime": best_ms("import psych_runtime"),
        "its names used by a first program": best_ms(
            "from psych_runtime import AgentSpec, CodeTool, ModelRef, report, session"
        ),
    }
    for what, cost in ours.items():
        note.append(
            f"{what}: {cost:.0f} ms, {cost / pydantic:.1f} times import pydantic "
            f"({pydantic:.0f} ms; goal 3)"
        )
