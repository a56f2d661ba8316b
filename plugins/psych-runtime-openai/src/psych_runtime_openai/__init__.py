"""Models behind any server that speaks the OpenAI chat completions API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from psych_runtime_openai.client import OpenAICompatibleClient
    from psych_runtime_openai.errors import ModelRequestError, ModelUnavailable

__all__ = ["ModelRequestError", "ModelUnavailable", "OpenAICompatibleClient"]

_HOMES = {
    "OpenAICompatibleClient": "client",
    "ModelRequestError": "errors",
    "ModelUnavailable": "errors",
}


def __getattr__(name: str) -> Any:
    # The plugin module lives in this package, so discovery imports it: keep that light.
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
