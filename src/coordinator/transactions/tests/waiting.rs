//! Callers that wait for a transaction to end.

use super::*;

fn being_ended(version: TransactionVersion) -> (Stepper, ProducerIdAndEpoch, ProducerIdAndEpoch) {
    let mut it = Stepper::new(2);
    let me = it.init("t", None).expect("new");
    it.add("t", me, &[at("a", 0)], version).expect("idle");
    let next = it.end("t", me, Commit, version).expect("open");
    (it, me, next)
}

#[test]
fn they_are_decided_in_the_order_of_their_arrival() {
    let (mut it, _, next) = being_ended(V2);
    let added = it.send(add("t", next, &[at("b", 0)], V2));
    let ended = it.send(end("t", next, Commit, V2));
    let rival = it.send(init("t", None));
    it.write_markers();
    assert_eq!(it.add_reply(added), Some(Ok(())));
    assert_eq!(it.end_reply(ended), Some(Ok(producer(1000, 2))));
    assert_eq!(it.init_reply(rival), None, "the second transaction has to end first");
    it.write_markers();
    assert_eq!(it.init_reply(rival), Some(Ok(producer(1000, 3))));
}

#[test]
fn nobody_waits_longer_than_a_second() {
    let (mut it, _, next) = being_ended(V2);
    let first = it.send(add("t", next, &[at("b", 0)], V2));
    it.advance_ms(400);
    let second = it.send(add("t", next, &[at("c", 0)], V2));
    it.advance_ms(599);
    assert_eq!(it.add_reply(first), None);
    it.advance_ms(1);
    assert_eq!(it.add_reply(first), Some(Err(E::ConcurrentTransactions)));
    assert_eq!(it.add_reply(second), None);
    it.advance_ms(400);
    assert_eq!(it.add_reply(second), Some(Err(E::ConcurrentTransactions)));
    it.write_markers();
    assert_eq!(it.get("t").state, S::CompleteCommit, "who was sent away has no effect");
}

#[test]
fn who_has_to_wait_for_a_second_transaction_waits_no_longer_for_that() {
    let (mut it, _, next) = being_ended(V2);
    it.send(add("t", next, &[at("b", 0)], V2));
    it.send(end("t", next, Commit, V2));
    let rival = it.send(init("t", None));
    it.advance_ms(700);
    it.write_markers();
    it.advance_ms(299);
    assert_eq!(it.init_reply(rival), None);
    it.advance_ms(1);
    assert_eq!(it.init_reply(rival), Some(Err(E::ConcurrentTransactions)));
}

#[test]
fn a_few_may_wait_and_the_next_is_sent_away() {
    let (mut it, ..) = being_ended(V1);
    let rivals: Vec<_> = (0..8).map(|_| it.send(init("t", None))).collect();
    assert_eq!(it.init("t", None), Err(E::ConcurrentTransactions));
    it.write_markers();
    for (epoch, rival) in (1..).zip(rivals) {
        assert_eq!(it.init_reply(rival), Some(Ok(producer(1000, epoch))));
    }
}

#[test]
fn who_can_only_be_refused_later_is_refused_now() {
    let (mut it, me, _) = being_ended(V2);
    assert_eq!(it.add("t", me, &[at("a", 0)], V2), Err(E::ProducerFenced));
    assert_eq!(it.add("t", producer(7, 0), &[], V2), Err(E::InvalidProducerIdMapping));
    assert_eq!(it.end("t", producer(1000, 7), Commit, V2), Err(E::ProducerFenced));
    assert_eq!(it.end("t", producer(7, 0), Commit, V2), Err(E::InvalidProducerIdMapping));
}

#[test]
fn the_opposite_of_what_was_prepared_is_refused_in_the_end() {
    for version in [V1, V2] {
        let (mut it, me, _) = being_ended(version);
        let opposite = it.send(end("t", me, Abort, version));
        it.write_markers();
        assert_eq!(it.end_reply(opposite), Some(Err(E::InvalidState)));
        assert_eq!(it.get("t").state, S::CompleteCommit);
    }
}

#[test]
fn who_waits_at_a_restart_hears_nothing_and_has_no_effect() {
    let (mut it, ..) = being_ended(V1);
    let rival = it.send(init("t", None));
    it.restart();
    it.write_markers();
    assert_eq!(it.init_reply(rival), None);
    assert_eq!(it.get("t").state, S::CompleteCommit);
}
