import inspect

import pytest
from psych_runtime.store.memory import InMemoryStore
from psych_runtime_testkit.clock import ManualClock
from psych_runtime_testkit.contract import contract_tests
from psych_runtime_testkit.mutants.store import MUTANTS, reads, survives, writes
from psych_runtime_testkit.mutants.store.writes import Mutated
from psych_runtime_testkit.store import StoreContract, lab


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    # A mutant that never does what is waited for is killed by the wait's end.
    monkeypatch.setattr(lab, "_PATIENCE", 0.5)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.store.__name__)
async def test_mutant_is_killed_by_the_test_it_names(mutant):
    clock = ManualClock()
    assert not await survives(mutant.store(clock), clock, mutant.killed_by)


@pytest.mark.parametrize("test", sorted({mutant.killed_by for mutant in MUTANTS}))
async def test_reference_store_survives_what_kills_the_mutants(test):
    clock = ManualClock()
    assert await survives(InMemoryStore(clock=clock), clock, test)


def test_every_wrong_store_is_in_the_catalogue():
    written = {
        value
        for module in (reads, writes)
        for value in vars(module).values()
        if inspect.isclass(value) and issubclass(value, Mutated) and value is not Mutated
    }
    assert written == {mutant.store for mutant in MUTANTS}


def test_named_tests_exist():
    assert {mutant.killed_by for mutant in MUTANTS} <= contract_tests(StoreContract).keys()
