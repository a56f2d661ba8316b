"""Schema versions of stored Records: older bodies are brought up to date while reading."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Upcaster = Callable[[dict[str, Any]], dict[str, Any]]
"""Turns the fields of one schema version into those of the next."""


class UnknownSchemaVersion(ValueError):
    """A body has a schema version for which there is no way to the current one."""


class Upcasters:
    """The steps from each older schema version of a type to the next.

    Example:
        >>> upcasters = Upcasters()
        >>> upcasters.register("greeting", 1, lambda fields: {"text": fields["message"]})
        >>> upcasters.bring_up("greeting", {"message": "hi"}, found=1, current=2)
        {'text': 'hi'}
    """

    def __init__(self) -> None:
        self._steps: dict[tuple[str, int], Upcaster] = {}

    def register(self, record_type: str, from_version: int, upcaster: Upcaster) -> None:
        """Add the step from ``from_version`` to the next.

        Raises:
            ValueError: There is one already.
        """
        key = (record_type, from_version)
        if key in self._steps:
            raise ValueError(f"there is an upcaster for {record_type} version {from_version}")
        self._steps[key] = upcaster

    def bring_up(
        self, record_type: str, fields: dict[str, Any], *, found: int, current: int
    ) -> dict[str, Any]:
        """Apply every step from version ``found`` to version ``current``.

        Raises:
            UnknownSchemaVersion: ``found`` is newer than ``current``, or a step is missing.
        """
        if found > current:
            raise UnknownSchemaVersion(
                f"{record_type} has schema version {found}, this release reads up to {current}: "
                "upgrade to the release that wrote it"
            )
        for version in range(found, current):
            step = self._steps.get((record_type, version))
            if step is None:
                raise UnknownSchemaVersion(
                    f"{record_type} has schema version {found}, the current one is {current}, "
                    f"and nothing turns version {version} into {version + 1}"
                )
            fields = step(fields)
        return fields


UPCASTERS = Upcasters()
"""The ones that `decode` applies."""
