//! Transactions in the directories of Apache Kafka: known here as Kafka describes them, and those that it left open go on and end.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a test may panic, and plays the machine and the operator"
)]

mod support;

use std::collections::BTreeMap;

use highwater::broker::OffsetQuery;
use highwater::coordinator::transactions::{ListFilter, TransactionCommand, TransactionReply};
use highwater::log::Isolation;
use highwater::types::{
    Outcome, ProducerEpoch, ProducerId, ProducerIdAndEpoch, TransactionVersion,
};
use serde_json::{Value, json};
use support::broker::{Life, Node, only};
use support::golden::Golden;
use support::transactions::{Producer, describe};

use TransactionVersion::{V1, V2};

/// Directories, and the version of the clients that have written transactions there.
const FIXTURES: [(&str, TransactionVersion); 4] =
    [("clean-4.4", V2), ("clean-4.3", V2), ("clean-3.9", V1), ("killed-4.4", V2)];

/// It has written three records to one partition.
const OPEN: (&str, &str) = ("txn-left-open", "txn-open");

/// A directory of Kafka, ready to be opened, and what Kafka said of the transactions in it.
fn taken(fixture: &str) -> (Node, BTreeMap<String, Value>) {
    let (directory, expected) = Golden::unpack(fixture, "data.tar.gz").into_parts();
    let transactions = match expected.get("transactions") {
        Some(transactions) => transactions,
        None => &expected["afterKafkaStart"]["answers"]["transactions"],
    };
    let transactions = transactions.as_object().expect("transactions").iter();
    let transactions = transactions.map(|(id, told)| (id.clone(), told.clone())).collect();
    let node = Node { directories: directory.into(), ..Node::new() };
    if fixture.starts_with("killed") {
        // What is not opened here stays as the kill left it, with Kafka's preallocated indexes.
        node.directories.are_spoilt();
    }
    (node, transactions)
}

/// Every transactional id as Kafka's admin client prints it.
async fn printed(life: &Life) -> BTreeMap<String, Value> {
    let list = || TransactionCommand::List(ListFilter::default());
    let mut ids = Vec::new();
    for reply in life.broker.transaction_call_each(list).await {
        let Ok(TransactionReply::List(listed)) = reply else { panic!("{reply:?}") };
        ids.extend(listed.into_iter().map(|one| one.id.to_string()));
    }
    let mut all = BTreeMap::new();
    for id in ids {
        let told = describe(life, &id).await;
        let mut partitions: Vec<String> = told.partitions.iter().map(ToString::to_string).collect();
        partitions.sort();
        let told = json!({
            "partitions": partitions,
            "producerEpoch": told.producer.epoch.get(),
            "producerId": told.producer.id.get(),
            "state": format!("{:?}", told.state),
            "timeoutMs": told.timeout_ms,
        });
        all.insert(id, told);
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn transactions_of_kafka_are_what_kafka_said_they_were() {
    for (fixture, _) in FIXTURES {
        let (node, expected) = taken(fixture);
        assert!(expected.len() >= 5, "{fixture}");
        // The second life reads what the first one made of it.
        for life in 0..2 {
            let broker = node.start();
            assert_eq!(printed(&broker).await, expected, "{fixture}, life {life}");
            broker.stop().await;
        }
    }
}

/// The ends that consumers of either isolation are told.
async fn ends(life: &Life) -> [i64; 2] {
    let mut ends = [0; 2];
    for (end, isolation) in
        ends.iter_mut().zip([Isolation::ReadCommitted, Isolation::ReadUncommitted])
    {
        let listed = life.list_as(isolation, OPEN.1, OffsetQuery::Latest).finish().await;
        *end = only(listed).unwrap().offset.get();
    }
    ends
}

/// Producers whose records a consumer of committed records must skip.
async fn aborted(life: &Life) -> Vec<i64> {
    let asked = life.fetch_of(OPEN.1, 0, 0);
    let fetched = life.fetch_as(Isolation::ReadCommitted, asked, None).finish().await;
    let aborted = only(fetched).unwrap().aborted.expect("a list");
    aborted.iter().map(|one| one.producer_id.get()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_kafka_left_open_goes_on_and_ends_here() {
    for (fixture, version) in FIXTURES {
        for outcome in [Outcome::Commit, Outcome::Abort] {
            let (node, expected) = taken(fixture);
            let id = expected[OPEN.0]["producerId"].as_i64().expect("an id");
            let life = node.start();
            let [stable, end] = ends(&life).await;
            assert_eq!(stable, 0, "{fixture}");
            let me = ProducerIdAndEpoch { id: ProducerId::new(id), epoch: ProducerEpoch::new(0) };
            let mut producer = Producer::known(OPEN.0, me, version).with_sequence(3);
            let sent = only(producer.produce(&life, &[(OPEN.1, 0)]).finish().await);
            assert_eq!(sent.expect("it goes on").base_offset.get(), end, "{fixture}");
            producer.end(&life, outcome).await;
            // Whoever begins anew is answered once the end is everywhere.
            Producer::begin(&life, OPEN.0, version).await;
            let skipped = if outcome == Outcome::Abort { vec![id] } else { Vec::new() };
            let ended = ([end + 2; 2], skipped);
            assert_eq!((ends(&life).await, aborted(&life).await), ended, "{fixture}");
            life.stop().await;
            let life = node.start();
            assert_eq!((ends(&life).await, aborted(&life).await), ended, "{fixture}");
            life.stop().await;
        }
    }
}
