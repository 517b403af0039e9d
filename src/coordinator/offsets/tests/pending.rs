//! Offsets of transactions. What is compared here is what the log says, whatever the order in which transactions end.

use super::*;
use crate::coordinator::groups::{Groups, GroupsHard};
use crate::coordinator::machine::{Entry, Machine, Outcome};
use crate::coordinator::records::{GroupRecord, OffsetCommitValue};
use crate::types::{
    LeaderEpoch, Offset, PartitionIndex, ProducerId, Timestamp, TopicId, TopicName,
};

fn record(offset: Option<i64>) -> GroupRecord {
    GroupRecord::OffsetCommit {
        group: "g".into(),
        topic: TopicName::new("t").expect("legal"),
        partition: PartitionIndex::new(0),
        value: offset.map(|offset| OffsetCommitValue {
            offset: Offset::new(offset),
            leader_epoch: LeaderEpoch::NONE,
            metadata: String::new(),
            commit_timestamp: Timestamp::new(0),
            expire_timestamp: None,
            topic_id: TopicId::ZERO,
        }),
    }
}

fn pending(producer: i64, offset: i64) -> Entry<GroupRecord> {
    Entry::Pending { producer: ProducerId::new(producer), record: record(Some(offset)) }
}

fn ended(producer: i64, outcome: Outcome) -> Entry<GroupRecord> {
    Entry::Ended { producer: ProducerId::new(producer), outcome }
}

fn plain(offset: i64) -> Entry<GroupRecord> {
    Entry::Record(record(Some(offset)))
}

/// The offset that counts, and whether it may still change.
fn after(entries: &[Entry<GroupRecord>]) -> (Option<i64>, bool) {
    let mut hard = GroupsHard::default();
    entries.iter().for_each(|entry| Groups::apply(&mut hard, entry));
    let partition = PartitionIndex::new(0);
    let committed = hard.offsets.get("g", "t", partition).map(|at| at.offset.get());
    let unstable = hard.offsets.pending().is_unstable("g", "t", partition);
    assert_eq!(hard.offsets.has_group("g"), committed.is_some() || unstable);
    (committed, unstable)
}

#[test]
fn an_offset_of_a_transaction_counts_once_it_is_committed() {
    let begun = [plain(1), pending(7, 2)];
    assert_eq!(after(&begun), (Some(1), true));
    let ends = |outcome| after(&[plain(1), pending(7, 2), ended(7, outcome)]);
    assert_eq!(ends(Outcome::Commit), (Some(2), false));
    assert_eq!(ends(Outcome::Abort), (Some(1), false));
    let of_another = [plain(1), pending(7, 2), ended(8, Outcome::Commit)];
    assert_eq!(after(&of_another), (Some(1), true));
}

#[test]
fn the_last_offset_of_a_transaction_is_the_one_that_counts() {
    let twice = [pending(7, 2), pending(7, 3), ended(7, Outcome::Commit)];
    assert_eq!(after(&twice), (Some(3), false));
}

#[test]
fn the_newest_commit_counts_whenever_its_transaction_ends() {
    use Outcome::{Abort, Commit};
    let plain_is_newer = [pending(7, 2), plain(3), ended(7, Commit)];
    assert_eq!(after(&plain_is_newer), (Some(3), false));
    let older_ends_last = [pending(7, 2), pending(8, 3), ended(8, Commit), ended(7, Commit)];
    assert_eq!(after(&older_ends_last), (Some(3), false));
    let newer_ends_last = [pending(7, 2), pending(8, 3), ended(7, Commit), ended(8, Commit)];
    assert_eq!(after(&newer_ends_last), (Some(3), false));
    let newer_is_aborted = [pending(7, 2), pending(8, 3), ended(8, Abort), ended(7, Commit)];
    assert_eq!(after(&newer_is_aborted), (Some(2), false));
}

#[test]
fn what_was_replaced_keeps_a_partition_unstable_until_its_transaction_ends() {
    assert_eq!(after(&[pending(7, 2), plain(3)]), (Some(3), true));
}

#[test]
fn a_tombstone_takes_pending_offsets_away() {
    let deleted = [plain(1), pending(7, 2), Entry::Record(record(None))];
    assert_eq!(after(&deleted), (None, false));
    let ended = [pending(7, 2), Entry::Record(record(None)), ended(7, Outcome::Commit)];
    assert_eq!(after(&ended), (None, false));
    let again = [pending(7, 2), Entry::Record(record(None)), pending(7, 4)];
    assert_eq!(after(&again), (None, true));
}

fn open_transaction(stepper: &mut Stepper) {
    Groups::apply(&mut stepper.hard, &pending(7, 2));
}

#[test]
fn only_who_requires_stable_offsets_hears_of_open_transactions() {
    let mut stepper = stepper();
    stepper.topic("t", 1);
    commit_simple(&mut stepper, "g", "t", 0, 1);
    open_transaction(&mut stepper);
    let read = fetch(&mut stepper, "g", "t", 0);
    assert_eq!((read.error_code, read.committed_offset), (88, -1));
    assert_eq!(fetch_all(&mut stepper, "g"), [("t".to_owned(), 0, 1)]);
    let all = OffsetFetchRequestGroup::default()
        .with_group_id(text("g").into())
        .with_member_epoch(-1)
        .with_topics(None);
    let answer = fetch_with(&mut stepper, 9, all, true);
    assert_eq!((answer.error_code, answer.topics[0].partitions[0].error_code), (0, 88));
}

#[test]
fn an_offset_does_not_expire_under_an_open_transaction() {
    let mut stepper = stepper();
    stepper.topic("t", 1);
    commit_simple(&mut stepper, "g", "t", 0, 1);
    open_transaction(&mut stepper);
    stepper.advance_ms(30 * HOUR_MS);
    assert_eq!(fetch_all(&mut stepper, "g"), [("t".to_owned(), 0, 1)]);
    Groups::apply(&mut stepper.hard, &ended(7, Outcome::Abort));
    stepper.advance_ms(HOUR_MS);
    assert_eq!(fetch_all(&mut stepper, "g"), []);
}

#[test]
fn deleting_a_group_deletes_what_its_transactions_would_commit() {
    let mut stepper = stepper();
    stepper.topic("t", 1);
    open_transaction(&mut stepper);
    assert_eq!(list(&mut stepper, &[], &[]).len(), 1);
    assert_eq!(delete_group(&mut stepper, "g"), 0);
    Groups::apply(&mut stepper.hard, &ended(7, Outcome::Commit));
    assert_eq!(list(&mut stepper, &[], &[]).len(), 0);
}

#[test]
fn offsets_of_open_transactions_go_with_their_topic() {
    let mut stepper = stepper();
    stepper.topic("t", 1);
    open_transaction(&mut stepper);
    stepper.delete_topic("t");
    assert_eq!(list(&mut stepper, &[], &[]).len(), 0);
}

#[test]
fn offsets_of_open_transactions_do_not_count_for_another_topic_of_the_same_name() {
    let mut stepper = stepper();
    let id = stepper.topic("t", 1);
    let mut offset = record(Some(2));
    if let GroupRecord::OffsetCommit { value: Some(value), .. } = &mut offset {
        value.topic_id = id;
    }
    let entry = Entry::Pending { producer: ProducerId::new(7), record: offset };
    Groups::apply(&mut stepper.hard, &entry);
    // Nobody looks between the two.
    Arc::make_mut(&mut stepper.image.topics).clear();
    stepper.topic("t", 1);
    Groups::apply(&mut stepper.hard, &ended(7, Outcome::Commit));
    assert_eq!(list(&mut stepper, &[], &[]).len(), 0);
}
