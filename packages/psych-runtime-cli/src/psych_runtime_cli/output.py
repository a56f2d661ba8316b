"""What the commands print. Lines are never wrapped, so that they can be piped and compared."""

from __future__ import annotations

import click
from rich.console import Console
from rich.text import Text

_MARKS = {"✓": "green", "·": "dim", "✗": "red"}


def heading(text: str) -> None:
    """Print a blank line and a section heading."""
    line("")
    line(text, style="bold")


def line(text: str, style: str = "") -> None:
    """Print one line on standard output."""
    console = Console(highlight=False)
    if console.encoding.lower().replace("-", "") != "utf8":
        text = text.encode(console.encoding, "replace").decode(console.encoding)
    console.print(Text(text, style=style), soft_wrap=True)


def mark(symbol: str, text: str) -> None:
    """Print an indented line that starts with ✓ (good), · (absent) or ✗ (wrong)."""
    line(f"  {symbol} {text}", style=_MARKS[symbol] if symbol == "✗" else "")


def plural(count: int, noun: str) -> str:
    """Return ``1 file`` or ``2 files``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


class Failure(click.ClickException):
    """A command failed: ``psych: MESSAGE`` on standard error, exit code 1."""
