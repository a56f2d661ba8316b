"""What every contract suite is made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar


class Contract:
    """Base of the contract suites. Subclass a suite, name the class ``Test…``, add its fixture.

    A subclass may not redefine a contract test: the pytest plugin refuses it.

    Attributes:
        known_failures: Contract tests that the adapter is known to fail, each with the reason.
            They run as strict expected failures and are listed at the end of the run.
    """

    known_failures: ClassVar[Mapping[str, str]] = {}


def contract_tests(cls: type) -> dict[str, type]:
    """The names of the contract tests of ``cls``, each with the class that defines it."""
    found: dict[str, type] = {}
    for base in reversed(cls.__mro__):
        if issubclass(base, Contract) and base.__module__.startswith("psych_runtime_testkit."):
            found.update({name: base for name in vars(base) if name.startswith("test_")})
    return found
