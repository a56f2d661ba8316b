#!/usr/bin/env bash
# Which databases do the tests need, and do they answer? Usage: scripts/dev-services.sh start|stop
set -euo pipefail
cd "$(dirname "$0")/.."
exec uv run --all-extras --group dev nox -s services -- "${1:-start}"
