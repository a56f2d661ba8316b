"""Laws of the fold, over random legal logs."""

from __future__ import annotations

import copy
import random
from dataclasses import fields
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from psych_runtime.ids import RunId
from psych_runtime.log import records as r
from psych_runtime.log.codec import decode_log, encode
from psych_runtime.log.corruption import CorruptLog
from psych_runtime.log.fold import check, fold, fold_unsequenced, initial_state, reduce
from psych_runtime.log.fold.state import RunStateView
from psych_runtime.ports.store import StoredRecord
from psych_runtime.testing.legal_logs import LegalLog
from psych_runtime.testing.logs import EPOCH, comparable

RANDOMS = st.integers(0, 2**32).map(random.Random)
LENGTHS = st.integers(0, 60)
LAWS = settings(max_examples=150, deadline=None)


def everything(state: RunStateView) -> dict[str, object]:
    """Every field, deeply copied, with the positions that ``==`` of the parts leaves out."""
    seqs = {
        name: {key: _seqs(value) for key, value in getattr(state, name).items()}
        for name in ("pending_queue", "signals", "steps", "children", "step_resumes")
    }
    return copy.deepcopy(
        {"seqs": seqs, **{item.name: getattr(state, item.name) for item in fields(state)}}
    )


def _seqs(value: object) -> object:
    if isinstance(value, tuple):
        return tuple(_seqs(item) for item in value)
    names = [item.name for item in fields(value) if item.name.endswith("seq")]  # type: ignore[arg-type]
    return {name: getattr(value, name) for name in names}


@LAWS
@given(RANDOMS, LENGTHS, st.data())
def test_any_split_gives_the_same_state_and_leaves_the_prior_alone(
    rng: random.Random, length: int, data: st.DataObject
) -> None:
    log = LegalLog(rng, length=length)
    whole = reduce(log.records)
    assert everything(whole) == everything(log.state)
    cut = data.draw(st.integers(1, len(log.records)))
    prior = reduce(log.records[:cut])
    before = everything(prior)
    assert everything(reduce(log.records[cut:], prior=prior)) == everything(whole)
    assert everything(prior) == before


@LAWS
@given(RANDOMS, LENGTHS)
def test_every_prefix_folds_and_a_next_attempt_can_follow(rng: random.Random, length: int) -> None:
    log = LegalLog(rng, length=length)
    state = initial_state(log.state.run_id, log.state.scope)
    for position, record in enumerate(log.records, start=1):
        fold(state, record)
        assert state.head_seq == position
        number = state.attempt_count + 1
        check(
            state,
            log.build(r.AttemptStarted, {"worker_id": "wrk_2", "attempt_number": number}),
        )


@LAWS
@given(RANDOMS, LENGTHS)
def test_a_stored_log_folds_to_the_same_state(rng: random.Random, length: int) -> None:
    log = LegalLog(rng, length=length)
    stored = [StoredRecord(record.seq, encode(record)) for record in log.records]
    decoded = decode_log(log.state.run_id, stored)
    assert decoded == log.records
    assert everything(reduce(decoded)) == everything(log.state)


@settings(max_examples=400, deadline=None)
@given(RANDOMS, st.integers(0, 40), st.integers(1, 12), st.integers(-30, 30))
def test_an_external_record_commutes_with_a_batch_of_facts(
    rng: random.Random, length: int, batch: int, skew: int
) -> None:
    log = LegalLog(rng, length=length)
    start = log.state.copy()
    at = EPOCH + timedelta(seconds=log.state.head_seq + skew)
    kind, given_fields = rng.choice(log.moves("externals"))
    external = log.build(kind, given_fields, at=at)
    facts = [log.move("facts") for _ in range(batch)]

    first = start.copy()
    for record in (external, *facts):
        fold_unsequenced(first, record)
    last = start.copy()
    for record in (*facts, external):
        fold_unsequenced(last, record)

    assert comparable(first) == comparable(last)


@LAWS
@given(RANDOMS, LENGTHS, RANDOMS, LENGTHS)
def test_a_refused_record_changes_nothing(
    rng: random.Random, length: int, other_rng: random.Random, other_length: int
) -> None:
    """Throw the records of one random log at the state of another: most do not fit."""
    state = LegalLog(rng, length=length).state
    for record in LegalLog(other_rng, length=other_length).records:
        before = everything(state)
        try:
            fold_unsequenced(state, record)
        except CorruptLog:
            assert everything(state) == before
            with pytest.raises(CorruptLog):
                check(state, record)
        else:
            return


@LAWS
@given(RANDOMS, LENGTHS)
def test_nothing_follows_the_settlement(rng: random.Random, length: int) -> None:
    log = LegalLog(rng, length=length)
    moves = log.moves()
    log.settle()
    before = everything(log.state)
    for kind, given_fields in moves:
        with pytest.raises(CorruptLog, match="record_after_finish"):
            fold(log.state, log.build(kind, given_fields))
    assert everything(log.state) == before


def test_the_random_logs_reach_every_record_type() -> None:
    """Else the laws above would say less than they seem to."""
    seen: set[str] = {"task_list_updated", "component_shown", "run_settled"}
    for seed in range(60):
        seen |= {record.type for record in LegalLog(random.Random(seed), length=80).records}
    assert seen == set(r.RECORD_CLASSES)


def test_an_empty_fold_is_refused() -> None:
    with pytest.raises(ValueError, match="nothing to fold"):
        reduce([])


def test_reduce_refuses_the_log_of_another_run() -> None:
    log = LegalLog(random.Random(1))
    with pytest.raises(CorruptLog, match="unknown_operation"):
        reduce(log.records, run_id=RunId("run_other"))
    with pytest.raises(ValueError, match="run_other"):
        reduce([], run_id=RunId("run_other"), prior=log.state)
