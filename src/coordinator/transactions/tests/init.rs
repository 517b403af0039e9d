//! Producers that begin and return.

use super::*;

fn asked(id: &str, timeout_ms: i32) -> TransactionCommand {
    TransactionCommand::InitProducer(InitProducer {
        id: id.into(),
        timeout_ms,
        current: None,
        version: 4,
    })
}

#[test]
fn a_transaction_may_take_as_long_as_the_broker_allows() {
    for (timeout_ms, expected) in [
        (0, Err(E::InvalidTimeout)),
        (-1, Err(E::InvalidTimeout)),
        (900_001, Err(E::InvalidTimeout)),
        (1, Ok(producer(1000, 0))),
        (900_000, Ok(producer(1000, 0))),
    ] {
        let mut it = Stepper::new(2);
        let token = it.send(asked("t", timeout_ms));
        assert_eq!(it.init_reply(token), Some(expected), "{timeout_ms}");
    }
}

#[test]
fn an_empty_transactional_id_is_none() {
    let mut it = Stepper::new(2);
    let token = it.send(asked("", 1));
    assert_eq!(it.init_reply(token), Some(Err(E::InvalidRequest)));
}

#[test]
fn without_a_producer_id_at_hand_a_producer_comes_back_later() {
    let mut it = Stepper::new(2);
    it.ids.leave(0);
    assert_eq!(it.init("t", None), Err(E::NotAvailable));
    assert!(it.log.is_empty());
    it.ids.leave(1);
    assert_eq!(it.init("t", None), Ok(producer(1000, 0)));
}

#[test]
fn a_producer_that_nobody_knows_begins_anew() {
    let mut it = Stepper::new(2);
    assert_eq!(it.init("t", Some(producer(77, 9))), Ok(producer(1000, 0)));
}

#[test]
fn each_new_life_of_a_producer_fences_the_one_before() {
    let mut it = Stepper::new(2);
    let first = it.init("t", None).expect("new");
    let second = it.init("t", None).expect("known");
    assert_eq!(second, producer(1000, 1));
    assert_eq!(it.init("t", Some(first)), Err(E::ProducerFenced));
    assert_eq!(it.add("t", first, &[at("a", 0)], V1), Err(E::ProducerFenced));
    assert_eq!(it.add("t", second, &[at("a", 0)], V1), Ok(()));
}

/// KIP-360.
#[test]
fn a_producer_that_returns_as_itself_may_ask_again() {
    let mut it = Stepper::new(2);
    let first = it.init("t", None).expect("new");
    let second = producer(1000, 1);
    assert_eq!(it.init("t", Some(first)), Ok(second));
    assert_eq!(it.init("t", Some(first)), Ok(second), "the answer may have been lost");
    assert_eq!(it.init("t", Some(second)), Ok(producer(1000, 2)));
    assert_eq!(it.init("t", Some(first)), Err(E::ProducerFenced));
}

#[test]
fn nobody_asks_again_for_what_a_rival_was_given() {
    let mut it = Stepper::new(2);
    let first = it.init("t", None).expect("new");
    assert_eq!(it.init("t", None), Ok(producer(1000, 1)));
    assert_eq!(it.init("t", Some(first)), Err(E::ProducerFenced));
}

#[test]
fn the_timeout_is_that_of_the_last_life() {
    let mut it = Stepper::new(2);
    it.send(asked("t", 5_000));
    it.send(asked("t", 7_000));
    assert_eq!(it.get("t").timeout_ms, 7_000);
}

/// Kafka aborts the transaction of the producer that is alive before it looks at the epoch of the one that asks.
#[test]
fn a_fenced_producer_cannot_have_the_open_transaction_aborted() {
    let mut it = Stepper::new(2);
    let zombie = it.init("t", None).expect("new");
    let me = it.init("t", None).expect("known");
    it.add("t", me, &[at("a", 0)], V1).expect("idle");
    assert_eq!(it.init("t", Some(zombie)), Err(E::ProducerFenced));
    assert_eq!(it.get("t").state, S::Ongoing);
    assert_eq!(it.end("t", me, Commit, V1), Ok(me));
}

/// The abort by the coordinator raises the epoch in version 2, which is what the producer itself would be given.
#[test]
fn a_producer_that_returns_with_its_transaction_open_goes_on_after_the_abort() {
    let mut it = Stepper::new(2);
    let me = it.init("t", None).expect("new");
    it.add("t", me, &[at("a", 0)], V2).expect("idle");
    let token = it.send(init("t", Some(me)));
    it.write_markers();
    assert_eq!(it.init_reply(token), Some(Ok(producer(1000, 1))));
    assert_eq!(it.get("t").state, S::Empty);
}

#[test]
fn who_was_last_is_known_after_a_restart_where_the_log_tells() {
    let mut it = Stepper::new(2);
    let first = it.init("t", None).expect("new");
    it.add("t", first, &[at("a", 0)], V2).expect("idle");
    let second = it.end("t", first, Commit, V2).expect("open");
    it.write_markers();
    it.restart();
    assert_eq!(it.init("t", Some(first)), Ok(second), "the answer to its EndTxn was lost");
    // As in Kafka: the record of a new life does not say whose epoch was raised.
    it.restart();
    assert_eq!(it.init("t", Some(first)), Err(E::ProducerFenced));
    assert_eq!(it.init("t", Some(second)), Ok(producer(1000, 2)));
}
