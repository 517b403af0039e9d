//! The wall clock is set forward or back by hours under a running broker. What waits runs on the monotonic clock; what is said in
//! dates (retention, horizons, timestamps) follows the wall clock, as in Kafka. Times of groups and of transactions step by step are
//! in the coordinators' own tests.

use std::sync::Arc;

use highwater::broker::{Acks, OffsetQuery, ProduceError};
use highwater::env::{Clock, ManualClock};
use highwater::log::Isolation;
use highwater::types::{Outcome, TransactionVersion};

use super::support::batches::{Sender, batch};
use super::support::broker::{Life, Node, only};
use super::support::transactions::Producer;

const HOUR_MS: i64 = 3_600_000;
/// Time between two passes of retention.
const PASS_MS: i64 = 300_000;
const EXPIRY_PASS_MS: i64 = 600_000;
const STEPS: [i64; 2] = [6 * HOUR_MS, -6 * HOUR_MS];

/// Topic `t` and a record in it.
async fn started(configs: &[(&str, &str)]) -> (Node, Arc<ManualClock>, Life) {
    let (node, clock) = Node::in_frozen_time();
    let life = node.start();
    life.create("t", 1, configs);
    life.send_value("t", "first").await;
    (node, clock, life)
}

async fn offset(life: &Life, query: OffsetQuery) -> i64 {
    only(life.list("t", query).finish().await).unwrap().offset.get()
}

/// A pass of retention; the second record is there for the syncs that it may wait for.
async fn pass(life: &Life, clock: &ManualClock) {
    clock.advance_ms(PASS_MS);
    life.broker.run_due_jobs();
    life.send_value("probe", "synced").await;
    life.broker.run_due_jobs();
}

fn sequenced(clock: &ManualClock, sequence: i32) -> Vec<u8> {
    let sender = Sender { id: 7, epoch: 0, sequence, transactional: false };
    batch(&[(b"v", clock.wall().get())], Some(sender))
}

#[tokio::test(flavor = "multi_thread")]
async fn retention_takes_what_is_too_old_by_the_new_time_and_nothing_more() {
    for (step, earliest) in [(6 * HOUR_MS, 1), (-6 * HOUR_MS, 0)] {
        let (_node, clock, life) = started(&[("retention.ms", "7200000")]).await;
        life.create("probe", 1, &[]);
        clock.step_wall_ms(step);
        while offset(&life, OffsetQuery::Earliest).await != earliest {
            pass(&life, &clock).await;
        }
        pass(&life, &clock).await;
        assert_eq!(offset(&life, OffsetQuery::Earliest).await, earliest, "{step}");
        // What is written now is not too old, and back in time it stays.
        life.send_value("t", "second").await;
        clock.step_wall_ms(-step);
        pass(&life, &clock).await;
        assert!(life.values("t", 0, earliest).await.iter().any(|(at, _)| *at == 1), "{step}");
        life.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_segment_ends_by_the_times_of_its_records_whatever_the_clock_says() {
    for step in STEPS {
        let (node, clock, life) = started(&[("segment.ms", "7200000")]).await;
        let segments = || {
            let entries = std::fs::read_dir(node.path().join("t-0")).unwrap();
            entries
                .filter(|entry| entry.as_ref().unwrap().path().extension() == Some("log".as_ref()))
                .count()
        };
        let begin = clock.wall().get();
        clock.step_wall_ms(step);
        let same_time = batch(&[(b"v", begin)], None);
        let sent = life.send("t", 0, Acks::All, &same_time).await;
        if step > 0 {
            sent.unwrap();
            assert_eq!(segments(), 1, "the records are of one time");
            life.send_value("t", "six hours later").await;
            assert_eq!(segments(), 2);
        } else {
            // A producer whose clock is right seems to be six hours ahead (message.timestamp.after.max.ms is one).
            assert!(matches!(sent, Err(ProduceError::Rejected(_))), "{sent:?}");
            life.send_value("t", "six hours earlier").await;
            assert_eq!(segments(), 1);
        }
        life.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn append_times_follow_the_clock_and_look_ups_by_time_go_on() {
    for step in STEPS {
        let (_node, clock, life) = started(&[("message.timestamp.type", "LogAppendTime")]).await;
        let begin = clock.wall();
        clock.step_wall_ms(step);
        let appended = life.send("t", 0, Acks::All, &batch(&[(b"v", 0)], None)).await.unwrap();
        assert_eq!(appended.log_append_time, clock.wall());
        // The first record at or after a time, in the order of offsets, as in Kafka.
        assert_eq!(offset(&life, OffsetQuery::At(begin)).await, 0, "{step}");
        let later = clock.wall().max(begin);
        let found = offset(&life, OffsetQuery::At(later)).await;
        assert_eq!(found, i64::from(step > 0), "{step}");
        life.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_producer_is_known_as_long_as_the_wall_clock_says() {
    for (step, is_known) in [(6 * HOUR_MS, true), (-6 * HOUR_MS, true), (30 * HOUR_MS, false)] {
        let (_node, clock, life) = started(&[]).await;
        life.send("t", 0, Acks::All, &sequenced(&clock, 0)).await.unwrap();
        clock.step_wall_ms(step);
        clock.advance_ms(EXPIRY_PASS_MS);
        life.broker.run_due_jobs();
        if is_known {
            let gap = life.send("t", 0, Acks::All, &sequenced(&clock, 7)).await;
            assert!(gap.is_err(), "{step}: {gap:?}");
            life.send("t", 0, Acks::All, &sequenced(&clock, 1)).await.unwrap();
        } else {
            // The pass runs here or in the background, whoever sees first that it is due.
            while life.send("t", 0, Acks::All, &sequenced(&clock, 7)).await.is_err() {
                life.broker.run_due_jobs();
            }
        }
        life.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_transaction_is_not_cut_short_and_commits() {
    for step in STEPS {
        let (_node, clock, life) = started(&[]).await;
        let mut producer = Producer::begin(&life, "p", TransactionVersion::V2).await;
        producer.send_at(&life, clock.wall().get()).await;
        clock.step_wall_ms(step);
        life.broker.run_due_jobs();
        producer.end(&life, Outcome::Commit).await;
        let asked = life.fetch_of("t", 0, 0);
        let fetched = only(life.fetch_as(Isolation::ReadCommitted, asked, None).finish().await);
        assert_eq!(fetched.unwrap().aborted, Some(Vec::new()), "{step}");
        life.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_wait_for_their_removal_go_once_the_delay_is_over_by_the_new_time() {
    let deleted = |node: &Node| {
        let entries = std::fs::read_dir(node.path().join("t-0")).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.ends_with(".deleted")).count()
    };
    for step in STEPS {
        let (node, clock, life) = started(&[("retention.ms", "1000")]).await;
        life.create("probe", 1, &[]);
        while deleted(&node) == 0 {
            pass(&life, &clock).await;
        }
        clock.step_wall_ms(step);
        // Set back, they stay as much longer; nobody misses the room for long.
        while deleted(&node) > 0 {
            clock.advance_ms(HOUR_MS);
            life.broker.run_due_jobs();
        }
        life.stop().await;
    }
}
