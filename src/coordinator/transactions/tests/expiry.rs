//! What takes too long, and what is not used any more.

use super::*;
use crate::observe::AbortCause;

fn open(level: i16) -> (Stepper, ProducerIdAndEpoch) {
    let mut it = Stepper::new(level);
    let me = it.init("t", None).expect("new");
    it.advance_ms(5_000);
    it.add("t", me, &[at("a", 0)], V1).expect("idle");
    (it, me)
}

#[test]
fn a_transaction_is_aborted_at_its_time_and_its_producer_fenced() {
    for level in [0, 1, 2] {
        let (mut it, me) = open(level);
        it.advance_ms(59_999);
        it.add("t", me, &[at("a", 1)], V1).expect("open");
        assert_eq!(it.get("t").state, S::Ongoing);
        it.advance_ms(1);
        assert_eq!(it.get("t").state, S::PrepareAbort, "from the first partition on");
        assert_eq!(it.get("t").producer, producer(1000, 1));
        assert_eq!(it.errands[0].producer, producer(1000, 1));
        it.write_markers();
        assert_eq!(it.end("t", me, Commit, V1), Err(E::ProducerFenced));
        assert_eq!(it.metrics.transactions_aborted.of(AbortCause::Timeout).get(), 1);
    }
}

/// In version 2 of the cluster the time-out is to the producer what its own abort would have been (Kafka).
#[test]
fn a_producer_of_version_2_hears_of_the_abort() {
    let (mut it, me) = open(2);
    it.advance_ms(60_000);
    it.write_markers();
    assert_eq!(it.end("t", me, Commit, V2), Err(E::InvalidState));
    assert_eq!(it.end("t", me, Abort, V2), Ok(producer(1000, 1)));
    assert_eq!(it.init("t", Some(me)), Ok(producer(1000, 1)));
}

#[test]
fn a_transaction_that_ended_in_time_is_left_alone() {
    let (mut it, me) = open(2);
    it.advance_ms(59_999);
    it.end("t", me, Commit, V1).expect("open");
    it.advance_ms(1_000_000);
    assert_eq!(it.get("t").state, S::PrepareCommit);
    it.write_markers();
    it.add("t", me, &[at("a", 0)], V1).expect("complete");
    it.advance_ms(59_999);
    assert_eq!(it.get("t").state, S::Ongoing, "the next one has its own time");
    it.advance_ms(1);
    assert_eq!(it.get("t").state, S::PrepareAbort);
}

#[test]
fn the_time_goes_on_across_a_restart() {
    let (mut it, _) = open(2);
    it.advance_ms(40_000);
    it.restart();
    it.advance_ms(19_999);
    assert_eq!(it.get("t").state, S::Ongoing);
    it.advance_ms(1);
    assert_eq!(it.get("t").state, S::PrepareAbort);
}

#[test]
fn what_is_too_old_at_the_start_is_aborted_then() {
    let (mut it, _) = open(2);
    it.now.wall = Timestamp::new(it.now.wall.get() + 600_000);
    it.restart();
    it.advance_ms(0);
    assert_eq!(it.get("t").state, S::PrepareAbort);
}

#[test]
fn a_clock_that_was_set_back_gives_more_time_and_no_less() {
    let (mut it, _) = open(2);
    it.now.wall = Timestamp::new(it.now.wall.get() - 30_000);
    it.advance_ms(60_000);
    assert_eq!(it.get("t").state, S::Ongoing);
    it.advance_ms(30_000);
    assert_eq!(it.get("t").state, S::PrepareAbort);
}

/// A Kafka with two-phase commit (KIP-939) has left it so.
#[test]
fn a_transaction_without_a_time_limit_stays_open() {
    let mut it = Stepper::new(2);
    it.put("t", Transaction { timeout_ms: i32::MAX, ..known(S::Ongoing, V2) });
    it.advance_ms(10_000_000_000);
    assert_eq!(it.get("t").state, S::Ongoing);
}

#[test]
fn a_transactional_id_that_is_not_used_is_forgotten() {
    for state in [S::Empty, S::CompleteCommit, S::CompleteAbort] {
        let mut it = Stepper::new(2);
        it.put("t", known(state, V1));
        it.advance_ms(604_799_999);
        assert!(it.hard.get("t").is_some());
        it.advance_ms(3_600_000);
        assert!(it.hard.get("t").is_none(), "{state:?}");
        let tombstone = it.log.last().expect("written");
        assert_eq!((&tombstone.key[..], &tombstone.value), (&b"\0\0\0\x01t"[..], &None));
        it.restart();
        assert!(it.hard.get("t").is_none());
        assert_eq!(it.metrics.transactional_ids_expired.get(), 1);
        assert_eq!(it.init("t", Some(producer(1000, 5))), Ok(producer(1000, 0)), "it begins anew");
    }
}

#[test]
fn what_is_open_or_being_ended_does_not_expire() {
    for state in [S::Ongoing, S::PrepareCommit, S::PrepareAbort] {
        let mut it = Stepper::new(2);
        it.put("t", Transaction { timeout_ms: i32::MAX, ..known(state, V1) });
        it.advance_ms(2 * 604_800_000);
        assert_eq!(it.get("t").state, state);
    }
}

#[test]
fn many_transactional_ids_are_forgotten_in_parts() {
    let mut it = Stepper::new(2);
    for n in 0..2_500 {
        it.init(&format!("t{n}"), None).expect("new");
    }
    let before = it.log.len();
    it.advance_ms(604_800_000);
    let mut largest = 0;
    let mut written = it.log.len();
    // Each round before this one took some milliseconds.
    for _ in 0..1_000 {
        it.advance_ms(1);
        largest = largest.max(it.log.len() - written);
        written = it.log.len();
    }
    assert_eq!(it.hard.iter().count(), 0);
    assert_eq!(it.log.len() - before, 2_500);
    assert!(largest <= 1_000, "{largest}");
}
