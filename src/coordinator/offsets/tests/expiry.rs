//! When offsets and groups go: retention is a day here, and every hour there is a look.

use super::*;

#[test]
fn offsets_of_simple_consumers_expire_a_day_after_their_commit() {
    let mut stepper = stepper();
    stepper.topic("t", 2);
    commit_simple(&mut stepper, "g", "t", 0, 1);
    stepper.advance_ms(12 * HOUR_MS);
    commit_simple(&mut stepper, "g", "t", 1, 2);
    stepper.advance_ms(12 * HOUR_MS - 1);
    assert_eq!(offset(&mut stepper, "g", "t", 0), 1);
    stepper.advance_ms(1);
    assert_eq!(fetch_all(&mut stepper, "g"), [("t".to_owned(), 1, 2)]);
    stepper.advance_ms(12 * HOUR_MS);
    assert_eq!((list(&mut stepper, &[], &[]), stepper.log.compacted().len()), (Vec::new(), 0));
}

#[test]
fn restarts_neither_lengthen_nor_shorten_the_time_that_offsets_have() {
    let mut stepper = stepper();
    stepper.topic("t", 1);
    commit_simple(&mut stepper, "simple", "t", 0, 1);
    let member = Member::join(&mut stepper, "left", &["t"]);
    let request = member.request(&stepper, 1, "t", 5);
    assert_eq!(commit(&mut stepper, 9, request), [0]);
    member.leave(&mut stepper);
    for _ in 0..23 {
        stepper.advance_ms(HOUR_MS);
        stepper.restart();
        assert_eq!(offset(&mut stepper, "simple", "t", 0), 1);
        assert_eq!(offset(&mut stepper, "left", "t", 0), 5);
    }
    // The look after the day is over.
    stepper.advance_ms(HOUR_MS);
    assert_eq!((list(&mut stepper, &[], &[]), stepper.log.compacted().len()), (Vec::new(), 0));
}

#[test]
fn a_retention_of_the_request_counts_instead_of_the_brokers() {
    let mut stepper = stepper();
    stepper.topic("t", 1);
    let retention_ms = 2 * HOUR_MS as i64;
    let request = simple(&stepper, "g", "t", vec![at(0, 1)]).with_retention_time_ms(retention_ms);
    assert_eq!(commit(&mut stepper, 4, request), [0]);
    stepper.advance_ms(2 * HOUR_MS - 1);
    assert_eq!(offset(&mut stepper, "g", "t", 0), 1);
    stepper.advance_ms(1);
    assert_eq!(offset(&mut stepper, "g", "t", 0), -1);
}

#[test]
fn offsets_of_a_group_expire_a_day_after_its_last_member_left() {
    let mut stepper = stepper();
    stepper.topic("t", 1);
    let member = Member::join(&mut stepper, "g", &["t"]);
    let request = member.request(&stepper, 1, "t", 5);
    assert_eq!(commit(&mut stepper, 9, request), [0]);
    // It stays alive by what it commits.
    for _ in 0..4 * 3_600 {
        stepper.advance_ms(20_000);
        let request = member.request(&stepper, 1, "t", 6);
        assert_eq!(commit(&mut stepper, 9, request), [0]);
    }
    member.leave(&mut stepper);
    stepper.advance_ms(23 * HOUR_MS);
    stepper.restart();
    assert_eq!(offset(&mut stepper, "g", "t", 0), 6);
    stepper.advance_ms(2 * HOUR_MS);
    assert_eq!(offset(&mut stepper, "g", "t", 0), -1);
    assert_eq!((list(&mut stepper, &[], &[]), stepper.log.compacted().len()), (Vec::new(), 0));
}

#[test]
fn a_live_group_keeps_what_it_subscribes_to_and_loses_the_rest() {
    let mut stepper = stepper();
    stepper.topic("t", 1);
    stepper.topic("former", 1);
    let member = Member::join(&mut stepper, "g", &["t"]);
    for topic in ["t", "former"] {
        let request = member.request(&stepper, 1, topic, 5);
        assert_eq!(commit(&mut stepper, 9, request), [0]);
    }
    let heartbeat = kafka_protocol::messages::HeartbeatRequest::default()
        .with_group_id(text("g").into())
        .with_generation_id(1)
        .with_member_id(text(&member.id));
    for _ in 0..25 * 180 {
        stepper.advance_ms(20_000);
        stepper.ask(GroupCommand::Heartbeat(call(3, heartbeat.clone())));
    }
    assert_eq!(fetch_all(&mut stepper, "g"), [("t".to_owned(), 0, 5)]);
}

#[test]
fn an_empty_group_without_offsets_goes_at_the_next_look() {
    let mut stepper = stepper();
    stepper.topic("t", 1);
    let member = Member::join(&mut stepper, "g", &["t"]);
    member.leave(&mut stepper);
    stepper.advance_ms(HOUR_MS - 1);
    assert_eq!(list(&mut stepper, &[], &[]).len(), 1);
    stepper.advance_ms(1);
    assert_eq!((list(&mut stepper, &[], &[]), stepper.log.compacted().len()), (Vec::new(), 0));
}

#[test]
fn many_groups_are_looked_at_in_several_turns_and_all_of_them() {
    let mut stepper = stepper();
    stepper.topic("t", 1);
    for group in 0..2_500 {
        commit_simple(&mut stepper, &format!("g{group}"), "t", 0, 1);
    }
    stepper.advance_ms(24 * HOUR_MS);
    let mut left = 2_500;
    while left == 2_500 {
        stepper.advance_ms(1);
        left = list(&mut stepper, &[], &[]).len();
    }
    assert!(left >= 1_500, "{left}");
    stepper.advance_ms(10);
    assert_eq!(list(&mut stepper, &[], &[]).len(), 0);
}
