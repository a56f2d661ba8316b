"""URLs carry passwords; messages must not."""

from __future__ import annotations

import re
from urllib.parse import unquote, urlsplit

_SCHEME = re.compile(r"\s*([A-Za-z][A-Za-z0-9+.-]*):")


def scheme_of(url: str) -> str | None:
    """Return a URL's scheme in lower case, or None when it has none."""
    match = _SCHEME.match(url)
    return match.group(1).lower() if match else None


def redact_url(url: str) -> str:
    """Return what may be shown of a URL: only its scheme.

    A badly quoted password can spill into any later part, so no later part is shown.
    """
    scheme = scheme_of(url)
    return f"{scheme}://…" if scheme else "…"


def scrub(text: str, url: str) -> str:
    """Return ``text`` without the URL and without its password and query values."""
    text = text.replace(url, redact_url(url))
    secrets: set[str] = set()
    try:
        parts = urlsplit(url)
        secrets.add(parts.password or "")
        secrets.update(pair.partition("=")[2] for pair in parts.query.split("&"))
    except ValueError:
        pass
    # A password with a raw '/' or '@' is not where urlsplit looks for it.
    userinfo = url.partition("://")[2].rpartition("@")[0]
    secrets.add(userinfo.partition(":")[2])
    for secret in sorted({s for raw in secrets for s in (raw, unquote(raw)) if s}, key=len)[::-1]:
        text = text.replace(secret, "***")
    return text
