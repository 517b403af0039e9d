//! Transactions from the first write to the last marker, on a broker without front ends.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a test may panic, and plays the machine and the operator"
)]

mod support;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use highwater::broker::{
    FetchError, Fetched, Lookup, MarkError, OffsetQuery, PartitionAppendError, ProduceError,
    WriteMarker,
};
use highwater::coordinator::transactions::TransactionError;
use highwater::env::ManualClock;
use highwater::log::{AppendError, Isolation};
use highwater::types::{Marker, Offset, Outcome, Timestamp, TransactionVersion};
use support::broker::{Life, Node, now, only};
use support::transactions::{Producer, partition};

use TransactionVersion::{V1, V2};

const OS: (&str, &str) = ("highwater.durability", "os");

/// A broker with the topic `t` of one partition, and a producer that may write there in a transaction.
async fn begun(version: TransactionVersion) -> (Node, Life, Producer) {
    let node = Node::new();
    let life = node.start();
    life.create("t", 1, &[]);
    let producer = joined(&life, version).await;
    (node, life, producer)
}

/// In version 1 it has to say first where it will write.
async fn joined(life: &Life, version: TransactionVersion) -> Producer {
    let producer = Producer::begin(life, "x", version).await;
    if version == V1 {
        producer.add(life, &[("t", 0)]).await;
    }
    producer
}

/// Waits until read_committed consumers see something at or above `from`.
async fn committed(life: &Life, topic: &str, from: i64) -> Fetched {
    let asked = life.fetch_of(topic, 0, from);
    only(life.fetch_as(Isolation::ReadCommitted, asked, Some(1)).finish().await).unwrap()
}

async fn stable_end(life: &Life, topic: &str) -> i64 {
    let listed = life.list_as(Isolation::ReadCommitted, topic, OffsetQuery::Latest);
    only(listed.finish().await).unwrap().offset.get()
}

#[tokio::test]
async fn in_version_1_a_partition_must_have_been_added() {
    let node = Node::new();
    let life = node.start();
    life.create("t", 2, &[]);
    let mut producer = Producer::begin(&life, "x", V1).await;
    let refused = producer.send(&life).await;
    assert!(matches!(refused, Err(ProduceError::Transaction(_))), "{refused:?}");
    producer.add(&life, &[("t", 0)]).await;
    assert_eq!(producer.send(&life).await.unwrap().base_offset, Offset::ZERO);
    let other = only(producer.produce(&life, &[("t", 1)]).finish().await);
    assert!(
        matches!(other, Err(ProduceError::Transaction(TransactionError::Abortable))),
        "{other:?}"
    );
    producer.end(&life, Outcome::Commit).await;
    assert_eq!(committed(&life, "t", 0).await.last_stable_offset, Offset::new(2));
    let late = producer.send(&life).await;
    assert!(matches!(late, Err(ProduceError::Transaction(_))), "{late:?}");
    life.stop().await;
}

#[tokio::test]
async fn in_version_2_writing_adds_the_partition_and_the_next_transaction_needs_no_pause() {
    let (_node, life, mut producer) = begun(V2).await;
    for round in 0..20 {
        assert_eq!(producer.send(&life).await.unwrap().base_offset, Offset::new(3 * round));
        producer.send(&life).await.unwrap();
        producer.end(&life, if round % 2 == 0 { Outcome::Commit } else { Outcome::Abort }).await;
    }
    let last = committed(&life, "t", 59).await;
    assert_eq!(last.last_stable_offset, Offset::new(60));
    let all = committed(&life, "t", 0).await;
    let aborted = all.aborted.unwrap();
    assert_eq!(aborted.len(), 10);
    assert_eq!(aborted[0].first_offset, Offset::new(3));
    life.stop().await;
}

#[tokio::test]
async fn a_request_joins_each_of_its_partitions() {
    let node = Node::new();
    let life = node.start();
    life.create("t", 3, &[]);
    life.create("u", 1, &[]);
    let mut producer = Producer::begin(&life, "x", V1).await;
    producer.add(&life, &[("t", 0), ("u", 0)]).await;
    let sent = producer.produce(&life, &[("t", 0), ("t", 2), ("u", 0), ("gone", 0)]).finish().await;
    assert!(sent[0].is_ok() && sent[2].is_ok(), "{sent:?}");
    assert!(matches!(sent[1], Err(ProduceError::Transaction(TransactionError::Abortable))));
    assert!(matches!(sent[3], Err(ProduceError::UnknownPartition)));
    producer.end(&life, Outcome::Abort).await;
    for topic in ["t", "u"] {
        committed(&life, topic, 1).await;
        assert_eq!(stable_end(&life, topic).await, 2);
    }
    life.stop().await;
}

#[tokio::test]
async fn consumers_that_wait_for_a_transaction_are_woken_by_its_end() {
    let node = Node::new();
    let life = node.start();
    life.create("t", 1, &[OS]);
    let mut producer = Producer::begin(&life, "x", V2).await;
    producer.send(&life).await.unwrap();
    life.send_value("t", "held back").await;
    assert_eq!(stable_end(&life, "t").await, 0);
    let waiting = committed(&life, "t", 0);
    let (fetched, ()) = tokio::join!(waiting, producer.end(&life, Outcome::Commit));
    assert_eq!(fetched.last_stable_offset, Offset::new(3));
    life.stop().await;
}

#[tokio::test]
async fn the_records_of_a_transaction_are_not_shown_before_its_marker_is_durable() {
    let (node, life, mut producer) = begun(V1).await;
    producer.send(&life).await.unwrap();
    node.faults.hold_syncs();
    let marker = marker(&producer, Outcome::Commit, 0);
    let asked = vec![WriteMarker { marker, partitions: vec![partition("t", 0)] }];
    let written = tokio::spawn(life.broker.write_transaction_markers(asked));
    let ends = loop {
        let highwater::broker::Lookup::Open(open) = life.find("t", 0) else { panic!("open") };
        let ends = open.ends();
        if ends.view.log_end == Offset::new(2) {
            break ends;
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(ends.high_watermark, Offset::new(1));
    assert_eq!(ends.view.first_open, None, "it has ended");
    assert_eq!(ends.last_stable_offset, Offset::ZERO);
    node.faults.release_syncs();
    assert!(written.await.unwrap()[0][0].is_ok());
    assert_eq!(stable_end(&life, "t").await, 2);
    life.stop().await;
}

fn marker(producer: &Producer, outcome: Outcome, coordinator_epoch: i32) -> Marker {
    Marker { producer: producer.me, outcome, coordinator_epoch, version: producer.version }
}

#[tokio::test]
async fn a_deleted_topic_does_not_keep_a_transaction_from_ending() {
    let (_node, life, mut producer) = begun(V2).await;
    life.create("gone", 1, &[]);
    let sent = producer.produce(&life, &[("gone", 0), ("t", 0)]).finish().await;
    assert!(sent.iter().all(Result::is_ok), "{sent:?}");
    life.delete("gone");
    producer.end(&life, Outcome::Commit).await;
    committed(&life, "t", 0).await;
    producer.send(&life).await.expect("the next transaction can begin");
    life.stop().await;
}

#[tokio::test]
async fn what_was_prepared_ends_in_the_next_life() {
    let (node, life, mut producer) = begun(V2).await;
    producer.send(&life).await.unwrap();
    producer.end(&life, Outcome::Abort).await;
    // The markers may or may not be there.
    life.crash().await;
    let life = node.start();
    committed(&life, "t", 1).await;
    assert_eq!(committed(&life, "t", 0).await.aborted.unwrap().len(), 1);
    let mut again = joined(&life, V2).await;
    again.send(&life).await.unwrap();
    again.end(&life, Outcome::Commit).await;
    life.stop().await;
}

#[tokio::test]
async fn an_open_transaction_holds_consumers_back_in_the_next_life_too() {
    let (node, life, mut producer) = begun(V1).await;
    producer.send(&life).await.unwrap();
    life.send_value("t", "held back").await;
    life.crash().await;
    let life = node.start();
    assert_eq!(stable_end(&life, "t").await, 0);
    producer.send(&life).await.expect("it goes on");
    producer.end(&life, Outcome::Commit).await;
    committed(&life, "t", 1).await;
    assert_eq!(stable_end(&life, "t").await, 4);
    life.stop().await;
}

#[tokio::test]
async fn a_transaction_that_nobody_knows_of_is_found_and_ended_by_an_admin() {
    let node = Node::new();
    let life = node.start();
    life.create("t", 1, &[]);
    life.set_for_all_brokers("transaction.partition.verification.enable", "false");
    let mut producer = Producer::begin(&life, "x", V1).await;
    producer.send(&life).await.expect("nobody verifies");
    let known = |index| life.broker.describe_producers(life.find("t", index));
    let open = known(0).unwrap()[0];
    assert_eq!((open.id, open.transaction_start), (producer.me.id, Some(Offset::ZERO)));
    assert!(known(7).is_err());
    let zombie = Marker { coordinator_epoch: -2, ..marker(&producer, Outcome::Abort, 0) };
    let partitions = vec![partition("t", 0), partition("gone", 0)];
    let end = |marker| vec![WriteMarker { marker, partitions: partitions.clone() }];
    let verdicts = life.broker.write_transaction_markers(end(zombie)).await;
    let [Err(MarkError::Append(PartitionAppendError::Log(refusal))), Err(MarkError::Gone)] =
        &verdicts[0][..]
    else {
        panic!("{verdicts:?}");
    };
    assert!(matches!(refusal, AppendError::CoordinatorFenced(_)), "{refusal}");
    let abort = marker(&producer, Outcome::Abort, 0);
    assert!(life.broker.write_transaction_markers(end(abort)).await[0][0].is_ok());
    assert_eq!(stable_end(&life, "t").await, 2);
    life.set_for_all_brokers("transaction.partition.verification.enable", "true");
    let refused = producer.send(&life).await;
    assert!(matches!(refused, Err(ProduceError::Transaction(_))), "{refused:?}");
    life.stop().await;
}

/// The longest transaction may take 15 minutes; Kafka gives it five more.
#[tokio::test]
async fn a_transaction_that_should_have_ended_long_ago_is_counted_until_it_ends() {
    const MINUTE_MS: i64 = 60_000;
    for (age_minutes, late) in [(19, 0), (21, 1)] {
        let clock = ManualClock::new(Timestamp::new(now() + age_minutes * MINUTE_MS));
        let node = Node { clock: Arc::new(clock), ..Node::new() };
        let life = node.start();
        life.create("t", 2, &[]);
        let mut producer = joined(&life, V1).await;
        // Its time is that of this machine, and so of that age to the broker.
        producer.send(&life).await.unwrap();
        life.send_value("t", "held back").await;
        assert_eq!(life.broker.partitions_with_late_transactions(), late);
        producer.end(&life, Outcome::Commit).await;
        committed(&life, "t", 1).await;
        assert_eq!(life.broker.partitions_with_late_transactions(), 0);
        life.stop().await;
    }
}

/// As with Kafka, whoever writes a marker hears of the disk and may come again; readers are shown nothing that is not durable.
#[tokio::test]
async fn a_marker_that_the_disk_does_not_take_is_refused_and_ends_nothing() {
    let (node, life, mut producer) = begun(V1).await;
    producer.send(&life).await.unwrap();
    let end = || {
        let marker = marker(&producer, Outcome::Commit, 0);
        vec![WriteMarker { marker, partitions: vec![partition("t", 0)] }]
    };
    node.faults.sync_fails.store(true, Ordering::SeqCst);
    let verdicts = life.broker.write_transaction_markers(end()).await;
    assert!(matches!(verdicts[0][..], [Err(MarkError::Offline)]), "{verdicts:?}");
    let verdicts = life.broker.write_transaction_markers(end()).await;
    let [Err(MarkError::Append(PartitionAppendError::Offline))] = &verdicts[0][..] else {
        panic!("{verdicts:?}");
    };
    let listed = life.list_as(Isolation::ReadCommitted, "t", OffsetQuery::Latest).finish().await;
    assert!(matches!(only(listed), Err(FetchError::Storage)));
    let Lookup::Open(log) = life.find("t", 0) else { panic!("it is open") };
    assert_eq!(log.ends().last_stable_offset, Offset::ZERO);
    drop(log);
    life.crash().await;
}

#[tokio::test]
async fn a_fenced_producer_writes_nothing() {
    let node = Node::new();
    let life = node.start();
    life.create("t", 1, &[]);
    for version in [V1, V2] {
        let mut first = joined(&life, version).await;
        first.send(&life).await.unwrap();
        let mut second = Producer::begin(&life, "x", version).await;
        let refused = first.send(&life).await;
        assert!(refused.is_err(), "{refused:?}");
        assert_eq!(
            first.try_end(&life, Outcome::Commit).await,
            Err(TransactionError::ProducerFenced)
        );
        if version == V1 {
            second.add(&life, &[("t", 0)]).await;
        }
        second.send(&life).await.unwrap();
        second.end(&life, Outcome::Commit).await;
    }
    life.stop().await;
}
