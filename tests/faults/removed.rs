//! Somebody removes or cuts the files of a running broker. Linux goes on writing to files without a name, so nothing fails by
//! itself: the periodic look at logs notices.

use std::sync::Arc;

use highwater::broker::{Acks, PartitionAppendError, ProduceError};
use highwater::env::ManualClock;

use super::panics;
use super::support::batches::batch;
use super::support::broker::{Life, Node, now};

/// Logs are looked at so long after they were written to.
const LOOK_MS: i64 = 10_000;
/// Checkpoints are written so often.
const CHECKPOINT_MS: i64 = 60_000;

/// Topics `t` and `other` with a record in each.
async fn started() -> (Node, Arc<ManualClock>, Life) {
    let (node, clock) = Node::in_frozen_time();
    let life = node.start();
    for topic in ["t", "other"] {
        life.create(topic, 1, &[]);
        life.send_value(topic, "first").await;
    }
    (node, clock, life)
}

async fn is_refused(life: &Life, topic: &str) -> bool {
    match life.send(topic, 0, Acks::All, &batch(&[(b"more", now())], None)).await {
        Ok(_) => false,
        Err(ProduceError::Append(PartitionAppendError::Offline)) => true,
        Err(other) => panic!("{other:?}"),
    }
}

/// Looks come, here or in the background, until the topic takes no more records.
async fn looks_until_refused(life: &Life, clock: &ManualClock, topic: &str) {
    while !is_refused(life, topic).await {
        clock.advance_ms(LOOK_MS);
        life.broker.run_due_jobs();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partition_whose_directory_is_removed_takes_no_more_records_and_others_do() {
    let panics = panics::watch();
    let (node, clock, life) = started().await;
    std::fs::remove_dir_all(node.path().join("t-0")).unwrap();
    looks_until_refused(&life, &clock, "t").await;
    assert!(!life.is_offline() && !life.shutdown.is_requested());
    assert!(!is_refused(&life, "other").await);
    let latest = life.list("t", highwater::broker::OffsetQuery::Latest).finish().await;
    assert_eq!(latest.len(), 1, "nobody waits for ever");
    life.stop().await;
    assert!(node.names(".kafka_cleanshutdown").is_empty(), "the stop was not clean");

    let life = node.start();
    assert_eq!(life.values("t", 0, 0).await, [], "what was removed is gone");
    assert!(!is_refused(&life, "t").await && !life.values("other", 0, 0).await.is_empty());
    life.stop().await;
    panics.assert_quiet("a directory was removed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_is_cut_under_its_writer_takes_no_more_records() {
    let (node, clock, life) = started().await;
    let log = node.path().join("t-0/00000000000000000000.log");
    std::fs::OpenOptions::new().write(true).open(log).unwrap().set_len(0).unwrap();
    // What is written behind the cut leaves a hole, so that the length looks right again; the look comes first.
    clock.advance_ms(LOOK_MS);
    life.broker.run_due_jobs();
    looks_until_refused(&life, &clock, "t").await;
    assert!(!is_refused(&life, "other").await);
    life.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_topic_that_is_deleted_or_a_log_at_rest_is_not_taken_for_removed() {
    let (_node, clock, life) = started().await;
    life.delete("t");
    for _ in 0..3 {
        clock.advance_ms(LOOK_MS);
        life.broker.run_due_jobs();
        assert!(!is_refused(&life, "other").await);
    }
    assert!(!life.is_offline());
    life.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_whose_only_log_directory_is_removed_stops() {
    let (node, clock, life) = started().await;
    for entry in std::fs::read_dir(node.path()).unwrap() {
        let path = entry.unwrap().path();
        let removed =
            if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
        removed.unwrap();
    }
    std::fs::remove_dir(node.path()).unwrap();
    while !life.shutdown.is_requested() {
        clock.advance_ms(CHECKPOINT_MS);
        life.broker.run_due_jobs();
    }
    assert!(is_refused(&life, "t").await && is_refused(&life, "other").await);
    life.stop().await;
    std::fs::create_dir(node.path()).unwrap();
}
