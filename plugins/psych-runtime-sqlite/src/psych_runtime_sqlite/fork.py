"""Keeping SQLite connections out of forked children.

SQLite's locks and its own bookkeeping of them do not survive a fork: a child that touches an
inherited connection, or opens the same file while one is inherited, can corrupt it. So every
connection is closed just before a fork and opened again, in parent and child, when it is next used.
"""

from __future__ import annotations

import os
import threading
from typing import Protocol
from weakref import WeakSet


class Pausable(Protocol):
    """Something that keeps a connection open between uses."""

    def pause(self) -> None:
        """Wait for the use in progress, close the connection, and start no other use."""

    def resume(self) -> None:
        """Allow uses again."""


_registry = threading.Lock()
_known: WeakSet[Pausable] = WeakSet()
_paused: list[Pausable] = []


def register(pausable: Pausable) -> None:
    """Have ``pausable`` paused during every fork from now on."""
    with _registry:
        _known.add(pausable)


def _before() -> None:
    _registry.acquire()
    _paused.extend(sorted(_known, key=id))
    for pausable in _paused:
        pausable.pause()


def _after_in_parent() -> None:
    for pausable in _paused:
        pausable.resume()
    _paused.clear()
    _registry.release()


def _after_in_child() -> None:
    _paused.clear()
    _known.clear()
    _registry.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child
    )
