"""The entry point: declares the ``openai`` model adapter."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from psych_runtime.plugins.descriptors import ModelAdapter
from psych_runtime.plugins.hookspecs import hookimpl

if TYPE_CHECKING:
    from psych_runtime.ports.model import ModelClient

PSYCH_PLUGIN_API = 1


def _open(url: str) -> ModelClient:
    from psych_runtime_openai.url import client_from_url

    return client_from_url(url)


@hookimpl
def psych_models() -> Iterable[ModelAdapter]:
    """Declare the adapter."""
    yield ModelAdapter(
        name="openai",
        schemes=("openai",),
        summary="Any server that speaks the OpenAI chat completions API",
        open=_open,
    )
