"""The command group."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import metadata
from typing import Any

import click
from psych_runtime.errors import PsychError

from psych_runtime_cli.doctor import doctor
from psych_runtime_cli.new import new
from psych_runtime_cli.plugins import plugins
from psych_runtime_cli.skills import skills
from psych_runtime_cli.spec import spec


class _Group(click.Group):
    """Reports every error as ``psych: …`` on standard error, with exit code 1."""

    def main(self, args: Sequence[str] | None = None, *_: Any, **options: Any) -> Any:
        options.update(standalone_mode=False, prog_name="psych")
        try:
            sys.exit(super().main(args, **options) or 0)
        except click.ClickException as error:
            message = error.format_message()
        except click.Abort:
            message = "stopped"
        except (PsychError, OSError) as error:
            message = str(error)
        click.echo(f"psych: {message}", err=True)
        sys.exit(1)


@click.group(cls=_Group, invoke_without_command=True)
@click.version_option(
    metadata.version("psych-runtime-core"), prog_name="psych", message="%(prog)s %(version)s"
)
@click.pass_context
def main(context: click.Context) -> None:
    """Scaffold a Psych Runtime project and report on an installation."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


for _command in (new, doctor, plugins, skills, spec):
    main.add_command(_command)
