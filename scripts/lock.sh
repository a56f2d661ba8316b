#!/usr/bin/env bash
# Rewrites requirements.lock from what uv resolves. With --check it only says whether it is current.
set -euo pipefail
cd "$(dirname "$0")/.."
exec uv run --all-extras --group dev python scripts/lock.py "$@"
