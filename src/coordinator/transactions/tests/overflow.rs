//! Epochs that are used up. 32,767 is never given to a producer, so that every one can be fenced.

use super::*;

const LAST: i16 = i16::MAX - 1;

fn with_epoch(state: S, version: TransactionVersion, epoch: i16) -> Stepper {
    let mut it = Stepper::new(2);
    let producer = producer(1, epoch);
    let previous_id = ProducerId::new(1);
    it.put("t", Transaction { producer, previous_id, ..known(state, version) });
    it
}

#[test]
fn after_the_last_epoch_a_producer_gets_another_id() {
    let mut it = with_epoch(S::Empty, V1, LAST - 1);
    assert_eq!(it.init("t", None), Ok(producer(1, LAST)));
    assert_eq!(it.init("t", None), Ok(producer(1000, 0)));
}

#[test]
fn who_had_the_last_epoch_may_ask_again_for_its_new_id() {
    let mut it = with_epoch(S::CompleteAbort, V1, LAST);
    let me = producer(1, LAST);
    assert_eq!(it.init("t", Some(me)), Ok(producer(1000, 0)));
    assert_eq!(it.init("t", Some(me)), Ok(producer(1000, 0)), "the answer may have been lost");
    // A rival is given the next epoch: from now on the one before is fenced.
    assert_eq!(it.init("t", None), Ok(producer(1000, 1)));
    assert_eq!(it.init("t", Some(me)), Err(E::ProducerFenced));
}

/// Kafka answers UNKNOWN_SERVER_ERROR here: it would raise an epoch that is used up.
#[test]
fn who_was_given_the_last_epoch_may_ask_again_for_it() {
    let mut it = with_epoch(S::Empty, V1, LAST - 1);
    let before = producer(1, LAST - 1);
    assert_eq!(it.init("t", Some(before)), Ok(producer(1, LAST)));
    assert_eq!(it.init("t", Some(before)), Ok(producer(1, LAST)));
}

#[test]
fn fencing_the_last_epoch_leads_to_another_id() {
    for (level, abort_epoch) in [(0, i16::MAX), (2, i16::MAX)] {
        let mut it = with_epoch(S::Ongoing, V1, LAST);
        Arc::make_mut(&mut it.image.features).insert(TRANSACTION_VERSION.to_owned(), level);
        let rival = it.send(init("t", None));
        assert_eq!(it.errands[0].producer, producer(1, abort_epoch));
        it.write_markers();
        let next = it.init_reply(rival).expect("the abort has ended").expect("a new id");
        assert_ne!(next.id, ProducerId::new(1));
        assert!(it.end("t", producer(1, LAST), Abort, V1).is_err());
        assert!(it.end("t", producer(1, i16::MAX), Abort, V1).is_err());
        assert_eq!(it.add("t", next, &[at("a", 0)], V1), Ok(()));
    }
}

#[test]
fn the_end_of_the_last_epoch_in_version_2_gives_another_id() {
    for outcome in [Commit, Abort] {
        let mut it = with_epoch(S::Ongoing, V2, LAST);
        let (me, next) = (producer(1, LAST), producer(1000, 0));
        assert_eq!(it.end("t", me, outcome, V2), Ok(next));
        assert_eq!(it.errands[0].producer, producer(1, i16::MAX), "still the old id's markers");
        assert_eq!(it.get("t").next_id, next.id);
        let repeated = it.send(end("t", me, outcome, V2));
        let added = it.send(add("t", next, &[at("a", 0)], V2));
        it.write_markers();
        assert_eq!(it.end_reply(repeated), Some(Ok(next)));
        assert_eq!(it.add_reply(added), Some(Ok(())));
        assert_eq!((it.get("t").producer, it.get("t").next_id), (next, ProducerId::NONE));
    }
}

#[test]
fn an_end_of_the_last_epoch_may_be_repeated_and_its_producer_return() {
    let mut it = with_epoch(S::Ongoing, V2, LAST);
    let (me, next) = (producer(1, LAST), producer(1000, 0));
    assert_eq!(it.end("t", me, Commit, V2), Ok(next));
    it.write_markers();
    assert_eq!(it.end("t", me, Commit, V2), Ok(next));
    assert_eq!(it.end("t", me, Abort, V2), Err(E::InvalidState));
    it.restart();
    assert_eq!(it.end("t", me, Commit, V2), Ok(next));
    assert_eq!(it.init("t", Some(me)), Ok(next));
}

#[test]
fn a_restart_between_the_last_epoch_and_the_new_id_changes_nothing() {
    let mut it = with_epoch(S::Ongoing, V2, LAST);
    let next = producer(1000, 0);
    assert_eq!(it.end("t", producer(1, LAST), Commit, V2), Ok(next));
    it.restart();
    it.write_markers();
    assert_eq!((it.get("t").state, it.get("t").producer), (S::CompleteCommit, next));
}

/// Kafka raises the epoch beyond the last one when it aborts such a transaction by itself, and gives that to a producer which
/// repeats its EndTxn.
#[test]
fn a_timeout_in_the_last_epoch_never_gives_the_highest_one_away() {
    let mut it = with_epoch(S::Ongoing, V2, LAST);
    it.advance_ms(60_000);
    it.write_markers();
    assert_eq!(it.get("t").producer, producer(1000, 0));
    assert_eq!(it.end("t", producer(1, LAST), Abort, V2), Ok(producer(1000, 0)));
}

/// As such a Kafka has left it.
#[test]
fn the_highest_epoch_is_never_raised_nor_given_away() {
    let mut it = with_epoch(S::CompleteAbort, V2, i16::MAX);
    assert_eq!(it.init("t", Some(producer(1, LAST))), Ok(producer(1000, 0)));
    let mut it = with_epoch(S::CompleteAbort, V2, i16::MAX);
    assert_eq!(it.init("t", None), Ok(producer(1000, 0)));
    for outcome in [Commit, Abort] {
        let mut it = with_epoch(S::Ongoing, V2, i16::MAX);
        assert_eq!(it.end("t", producer(1, i16::MAX), outcome, V2), Ok(producer(1000, 0)));
        assert_eq!(it.errands[0].producer.epoch, ProducerEpoch::new(i16::MAX));
    }
}

#[test]
fn without_a_producer_id_at_hand_the_last_end_is_tried_again() {
    let mut it = with_epoch(S::Ongoing, V2, LAST);
    it.ids.leave(0);
    assert_eq!(it.end("t", producer(1, LAST), Commit, V2), Err(E::NotAvailable));
    assert_eq!(it.get("t").state, S::Ongoing);
    it.advance_ms(60_000);
    assert_eq!(it.get("t").state, S::Ongoing, "the time-out needs one too");
    it.ids.leave(1);
    it.advance_ms(1_000);
    assert_eq!(it.get("t").state, S::PrepareAbort);
}
