"""Wrong stores, and what runs a contract test against one."""

from psych_runtime_testkit.mutants.store.catalogue import MUTANTS, Mutant
from psych_runtime_testkit.mutants.store.trial import survives

__all__ = ["MUTANTS", "Mutant", "survives"]
