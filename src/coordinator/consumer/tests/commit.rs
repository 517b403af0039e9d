//! Who may commit and read offsets.

use kafka_protocol::ResponseError as E;
use kafka_protocol::messages::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use kafka_protocol::messages::offset_fetch_request::OffsetFetchRequestGroup;
use kafka_protocol::messages::txn_offset_commit_request::{
    TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic,
};
use kafka_protocol::messages::{OffsetCommitRequest, TxnOffsetCommitRequest};

use super::*;
use crate::coordinator::consumer;
use crate::coordinator::groups::GroupTurn;

fn commit(bench: &mut Bench, version: i16, member: &str, epoch: i32, at: i32) -> Option<E> {
    let partition = OffsetCommitRequestPartition::default()
        .with_partition_index(at)
        .with_committed_offset(5)
        .with_committed_metadata(Some(text("")));
    let topics = vec![
        OffsetCommitRequestTopic::default().with_name(topic("t")).with_partitions(vec![partition]),
    ];
    let request = OffsetCommitRequest::default()
        .with_group_id(text(GROUP).into())
        .with_member_id(text(member))
        .with_generation_id_or_member_epoch(epoch)
        .with_topics(topics);
    let call = Call { version, client: client(), request };
    match bench.stepper.ask(GroupCommand::CommitOffsets(call)) {
        GroupReply::CommitOffsets(response) => {
            E::try_from_code(response.topics[0].partitions[0].error_code)
        }
        other => panic!("{other:?}"),
    }
}

fn fetch(bench: &mut Bench, member: Option<&str>, epoch: i32) -> Option<E> {
    let group = OffsetFetchRequestGroup::default()
        .with_group_id(text(GROUP).into())
        .with_member_id(member.map(text))
        .with_member_epoch(epoch)
        .with_topics(None);
    let command = GroupCommand::FetchOffsets { version: 9, group, require_stable: false };
    match bench.stepper.ask(command) {
        GroupReply::FetchOffsets(response) => E::try_from_code(response.error_code),
        other => panic!("{other:?}"),
    }
}

/// Two members in epoch 2; `a` has had partition 0 since epoch 1, `b` has had 1 since epoch 2.
fn two() -> Bench {
    let mut bench = Bench::new();
    bench.stepper.topic("t", 2);
    let (mut a, mut b) = (Consumer::new("a", &["t"]), Consumer::new("b", &["t"]));
    bench.join(&mut a);
    bench.join(&mut b);
    bench.settle(&mut [&mut a, &mut b]);
    bench
}

#[test]
fn members_commit_in_their_epoch() {
    let mut bench = two();
    assert_eq!(commit(&mut bench, 9, "a", 3, 0), None);
    assert_eq!(commit(&mut bench, 9, "a", 4, 0), Some(E::StaleMemberEpoch));
    assert_eq!(commit(&mut bench, 9, "x", 3, 0), Some(E::UnknownMemberId));
    assert_eq!(commit(&mut bench, 9, "", -1, 0), Some(E::UnknownMemberId));
    assert_eq!(commit(&mut bench, 8, "a", 3, 0), Some(E::UnsupportedVersion));
}

#[test]
fn a_commit_of_an_older_epoch_counts_for_what_the_member_has_had_since() {
    let mut bench = two();
    assert_eq!(commit(&mut bench, 9, "a", 2, 0), None, "its own since epoch 2");
    assert_eq!(commit(&mut bench, 9, "a", 1, 0), Some(E::StaleMemberEpoch));
    assert_eq!(commit(&mut bench, 9, "a", 2, 1), Some(E::StaleMemberEpoch), "given away");
    assert_eq!(commit(&mut bench, 9, "b", 2, 1), Some(E::StaleMemberEpoch), "since epoch 3");
    bench.stepper.restart();
    assert_eq!(commit(&mut bench, 9, "a", 2, 0), None, "it is in the log");
    assert_eq!(commit(&mut bench, 9, "b", 2, 1), Some(E::StaleMemberEpoch));
}

#[test]
fn what_is_to_be_let_go_of_may_be_committed_until_it_is() {
    let mut bench = Bench::new();
    bench.stepper.topic("t", 2);
    let (mut a, mut b) = (Consumer::new("a", &["t"]), Consumer::new("b", &["t"]));
    bench.join(&mut a);
    bench.join(&mut b);
    bench.send(a.delta());
    assert_eq!(commit(&mut bench, 9, "a", 2, 1), None);
}

#[test]
fn anybody_commits_for_an_empty_group() {
    let mut bench = Bench::new();
    bench.stepper.topic("t", 2);
    let mut a = Consumer::new("a", &["t"]);
    bench.join(&mut a);
    bench.send(Consumer { epoch: -1, ..a }.delta());
    assert_eq!(commit(&mut bench, 9, "", -1, 0), None);
    assert_eq!(commit(&mut bench, 9, "a", 2, 0), Some(E::UnknownMemberId));
}

#[test]
fn who_reads_offsets_says_nothing_or_its_epoch() {
    let mut bench = two();
    assert_eq!(fetch(&mut bench, None, -1), None);
    assert_eq!(fetch(&mut bench, Some("a"), 3), None);
    assert_eq!(fetch(&mut bench, Some("a"), 2), Some(E::StaleMemberEpoch));
    assert_eq!(fetch(&mut bench, Some("x"), 3), Some(E::UnknownMemberId));
}

#[test]
fn in_a_transaction_a_stale_epoch_is_an_illegal_generation_and_nobody_may_commit() {
    let mut bench = two();
    let check = |bench: &mut Bench, member: &str, epoch, at| {
        let partition = TxnOffsetCommitRequestPartition::default().with_partition_index(at);
        let topics = vec![
            TxnOffsetCommitRequestTopic::default()
                .with_name(topic("t"))
                .with_partitions(vec![partition]),
        ];
        let request = TxnOffsetCommitRequest::default()
            .with_group_id(text(GROUP).into())
            .with_generation_id(epoch)
            .with_member_id(text(member))
            .with_topics(topics);
        let checked = |turn: &GroupTurn<'_>| consumer::check_commit_in_transaction(turn, &request);
        bench.stepper.turn(|_, turn| checked(turn)).err()
    };
    assert_eq!(check(&mut bench, "a", 3, 0), None);
    assert_eq!(check(&mut bench, "a", 2, 0), None, "its own since epoch 2");
    assert_eq!(check(&mut bench, "a", 1, 0), Some(E::IllegalGeneration));
    assert_eq!(check(&mut bench, "a", 2, 1), Some(E::IllegalGeneration), "given away");
    assert_eq!(check(&mut bench, "a", 4, 0), Some(E::IllegalGeneration));
    assert_eq!(check(&mut bench, "x", 3, 0), Some(E::UnknownMemberId));
    assert_eq!(check(&mut bench, "", -1, 0), None, "who does not say that it is a member");
    assert_eq!(check(&mut bench, "", -2, 0), Some(E::UnknownMemberId));
    assert_eq!(check(&mut bench, "x", -1, 0), Some(E::UnknownMemberId));
}
