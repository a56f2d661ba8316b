import pytest
from psych_runtime.plugins.redaction import redact_url, scheme_of, scrub

NASTY = [
    "postgresql://bob:hunter2@db:5432/app",
    "postgresql://bob:hunter2/x@db/app",
    "postgresql://bob:hunter2@x@db/app",
    "postgresql://bob:hunter2?y#z@db/app",
    "postgresql://db/app?password=hunter2&sslmode=require",
    "postgresql://[bob:hunter2@db/app",
]


@pytest.mark.parametrize("url", NASTY)
def test_nothing_but_the_scheme_is_shown(url: str) -> None:
    assert redact_url(url) == "postgresql://…"


@pytest.mark.parametrize("url", NASTY)
def test_scrub_removes_the_secret_and_the_url(url: str) -> None:
    secret = "hunter2"
    text = f"cannot open {url}: login of bob failed"
    assert secret not in scrub(text, url)
    assert "login of bob failed" in scrub(text, url)


def test_scrub_removes_a_password_that_stands_alone_quoted_or_not() -> None:
    url = "postgresql://bob:hun%40ter@db/app"
    assert scrub("hun@ter or hun%40ter", url) == "*** or ***"


@pytest.mark.parametrize(
    ("url", "scheme"), [("A+b://x", "a+b"), ("memory:", "memory"), ("/x:y", None), ("", None)]
)
def test_scheme(url: str, scheme: str | None) -> None:
    assert scheme_of(url) == scheme
