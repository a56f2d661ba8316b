"""``openai://`` URLs."""

from __future__ import annotations

import os
from typing import Final
from urllib.parse import parse_qs, urlsplit

from psych_runtime.egress import HttpTransport
from psych_runtime.errors import InvalidInput
from psych_runtime.scope import Scope

from psych_runtime_openai.client import OpenAICompatibleClient

_DEFAULT: Final = "https://api.openai.com/v1"
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_OPTIONS: Final = frozenset({"tls", "key_env"})


def client_from_url(url: str) -> OpenAICompatibleClient:
    """Build a client for ``openai://HOST[:PORT]/PATH``, which stands for
    ``https://HOST[:PORT]/PATH``; loopback hosts are asked without TLS.

    ``openai://`` alone means the OpenAI API itself. Options: ``tls=on`` or ``tls=off`` chooses
    explicitly; ``key_env=NAME`` names the environment variable that holds the API key (default
    ``OPENAI_API_KEY``). The client gets a transport of its own and the tenant ``local``.

    Raises:
        InvalidInput: An unknown option, or a password in the URL.
    """
    parts = urlsplit(url)
    options = parse_qs(parts.query, keep_blank_values=True)
    if unknown := sorted(set(options) - _OPTIONS):
        raise InvalidInput(
            f"unknown option {unknown[0]!r} in the model URL; known are key_env and tls"
        )
    if parts.username or parts.password:
        raise InvalidInput(
            "a model URL holds no password; put the API key into the environment variable "
            "OPENAI_API_KEY, or name another one with ?key_env=NAME"
        )
    tls = options.get("tls", ["off" if parts.hostname in _LOOPBACK else "on"])[-1]
    if tls not in ("on", "off"):
        raise InvalidInput(f"tls={tls!r} in the model URL: use tls=on or tls=off")
    scheme = "https" if tls == "on" else "http"
    base_url = f"{scheme}://{parts.netloc}{parts.path}" if parts.netloc else _DEFAULT
    return OpenAICompatibleClient(
        base_url=base_url,
        transport=HttpTransport(),
        scope=Scope(tenant="local"),
        api_key=os.environ.get(options.get("key_env", ["OPENAI_API_KEY"])[-1]),
    )
