//! How far groups are behind, across the lives of a broker.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a test may panic, and plays the machine and the operator"
)]

mod support;

use std::sync::atomic::Ordering;

use highwater::broker::{
    Acks, CONSUMER_OFFSETS, CoordinatorError, GroupLags, Lookup, PartitionLag,
};
use highwater::coordinator::groups::{GroupCommand, GroupReply};
use highwater::coordinator::runtime::CallError;
use highwater::types::Timestamp;
use support::batches::batch;
use support::broker::{Life, Node};
use support::group_requests::{call, commit_request, offset_of};

/// When the record of an offset was written.
fn time_of(offset: i64) -> Timestamp {
    Timestamp::new(1_700_000_000_000 + offset * 1_000)
}

/// A topic `t` of one partition with records 0 to 4 in two batches.
async fn filled(life: &Life) {
    life.create("t", 1, &[]);
    for offsets in [0..2, 2..5] {
        let records: Vec<(&[u8], i64)> =
            offsets.map(|offset| (b"value".as_slice(), time_of(offset).get())).collect();
        life.send("t", 0, Acks::All, &batch(&records, None)).await.expect("acknowledged");
    }
}

async fn commit(life: &Life, group: &str, topic: &str, offset: i64) {
    let GroupReply::CommitOffsets(answer) = try_commit(life, group, topic, offset).await.unwrap()
    else {
        panic!("another answer");
    };
    assert_eq!(answer.topics[0].partitions[0].error_code, 0);
}

async fn try_commit(
    life: &Life,
    group: &str,
    topic: &str,
    offset: i64,
) -> Result<GroupReply, CoordinatorError> {
    let request = commit_request(group, topic, vec![offset_of(0, offset)]);
    life.broker.group_call(group, GroupCommand::CommitOffsets(call(8, request))).await
}

async fn lags(life: &Life) -> GroupLags {
    let lags = life.broker.group_lags().await;
    assert_eq!(lags.shards_failed, 0);
    lags
}

/// Lag in records and the time of the first of them, of the only group and its only offset.
async fn lag(life: &Life) -> (Option<i64>, Option<Timestamp>) {
    let lags = lags(life).await;
    let [group] = &lags.groups[..] else { panic!("{lags:?}") };
    let [PartitionLag { lag, waiting_since, .. }] = &group.partitions[..] else {
        panic!("{group:?}");
    };
    (*lag, *waiting_since)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_age_is_that_of_the_first_record_not_consumed() {
    let node = Node::new();
    let life = node.start();
    filled(&life).await;
    for committed in 0..5 {
        commit(&life, "g", "t", committed).await;
        let expected = (Some(5 - committed), Some(time_of(committed)));
        assert_eq!(lag(&life).await, expected, "{committed}");
    }
    for committed in [5, 6, i64::MAX] {
        commit(&life, "g", "t", committed).await;
        assert_eq!(lag(&life).await, (Some(0), None), "{committed}");
    }
    life.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_clean_stop_lag_is_known_and_no_log_is_opened_for_it() {
    let node = Node::new();
    let life = node.start();
    filled(&life).await;
    life.create("untouched", 1, &[]);
    commit(&life, "g", "t", 3).await;
    life.stop().await;

    let life = node.start();
    assert_eq!(lag(&life).await, (Some(2), None), "its records are not looked at");
    assert!(matches!(life.find("t", 0), Lookup::Closed(_)), "a question opens nothing");
    assert_eq!(life.values("t", 0, 0).await.len(), 5);
    assert_eq!(lag(&life).await, (Some(2), Some(time_of(3))), "now it is open");
    commit(&life, "g2", "untouched", 0).await;
    let lags = lags(&life).await;
    assert_eq!(lags.groups[1].partitions[0].lag, Some(0), "nobody has written there");
    life.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_crash_lag_is_that_of_the_recovered_log() {
    let node = Node::new();
    let life = node.start();
    filled(&life).await;
    commit(&life, "g", "t", 3).await;
    life.crash().await;

    let life = node.start();
    let (lag_before, _) = lag(&life).await;
    assert!(lag_before.is_none_or(|lag| lag == 2), "never told from an old checkpoint");
    assert_eq!(life.values("t", 0, 0).await.len(), 5);
    assert_eq!(lag(&life).await, (Some(2), Some(time_of(3))));
    life.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_topic_that_was_made_anew_has_no_negative_lag() {
    let node = Node::new();
    let life = node.start();
    filled(&life).await;
    commit(&life, "g", "t", 4).await;
    life.delete("t");
    let gone = lags(&life).await;
    let offsets = gone.groups.iter().flat_map(|group| &group.partitions);
    assert!(offsets.map(|entry| entry.lag).all(|lag| lag.is_none()), "{gone:?}");

    life.create("t", 1, &[]);
    commit(&life, "g", "t", 4).await;
    assert_eq!(lag(&life).await, (Some(0), None));
    life.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn groups_take_their_part_of_the_byte_budget_and_known_ones_go_on_when_it_is_full() {
    let node = Node { budget_bytes: 200_000, ..Node::new() };
    let life = node.start();
    life.create("t", 1, &[]);
    let mut groups = 0;
    let refused = loop {
        match try_commit(&life, &format!("group-{groups}"), "t", 1).await {
            Ok(_) => groups += 1,
            Err(error) => break error,
        }
        assert!(groups < 10_000, "nothing is refused");
    };
    assert!(matches!(refused, CoordinatorError::Call(CallError::NoMemory)), "{refused}");
    assert!(groups > 100, "only {groups}");
    let memory = &life.broker.coordinator_memory;
    assert!((100_000..101_000).contains(&memory.bytes()), "{}", memory.bytes());
    assert_eq!(memory.counted_bytes(), 100_000, "the rest is for requests");
    commit(&life, "group-0", "t", 2).await;
    life.stop().await;

    // What the log holds is read again, whatever there is room for.
    let node = Node { budget_bytes: 20_000, ..node };
    let life = node.start();
    assert_eq!(lags(&life).await.groups.len(), groups);
    assert_eq!(life.broker.budget.used_bytes(), 10_000);
    commit(&life, "group-1", "t", 2).await;
    for number in 0..groups {
        let group = format!("group-{number}");
        let delete = GroupCommand::DeleteGroup(group.as_str().into());
        life.broker.group_call(&group, delete).await.unwrap();
    }
    assert_eq!(life.broker.coordinator_memory.bytes(), 0);
    commit(&life, "new", "t", 1).await;
    life.stop().await;
}

/// The shard in memory is thrown away, so that the next command reads its log.
async fn forget_the_shard(life: &Life, node: &Node) {
    node.faults.full.store(true, Ordering::SeqCst);
    let refused = try_commit(life, "g", "t", 2).await;
    assert!(matches!(refused, Err(CoordinatorError::Call(CallError::NotAvailable))), "{refused:?}");
    node.faults.full.store(false, Ordering::SeqCst);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_coordinators_topic_that_is_deleted_while_its_log_is_read_is_no_fault_of_the_disk() {
    // Without room for tails in memory, so that files are read.
    let node = Node { budget_bytes: 20_000, ..Node::new() };
    let life = node.start();
    life.create("t", 1, &[]);
    commit(&life, "g", "t", 1).await;
    forget_the_shard(&life, &node).await;
    node.faults.fail_next_read(life.deletion(CONSUMER_OFFSETS));
    let refused = try_commit(&life, "g", "t", 3).await;
    assert!(matches!(refused, Err(CoordinatorError::Call(CallError::NotAvailable))), "{refused:?}");
    assert!(!life.is_offline(), "the directory was blamed");
    life.send("t", 0, Acks::All, &batch(&[(b"value".as_slice(), 0)], None)).await.unwrap();
    life.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_coordinators_log_that_cannot_be_read_is_a_fault_of_the_disk() {
    let node = Node { budget_bytes: 20_000, ..Node::new() };
    let life = node.start();
    life.create("t", 1, &[]);
    commit(&life, "g", "t", 1).await;
    forget_the_shard(&life, &node).await;
    node.faults.fail_next_read(|| {});
    let refused = try_commit(&life, "g", "t", 3).await;
    assert!(matches!(refused, Err(CoordinatorError::Call(CallError::NotAvailable))), "{refused:?}");
    assert!(life.is_offline());
    life.crash().await;
}
