//! Markers, and what a restart makes of transactions that were being ended.

use super::*;

fn open(version: TransactionVersion) -> (Stepper, ProducerIdAndEpoch) {
    let mut it = Stepper::new(2);
    let me = it.init("t", None).expect("new");
    it.add("t", me, &[at("a", 0), at("a", 1), at("b", 0)], version).expect("idle");
    (it, me)
}

#[test]
fn a_transaction_has_ended_when_its_last_marker_is_written() {
    let (mut it, me) = open(V1);
    it.end("t", me, Commit, V1).expect("open");
    let errand = it.errands.remove(0);
    it.report(&errand, vec![at("a", 1)]);
    it.report(&errand, vec![at("a", 1), at("zzz", 0)]);
    assert_eq!(it.get("t").state, S::PrepareCommit);
    it.report(&errand, vec![at("b", 0), at("a", 0)]);
    assert_eq!(it.get("t").state, S::CompleteCommit);
    let records = it.log.len();
    it.report(&errand, errand.partitions.clone());
    assert_eq!(it.log.len(), records, "a report that comes twice changes nothing");
}

#[test]
fn a_report_about_an_earlier_transaction_does_not_end_the_next_one() {
    let (mut it, me) = open(V1);
    it.end("t", me, Commit, V1).expect("open");
    let late = it.errands[0].clone();
    it.write_markers();
    it.add("t", me, &[at("a", 0)], V1).expect("complete");
    it.end("t", me, Commit, V1).expect("open");
    it.report(&late, late.partitions.clone());
    assert_eq!(it.get("t").state, S::PrepareCommit);
    it.write_markers();
    assert_eq!(it.get("t").state, S::CompleteCommit);
}

#[test]
fn what_is_prepared_is_sent_out_again_after_a_restart_with_the_same_outcome() {
    for (outcome, state) in [(Commit, S::CompleteCommit), (Abort, S::CompleteAbort)] {
        for version in [V1, V2] {
            let (mut it, me) = open(version);
            it.end("t", me, outcome, version).expect("open");
            let before = it.errands[0].clone();
            it.restart();
            let [again] = &it.errands[..] else { panic!("{:?}", it.errands) };
            assert_ne!(again.errand, before.errand);
            assert_eq!(
                WriteMarkers { errand: before.errand, ..again.clone() }.producer,
                before.producer
            );
            assert_eq!((again.outcome, again.version), (outcome, version));
            assert_eq!(again.partitions, before.partitions, "whatever was reported before");
            it.report(&before, before.partitions.clone());
            assert!(it.get("t").state.is_ending(), "the first errand may still be under way");
            it.write_markers();
            assert_eq!(it.get("t").state, state);
        }
    }
}

#[test]
fn a_restart_in_any_other_state_sends_nothing_out() {
    for state in [S::Empty, S::Ongoing, S::CompleteCommit, S::CompleteAbort] {
        let mut it = Stepper::new(2);
        it.put("t", known(state, V1));
        assert!(it.errands.is_empty(), "{state:?}");
        assert_eq!(it.log.len(), 1, "{state:?}");
    }
}

#[test]
fn what_was_prepared_without_partitions_ends_when_it_is_read() {
    let mut it = Stepper::new(2);
    it.put("t", Transaction { partitions: Arc::new([]), ..known(S::PrepareAbort, V2) });
    assert_eq!(it.get("t").state, S::CompleteAbort);
    assert!(it.errands.is_empty());
}

/// The producer cannot know whether anything was begun.
#[test]
fn an_abort_of_nothing_in_version_2_raises_the_epoch_at_once() {
    let mut it = Stepper::new(2);
    let me = it.init("t", None).expect("new");
    let next = producer(1000, 1);
    assert_eq!(it.end("t", me, Abort, V2), Ok(next));
    assert_eq!((it.get("t").state, it.get("t").producer), (S::CompleteAbort, next));
    assert!(it.errands.is_empty());
    assert_ne!(it.get("t").start, Timestamp::NONE, "Kafka wants one");
    assert_eq!(it.end("t", me, Abort, V2), Ok(next), "the answer may have been lost");
    assert_eq!(it.end("t", next, Abort, V2), Ok(producer(1000, 2)));
}

#[test]
fn a_transaction_may_change_its_version_before_it_ends() {
    let (mut it, me) = open(V2);
    assert_eq!(it.end("t", me, Commit, V1), Ok(me));
    assert_eq!((it.errands[0].version, it.errands[0].producer), (V1, me));
    let (mut it, me) = open(V1);
    assert_eq!(it.end("t", me, Commit, V2), Ok(producer(1000, 1)));
    assert_eq!((it.errands[0].version, it.errands[0].producer), (V2, producer(1000, 1)));
}

#[test]
fn times_are_written_as_kafka_writes_them() {
    let mut it = Stepper::new(2);
    let began = it.now.wall;
    let after = |ms| Timestamp::new(began.get() + ms);
    let me = it.init("t", None).expect("new");
    assert_eq!((it.get("t").start, it.get("t").last_update), (Timestamp::NONE, began));
    it.advance_ms(10);
    it.add("t", me, &[at("a", 0)], V1).expect("idle");
    it.advance_ms(10);
    it.add("t", me, &[at("a", 1)], V1).expect("open");
    assert_eq!((it.get("t").start, it.get("t").last_update), (after(10), after(20)));
    it.advance_ms(10);
    it.end("t", me, Commit, V1).expect("open");
    it.advance_ms(10);
    it.write_markers();
    assert_eq!((it.get("t").start, it.get("t").last_update), (after(10), after(40)));
    it.init("t", None).expect("idle");
    assert_eq!(it.get("t").start, Timestamp::NONE);
}

#[test]
fn a_transaction_with_more_partitions_than_a_record_holds_is_refused() {
    let mut it = Stepper::new(2);
    let me = it.init("t", None).expect("new");
    let many: Vec<_> = (0..249_000).map(|partition| at("a", partition)).collect();
    assert_eq!(it.add("t", me, &many, V2), Ok(()));
    let more: Vec<_> = (249_000..251_000).map(|partition| at("a", partition)).collect();
    assert_eq!(it.add("t", me, &more, V2), Err(E::InvalidRequest));
    assert!(
        it.log
            .last()
            .and_then(|record| record.value.as_ref())
            .is_some_and(|value| value.len() < 1_048_588 - 200)
    );
}

#[test]
fn what_a_shard_takes_of_memory_goes_down_again() {
    let mut it = Stepper::new(2);
    assert_eq!(it.machine.state_bytes(&it.hard), 0);
    let me = it.init("t", None).expect("new");
    let idle = it.machine.state_bytes(&it.hard);
    assert!(idle > 0);
    for _ in 0..3 {
        it.add("t", me, &[at("a", 0), at("a", 1)], V1).expect("idle");
        assert!(it.machine.state_bytes(&it.hard) > idle);
        it.end("t", me, Commit, V1).expect("open");
        it.write_markers();
        assert_eq!(it.machine.state_bytes(&it.hard), idle);
    }
    it.advance_ms(604_800_000 + 2 * 3_600_000);
    assert_eq!(it.machine.state_bytes(&it.hard), 0, "the transactional id has expired");
}

#[test]
fn only_what_is_new_or_large_makes_a_shard_grow() {
    let mut it = Stepper::new(2);
    let me = it.init("t", None).expect("new");
    let many: Vec<_> = (0..65).map(|partition| at("a", partition)).collect();
    let grows = |command: &TransactionCommand| it.machine.grows(&it.hard, command);
    assert!(grows(&init("u", None)) && !grows(&init("t", None)));
    assert!(grows(&add("t", me, &many, V1)) && !grows(&add("t", me, &many[..64], V1)));
    assert!(!grows(&end("t", me, Commit, V1)) && !grows(&TransactionCommand::Overview));
}
