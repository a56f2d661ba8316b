"""``psych doctor``: what is installed, what is configured, and whether a store can be trusted."""

from __future__ import annotations

import asyncio
import os
import platform
import sys
from importlib import metadata
from pathlib import Path

import click
from psych_runtime.errors import PsychError
from psych_runtime.plugins.descriptors import DoctorCheck
from psych_runtime.plugins.redaction import redact_url, scheme_of, scrub
from psych_runtime.plugins.registry import default_registry

from psych_runtime_cli import adapters
from psych_runtime_cli.output import Failure, heading, line, mark, plural
from psych_runtime_cli.skills import guides, skills_folder

_VARIABLES = {
    "OPENAI_API_KEY": "a real model provider",
    "PSYCH_BASE_URL": "a non-default OpenAI-compatible endpoint",
    "PSYCH_MODEL": "which model a scaffolded project names",
}


@click.command()
@click.option("--store", "url", metavar="URL", help="Open this store and check it.")
@click.option("--run", "run_id", metavar="RUN_ID", help="Check the log of this Run of the store.")
@click.pass_context
def doctor(context: click.Context, url: str | None, run_id: str | None) -> None:
    """Report on this installation. Without --store nothing is opened.

    Exits with 1 when something is wrong.
    """
    if run_id is not None and url is None:
        raise Failure("--run needs --store URL: a Run is looked up in its store")
    healthy = _report_installation() if url is None else _report_store(url, run_id)
    if not healthy:
        context.exit(1)


def _report_installation() -> bool:
    version = metadata.version("psych-runtime-core")
    line(f"psych {version} on Python {platform.python_version()} ({sys.executable})")
    healthy = adapters.report()
    heading("Environment")
    for name, meaning in _VARIABLES.items():
        known = bool(os.environ.get(name))
        mark("✓" if known else "·", f"{name:<16} {'set' if known else 'unset':<6} {meaning}")
    healthy = _report_skills() and healthy
    for check in default_registry().doctor_checks():
        if not check.schemes:
            healthy = _run_check(check, None) and healthy
    line("")
    line("Nothing here opened a socket or a database connection.")
    line("Next: `psych new demo` writes a project; `psych doctor --store URL` checks a store.")
    return healthy


def _report_skills() -> bool:
    heading("Agent skills")
    try:
        folder = skills_folder()
    except Failure as failure:
        mark("✗", failure.format_message())
        return False
    mark("✓", f"{plural(len(guides(folder)), 'skill')} available in {folder}")
    here = len(guides(Path(".agents/skills")))
    if here:
        mark("✓", f"{plural(here, 'skill')} installed in this project")
    else:
        mark("·", "none installed in this project: psych skills install")
    return True


def _report_store(url: str, run_id: str | None) -> bool:
    from psych_runtime_cli import runs

    line(f"Store {redact_url(url)}", style="bold")
    registry = default_registry()
    checks = [one for one in registry.doctor_checks() if scheme_of(url) in one.schemes]
    # Before the store is opened: opening may create the file that a check looks for.
    results = [_run_check(check, url) for check in checks]
    if not all(results):
        return False
    try:
        problems = asyncio.run(runs.examine(url, run_id))
    except PsychError as error:
        raise Failure(scrub(str(error), url)) from error
    except Exception as error:
        text = scrub(f"{type(error).__name__}: {error}", url)
        raise Failure(f"the store {redact_url(url)} cannot be used: {text}") from error
    return not problems


def _run_check(check: DoctorCheck, url: str | None) -> bool:
    heading(check.summary)
    healthy = True
    try:
        for finding in check.run(url):
            text = f"{finding.text}: {finding.advice}" if finding.advice else finding.text
            mark("✓" if finding.ok else "✗", scrub(text, url) if url else text)
            healthy = healthy and finding.ok
    except Exception as error:
        text = f"the check {check.name!r} failed: {type(error).__name__}: {error}"
        mark("✗", scrub(text, url) if url else text)
        return False
    return healthy
