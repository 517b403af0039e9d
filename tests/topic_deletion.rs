//! A topic that is deleted under whoever is at work on it: its directory has another name by then, which is no fault of the
//! disk.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a test may panic, and plays the machine and the operator"
)]

mod support;

use highwater::broker::{Acks, FetchError, OffsetQuery};
use highwater::types::Timestamp;
use support::batches::batch;
use support::broker::{Life, Node, now, only};

async fn send(life: &Life, topic: &str) {
    let value = batch(&[(b"value", now())], None);
    life.send(topic, 0, Acks::All, &value).await.expect("acknowledged");
}

/// The directory is not blamed, and other topics go on.
async fn goes_on(life: Life) {
    assert!(!life.is_offline(), "the directory was blamed");
    life.create("other", 1, &[]);
    send(&life, "other").await;
    life.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn while_its_directory_is_synced() {
    let node = Node::new();
    let life = node.start();
    life.create("t", 1, &[("internal.segment.bytes", "100")]);
    send(&life, "t").await;
    // The next batch begins a segment, whose names must be synced.
    node.faults.before_directory_sync("t-0", life.deletion("t"));
    let value = batch(&[(b"value", now())], None);
    // It is gone before it is on disk: what the producer hears is not what this is about.
    _ = life.send("t", 0, Acks::All, &value).await;
    goes_on(life).await;
}

/// The first record lies in a file alone.
async fn with_records_in_files() -> (Node, Life) {
    let node = Node::new();
    let life = node.start();
    life.create("t", 1, &[]);
    send(&life, "t").await;
    life.stop().await;
    let life = node.start();
    // Opens the log, so that what is read next is what the test reads.
    send(&life, "t").await;
    (node, life)
}

#[tokio::test(flavor = "multi_thread")]
async fn while_it_is_read() {
    let (node, life) = with_records_in_files().await;
    node.faults.fail_next_read(life.deletion("t"));
    assert_eq!(life.read("t", 0, 0).await.unwrap_err(), FetchError::UnknownPartition);
    goes_on(life).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn while_a_time_is_looked_up_in_it() {
    let (node, life) = with_records_in_files().await;
    node.faults.fail_next_read(life.deletion("t"));
    let listed = life.list("t", OffsetQuery::At(Timestamp::new(1))).finish().await;
    assert_eq!(only(listed).unwrap_err(), FetchError::UnknownPartition);
    goes_on(life).await;
}
