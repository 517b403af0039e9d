//! What retention takes in a running broker, and what it must leave alone: offsets, ends, the newest records.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test may panic, and plays the operator"
)]

mod support;

use std::sync::Arc;

use highwater::broker::{FetchError, OffsetQuery};
use highwater::env::ManualClock;
use highwater::metadata::{ConfigChange, ConfigResource};
use highwater::types::{Timestamp, TopicName};
use support::broker::{Life, Node, now, only, values_in};
use support::logs::bytes_of;

/// Time between two passes of retention.
const PASS_MS: i64 = 300_000;

fn in_frozen_time() -> (Node, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::new(Timestamp::new(now())));
    (Node { clock: Arc::<ManualClock>::clone(&clock), ..Node::new() }, clock)
}

async fn offset(life: &Life, topic: &str, query: OffsetQuery) -> i64 {
    only(life.list(topic, query).finish().await).unwrap().offset.get()
}

/// Lets passes of retention come until the log begins at `start`. They run here or in the background, whoever sees first that
/// one is due.
async fn passes_until(life: &Life, clock: &ManualClock, topic: &str, start: i64) {
    while offset(life, topic, OffsetQuery::Earliest).await != start {
        clock.advance_ms(PASS_MS);
        life.broker.run_due_jobs();
    }
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

fn set(life: &Life, topic: &str, key: &str, value: &str) {
    let change = ConfigChange {
        resource: ConfigResource::Topic(TopicName::new(topic).unwrap()),
        key: key.to_owned(),
        value: Some(value.to_owned()),
    };
    life.broker.metadata.change_configs(vec![change]).expect("changed");
    life.broker.apply_image();
}

/// The end of the log is where everything has expired, also what nobody has written behind: the segment in use is rolled.
#[tokio::test(flavor = "multi_thread")]
async fn a_partition_whose_records_have_all_expired_begins_where_it_ends() {
    let (node, clock) = in_frozen_time();
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
    let (node, clock) = in_frozen_time();
    let life = node.start();
    life.create("t", 1, &[("retention.ms", "-1")]);
    life.create("kept", 1, &[("retention.ms", "-1")]);
    life.send_value("t", "old").await;
    life.send_value("kept", "old").await;
    clock.advance_ms(1_000 * PASS_MS);
    life.broker.run_due_jobs();
    assert_eq!(life.values("t", 0, 0).await.len(), 1, "without a limit nothing goes");
    set(&life, "t", "retention.ms", "5000");
    passes_until(&life, &clock, "t", 1).await;
    assert_eq!(life.values("kept", 0, 0).await.len(), 1);
    life.stop().await;
}

/// Offsets stay with their records, ends only rise, whatever retention takes away, and over restarts.
#[tokio::test(flavor = "multi_thread")]
async fn retention_moves_no_offset() {
    let (node, clock) = in_frozen_time();
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
