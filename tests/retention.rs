//! The end of data in a broker: segments by time, deletion after a delay, topics that are deleted across a restart.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test may panic, and plays the machine and the operator"
)]

mod support;

use std::sync::Arc;

use highwater::broker::Acks;
use highwater::env::{Clock, ManualClock};
use highwater::types::{Offset, Timestamp};
use support::batches::batch;
use support::broker::{Life, Node, now};

/// A broker whose clock stands still until the test moves it.
fn frozen() -> (Node, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::new(Timestamp::new(now())));
    let node = Node { clock: Arc::<ManualClock>::clone(&clock), ..Node::new() };
    (node, clock)
}

async fn send_at(life: &Life, partition: i32, timestamp: i64) {
    let records = batch(&[(&[b'v'; 100], timestamp)], None);
    life.send("t", partition, Acks::All, &records).await.expect("acknowledged");
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
    let (node, clock) = frozen();
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
    let (node, clock) = frozen();
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
    let (node, clock) = frozen();
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
    let (node, clock) = frozen();
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
