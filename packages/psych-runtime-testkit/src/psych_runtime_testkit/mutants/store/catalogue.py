"""Every wrong store, with the contract test that must notice."""

from __future__ import annotations

from dataclasses import dataclass

from psych_runtime_testkit.mutants.store import reads, writes
from psych_runtime_testkit.mutants.store.writes import Mutated


@dataclass(frozen=True, slots=True)
class Mutant:
    """A wrong store.

    Attributes:
        store: Its class.
        killed_by: The contract test that must fail on it.
    """

    store: type[Mutated]
    killed_by: str


MUTANTS: tuple[Mutant, ...] = (
    Mutant(writes.NoEpochFence, "test_straggler_of_an_older_epoch_gets_nothing_in"),
    Mutant(writes.NoSessionFence, "test_another_session_with_the_right_epoch_is_refused"),
    Mutant(writes.NoBatchCheck, "test_missing_batch_means_the_store_regressed"),
    Mutant(writes.ResendAppends, "test_identical_resend_returns_the_first_base"),
    Mutant(writes.IgnoresStrictHead, "test_strict_head_that_moved_is_a_conflict"),
    Mutant(writes.ForgetsParking, "test_parked_run_is_claimable_only_after_its_time"),
    Mutant(writes.ForgetsOutbox, "test_duty_recorded_with_the_settlement"),
    Mutant(writes.IgnoresExternalKey, "test_same_key_writes_once"),
    Mutant(writes.IgnoresGuards, "test_guard_wait_open"),
    Mutant(writes.RefusalBurnsKey, "test_refused_append_does_not_burn_its_key"),
    Mutant(writes.NeverWakes, "test_wake_makes_a_suspended_run_runnable"),
    Mutant(writes.GlobalIdempotency, "test_idempotency_keys_are_per_tenant"),
    Mutant(writes.NoIdempotency, "test_same_idempotency_key_returns_the_first_run_c9"),
    Mutant(writes.IgnoresConcurrencyKey, "test_concurrency_key_lets_one_run_go_at_a_time"),
    Mutant(writes.IgnoresPriority, "test_higher_priority_first"),
    Mutant(reads.GapInSeq, "test_append_takes_the_numbers_after_the_head"),
    Mutant(reads.DropsAtPageEnd, "test_read_pages_neither_drop_nor_repeat"),
    Mutant(reads.EndsAtNul, "test_bodies_are_returned_byte_for_byte_c124"),
    Mutant(reads.ReEncodes, "test_bodies_are_returned_byte_for_byte_c124"),
    Mutant(reads.FoldsCase, "test_ids_differ_by_case_accent_form_and_space_c122"),
    Mutant(reads.DeadlineStandsStill, "test_wake_moves_the_deadline_by_the_time_waited"),
    Mutant(reads.AbortDoesNotWake, "test_abort_wakes_a_suspended_run"),
    Mutant(reads.ClaimsTwice, "test_claimed_run_is_not_claimed_again"),
    Mutant(reads.ReleaseCountsAsCrash, "test_clean_release_counts_no_crash"),
    Mutant(reads.NeverReclaims, "test_expired_session_loses_its_runs_and_counts_a_crash"),
    Mutant(reads.SessionComesBack, "test_reclaimed_session_is_closed_for_good"),
    Mutant(reads.EndForgetsRuns, "test_end_session_hands_its_runs_back_at_once"),
    Mutant(reads.DueForgets, "test_what_is_due_stays_due_until_handled"),
    Mutant(reads.DueStarves, "test_due_keeps_its_limit_and_starves_nobody"),
    Mutant(reads.PagingRepeats, "test_paging_neither_repeats_nor_skips"),
    Mutant(reads.ListsEverybody, "test_only_the_tenants_own"),
    Mutant(reads.PurgesUnsettled, "test_purge_spares_what_is_not_settled"),
    Mutant(reads.PurgeForgetsKeys, "test_tombstone_keeps_the_idempotency_key"),
    Mutant(reads.Silent, "test_claimable_runs_are_hinted"),
)
"""Each is the reference store made wrong in one way."""
