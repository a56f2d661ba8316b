#!/usr/bin/env bash
# Everything a change has to pass: ruff, mypy --strict, import-linter, the docs, then every test.
# Arguments go to pytest.
set -euo pipefail
cd "$(dirname "$0")/.."
uv run --all-extras --group dev nox -s check
exec uv run --all-extras --group dev pytest "$@"
