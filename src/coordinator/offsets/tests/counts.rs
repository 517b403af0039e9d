//! What metrics say of offsets.

use super::*;

/// Commits, deletions, expiries.
fn counts(stepper: &Stepper) -> (u64, u64, u64) {
    let metrics = &stepper.machine.metrics;
    let (commits, deletions) = (&metrics.group_offset_commits, &metrics.group_offset_deletions);
    (commits.get(), deletions.get(), metrics.group_offset_expirations.get())
}

#[test]
fn offsets_are_counted_when_they_come_and_by_the_way_they_go() {
    let mut stepper = stepper();
    stepper.topic("t", 3);
    stepper.topic("gone", 1);
    let request = simple(&stepper, "g", "t", vec![at(0, 1), at(1, 1), at(2, 1)]);
    assert_eq!(commit(&mut stepper, 9, request), [0, 0, 0]);
    commit_simple(&mut stepper, "g", "gone", 0, 1);
    assert_eq!(counts(&stepper), (4, 0, 0));

    delete(&mut stepper, "g", "t", &[0, 0, 7]);
    assert_eq!(counts(&stepper), (4, 1, 0), "one of them was there, once");
    stepper.delete_topic("gone");
    assert_eq!(counts(&stepper), (4, 2, 0));
    stepper.restart();
    assert_eq!(counts(&stepper), (4, 2, 0), "reading the log back is no event");
    stepper.advance_ms(25 * HOUR_MS);
    assert_eq!(counts(&stepper), (4, 2, 2));

    commit_simple(&mut stepper, "h", "t", 0, 1);
    assert_eq!(delete_group(&mut stepper, "h"), 0);
    assert_eq!(counts(&stepper), (5, 3, 2));
}

#[test]
fn a_commit_that_is_refused_is_not_counted() {
    let mut stepper = stepper();
    stepper.topic("t", 1);
    let partition = at(0, 1).with_committed_metadata(Some(text(&"x".repeat(4_097))));
    let request = simple(&stepper, "g", "t", vec![partition]);
    assert_ne!(commit(&mut stepper, 9, request), [0]);
    assert_eq!(counts(&stepper), (0, 0, 0));
}
