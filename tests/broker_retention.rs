//! The end of data in a running broker: segments by time, what retention takes and what it must leave alone, topics that are
//! deleted across a restart.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test may panic, and plays the operator"
)]

mod support;

use std::fs::{File, FileTimes};
use std::time::{Duration, UNIX_EPOCH};

use highwater::broker::{
    Acks, DeleteRecords, DeleteRecordsError, FetchError, OffsetQuery, TRANSACTION_STATE,
};
use highwater::env::{Clock, ManualClock};
use highwater::log::builder::{BatchBuilder, BatchTemplate};
use highwater::types::{Offset, Timestamp};
use support::batches::batch;
use support::broker::{LONG, Life, Node, only, values_in};
use support::logs::bytes_of;

/// Time between two passes of retention.
const PASS_MS: i64 = 300_000;
/// Far more than any test needs.
const PASSES_MAX: usize = 100_000;

async fn offset(life: &Life, topic: &str, query: OffsetQuery) -> i64 {
    only(life.list(topic, query).finish().await).unwrap().offset.get()
}

/// Lets passes of retention come until the log begins at `start`. They run here or in the background, whoever sees first that
/// one is due.
async fn passes_until(life: &Life, clock: &ManualClock, topic: &str, start: i64) {
    for _ in 0..PASSES_MAX {
        if offset(life, topic, OffsetQuery::Earliest).await == start {
            return;
        }
        clock.advance_ms(PASS_MS);
        life.broker.run_due_jobs();
    }
    panic!("retention does not get to {start}");
}

/// Everything there is in `t`, from the start on; begins anew where a pass of retention comes in between.
async fn read_whole(life: &Life) -> Vec<(i64, String)> {
    'again: loop {
        let mut from = offset(life, "t", OffsetQuery::Earliest).await;
        let mut values = Vec::new();
        loop {
            let Ok(fetched) = life.read("t", 0, from).await else { continue 'again };
            if fetched.records.len == 0 {
                return values;
            }
            values.extend(values_in(&bytes_of(&fetched.records)));
            from = values.last().unwrap().0 + 1;
        }
    }
}

async fn send_at(life: &Life, partition: i32, timestamp: i64) {
    let records = batch(&[(&[b'v'; 100], timestamp)], None);
    life.send("t", partition, Acks::All, &records).await.expect("acknowledged");
}

fn keyed(key: &str, timestamp: i64) -> Vec<u8> {
    let mut batch = BatchBuilder::new(BatchTemplate::default());
    batch.append(Timestamp::new(timestamp), Some(key.as_bytes()), Some(b"value"));
    batch.build().unwrap()
}

/// Names in the directory of a partition that end with `suffix`.
fn files(node: &Node, partition: i32, suffix: &str) -> Vec<String> {
    let entries = std::fs::read_dir(node.path().join(format!("t-{partition}"))).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.ends_with(suffix)).collect();
    names.sort();
    names
}

#[tokio::test(flavor = "multi_thread")]
async fn a_segment_ends_when_a_record_is_segment_ms_younger_than_its_first() {
    let (node, clock) = Node::in_frozen_time();
    let life = node.start();
    life.create("t", 1, &[("segment.ms", "10000")]);
    let begin = clock.wall().get();
    for (after, segments) in [(0, 1), (10_000, 1), (10_001, 2), (20_001, 2), (20_002, 3)] {
        send_at(&life, 0, begin + after).await;
        assert_eq!(files(&node, 0, ".log").len(), segments, "after {after} ms");
    }
    life.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn jitter_lets_segments_of_one_age_end_apart_and_never_later_than_segment_ms() {
    const PARTITIONS: i32 = 24;
    let (node, clock) = Node::in_frozen_time();
    let life = node.start();
    let configs = [("segment.ms", "10000"), ("segment.jitter.ms", "10000")];
    life.create("t", PARTITIONS as usize, &configs);
    let begin = clock.wall().get();
    let mut rolled = Vec::new();
    for partition in 0..PARTITIONS {
        send_at(&life, partition, begin).await;
        send_at(&life, partition, begin + 5_000).await;
        rolled.push(files(&node, partition, ".log").len() > 1);
    }
    // All the same by chance once in eight million runs.
    assert!(rolled.contains(&true) && rolled.contains(&false), "{rolled:?}");
    for partition in (0..PARTITIONS).filter(|partition| !rolled[*partition as usize]) {
        send_at(&life, partition, begin + 10_001).await;
        assert_eq!(files(&node, partition, ".log").len(), 2);
    }
    life.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn old_segments_go_after_retention_ms_and_their_files_after_the_delay() {
    let (node, clock) = Node::in_frozen_time();
    let life = node.start();
    let configs =
        [("segment.ms", "1000"), ("retention.ms", "600000"), ("file.delete.delay.ms", "60000")];
    life.create("t", 1, &configs);
    let begin = clock.wall().get();
    for after in [0, 2_000, 500_000] {
        send_at(&life, 0, begin + after).await;
    }
    assert_eq!(files(&node, 0, ".log").len(), 3);
    // The first two are older than ten minutes, the third is not; retention looks every five minutes.
    clock.advance_ms(603_000);
    life.broker.run_due_jobs();
    while files(&node, 0, ".log").len() > 1 {
        // Housekeeping took the job before, and is at it.
        tokio::task::yield_now().await;
    }
    assert_eq!(files(&node, 0, ".log"), ["00000000000000000002.log"]);
    assert!(life.read("t", 0, 1).await.is_err());
    assert_eq!(life.values("t", 0, 2).await.len(), 1);
    assert!(!files(&node, 0, ".deleted").is_empty());
    clock.advance_ms(59_999);
    life.broker.run_due_jobs();
    assert!(!files(&node, 0, ".deleted").is_empty(), "the delay is not over");
    clock.advance_ms(1);
    while !files(&node, 0, ".deleted").is_empty() {
        life.broker.run_due_jobs();
    }
    life.stop().await;
    let life = node.start();
    assert_eq!(life.read("t", 0, 2).await.unwrap().log_start, Offset::new(2));
    life.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_topic_waits_as_a_delete_directory_and_a_restart_ends_the_wait() {
    let (node, clock) = Node::in_frozen_time();
    let life = node.start();
    life.create("t", 1, &[("file.delete.delay.ms", "60000")]);
    send_at(&life, 0, clock.wall().get()).await;
    life.delete("t");
    let waiting = node.names("t-0");
    assert_eq!(waiting.len(), 1);
    assert!(waiting[0].starts_with("t-0.") && waiting[0].ends_with("-delete"), "{waiting:?}");
    // A topic of the same name begins anew beside it.
    life.create("t", 1, &[]);
    send_at(&life, 0, clock.wall().get()).await;
    assert_eq!(life.values("t", 0, 0).await.len(), 1);
    life.broker.run_due_jobs();
    assert_eq!(node.names("t-0."), waiting, "the delay is not over");
    life.crash().await;

    let life = node.start();
    life.broker.run_due_jobs();
    while !node.names("t-0.").is_empty() {
        // Housekeeping took the job before, and is at it.
        tokio::task::yield_now().await;
    }
    assert_eq!(life.values("t", 0, 0).await.len(), 1, "the new one is untouched");
    life.stop().await;
}

/// The end of the log is where everything has expired, also what nobody has written behind: the segment in use is rolled.
#[tokio::test(flavor = "multi_thread")]
async fn a_partition_whose_records_have_all_expired_begins_where_it_ends() {
    let (node, clock) = Node::in_frozen_time();
    let life = node.start();
    life.create("t", 1, &[("retention.ms", "5000")]);
    for n in 0..10 {
        life.send_value("t", &n.to_string()).await;
    }
    passes_until(&life, &clock, "t", 10).await;
    assert_eq!(offset(&life, "t", OffsetQuery::Latest).await, 10);
    assert_eq!(life.read("t", 0, 10).await.expect("the end").records.len, 0);
    assert_eq!(life.read("t", 0, 9).await.unwrap_err(), FetchError::OutOfRange);
    life.stop().await;
    node.check();
    let life = node.start();
    assert_eq!(offset(&life, "t", OffsetQuery::Earliest).await, 10);
    assert_eq!(life.send_value("t", "next").await.get(), 10);
    life.stop().await;
    node.check();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_retention_acts_without_a_restart() {
    let (node, clock) = Node::in_frozen_time();
    let life = node.start();
    life.create("t", 1, &[("retention.ms", "-1")]);
    life.create("kept", 1, &[("retention.ms", "-1")]);
    life.send_value("t", "old").await;
    life.send_value("kept", "old").await;
    clock.advance_ms(1_000 * PASS_MS);
    life.broker.run_due_jobs();
    assert_eq!(life.values("t", 0, 0).await.len(), 1, "without a limit nothing goes");
    life.configure("t", &[("retention.ms", "5000")]);
    passes_until(&life, &clock, "t", 1).await;
    assert_eq!(life.values("kept", 0, 0).await.len(), 1);
    life.stop().await;
}

/// A log that is compacted loses old segments only if its policy names `delete` as well.
#[tokio::test(flavor = "multi_thread")]
async fn a_compacted_log_loses_old_segments_where_its_policy_says_so_too() {
    let (node, clock) = Node::in_frozen_time();
    let life = node.start();
    let begin = clock.wall().get();
    let configs = [("segment.ms", "1000"), ("retention.ms", "600000"), ("retention.bytes", "0")];
    for (topic, policy) in [("t", "compact,delete"), ("kept", "compact")] {
        // Never dirty enough for the cleaner.
        let mut all = vec![("cleanup.policy", policy), ("min.cleanable.dirty.ratio", "1")];
        all.extend(configs);
        life.create(topic, 1, &all);
        for after in [0, 2_000, 4_000] {
            let record = keyed("k", begin + after);
            life.send(topic, 0, Acks::All, &record).await.expect("acknowledged");
        }
    }
    passes_until(&life, &clock, "t", 3).await;
    assert_eq!(offset(&life, "kept", OffsetQuery::Earliest).await, 0);
    assert_eq!(life.values("kept", 0, 0).await.len(), 3);
    life.stop().await;
    node.check();
}

/// Records without timestamps are as old as the file that they are in.
#[tokio::test(flavor = "multi_thread")]
async fn segments_without_timestamps_go_by_the_age_of_their_files() {
    let (node, clock) = Node::in_frozen_time();
    let life = node.start();
    life.create("t", 1, &[("internal.segment.bytes", "200"), ("retention.ms", "600000")]);
    for _ in 0..4 {
        send_at(&life, 0, -1).await;
    }
    let begin = clock.wall().get();
    let ages_ms = [900_000, 800_000, 0, 900_000];
    for (name, age_ms) in files(&node, 0, ".log").iter().zip(ages_ms) {
        let file = File::open(node.path().join("t-0").join(name)).unwrap();
        let modified = UNIX_EPOCH + Duration::from_millis((begin - age_ms) as u64);
        file.set_times(FileTimes::new().set_modified(modified)).unwrap();
    }
    passes_until(&life, &clock, "t", 2).await;
    assert_eq!(life.values("t", 0, 2).await.len(), 2, "a young one keeps what lies behind it");
    life.stop().await;
    node.check();
}

#[tokio::test(flavor = "multi_thread")]
async fn records_of_internal_topics_cannot_be_deleted() {
    let node = Node::new();
    let life = node.start();
    life.broker.ensure_transaction_topic().finish().await.expect("a topic");
    life.configure(TRANSACTION_STATE, &[("cleanup.policy", "delete")]);
    let asked = DeleteRecords { partition: life.find(TRANSACTION_STATE, 0), before: Offset::ZERO };
    let answer = only(life.broker.delete_records(vec![asked], LONG).finish().await);
    assert_eq!(answer, Err(DeleteRecordsError::InternalTopic));
    life.stop().await;
}

/// Offsets stay with their records, ends only rise, whatever retention takes away, and over restarts.
#[tokio::test(flavor = "multi_thread")]
async fn retention_moves_no_offset() {
    let (node, clock) = Node::in_frozen_time();
    let mut life = node.start();
    let configs = [("retention.bytes", "3000"), ("internal.segment.bytes", "1000")];
    life.create("t", 1, &configs);
    let (mut start, mut end) = (0, 0);
    for round in 0..20 {
        for _ in 0..10 {
            assert_eq!(life.send_value("t", &end.to_string()).await.get(), end, "round {round}");
            end += 1;
        }
        clock.advance_ms(PASS_MS);
        life.broker.run_due_jobs();
        let values = read_whole(&life).await;
        let first = values.first().expect("the newest records stay").0;
        assert!(first >= start, "round {round}: the start went from {start} to {first}");
        start = first;
        let expected: Vec<(i64, String)> = (start..end).map(|at| (at, at.to_string())).collect();
        assert_eq!(values, expected, "round {round}");
        assert_eq!(offset(&life, "t", OffsetQuery::Latest).await, end);
        if round % 5 == 4 {
            life.stop().await;
            node.check();
            life = node.start();
        }
    }
    assert!(start > 0, "retention had something to do");
    life.stop().await;
}
