"""What the documented import paths of adapters share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from psych_runtime.errors import PluginNotInstalledError
from psych_runtime.plugins.first_party import by_plugin


@contextmanager
def provided_by(plugin: str) -> Iterator[None]:
    """Explain a failed import of one of our adapters, if the reason is that it is not installed.

    A driver that is missing inside an installed adapter, or any other failure, surfaces as itself.

    Args:
        plugin: Entry-point name of one of our plugins, such as ``postgres``.

    Raises:
        PluginNotInstalledError: The package is not installed; the message has the install line.

    Example:
        ```python
        with provided_by("postgres"):
            from psych_runtime_postgres.store import PostgresStore
        ```
    """
    owner = by_plugin(plugin)
    if owner is None:
        raise ValueError(f"{plugin!r} is none of our plugins")
    package = owner.distribution.replace("-", "_")
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        raise PluginNotInstalledError(
            f"{owner.distribution} is not installed: {owner.install_line}", name=package
        ) from error
