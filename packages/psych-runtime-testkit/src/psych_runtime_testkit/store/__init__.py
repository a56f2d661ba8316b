"""The contract of the Store port."""

from psych_runtime_testkit.store.contract import StoreContract
from psych_runtime_testkit.store.lab import StoreLab

__all__ = ["StoreContract", "StoreLab"]
