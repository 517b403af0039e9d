//! The cleaner and transactions, in a broker with real markers: a topic that transactions write to, and the log of their coordinator.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a test may panic, and plays the machine and the operator"
)]

mod support;

use std::collections::{BTreeMap, BTreeSet};

use highwater::broker::TRANSACTION_STATE;
use highwater::config::{BrokerSettings, Sources};
use highwater::coordinator::transactions::TransactionState;
use highwater::log::batch::HEADER_LEN;
use highwater::log::record::Records;
use highwater::log::{AbortedTransaction, Isolation, scan};
use highwater::types::{Outcome, TransactionVersion};
use support::broker::{Life, Node, only};
use support::logs::bytes_of;
use support::transactions::{Producer, describe};

use TransactionVersion::{V1, V2};

const KEYS: usize = 5;

/// Segments of a few batches, cleaned whenever there is something.
const SMALL: [(&str, &str); 3] = [
    ("internal.segment.bytes", "1000"),
    ("min.cleanable.dirty.ratio", "0.01"),
    ("file.delete.delay.ms", "0"),
];

fn node() -> Node {
    let flags = [("log.cleaner.backoff.ms", "0"), ("transaction.state.log.num.partitions", "1")];
    let flags = flags.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec();
    let sources = Sources { flags, ..Sources::default() };
    let settings: BrokerSettings = highwater::config::load(sources).expect("valid").settings;
    Node { settings, ..Node::new() }
}

async fn after_stop(node: &Node, life: Life) -> Life {
    life.stop().await;
    node.start()
}

async fn after_crash(node: &Node, life: Life) -> Life {
    life.crash().await;
    node.start()
}

/// A transaction that writes two records; the values are numbers, the keys take turns.
async fn transact(life: &Life, producer: &mut Producer, number: usize, outcome: Outcome) {
    if producer.version == V1 {
        producer.add(life, &[("t", 0)]).await;
    }
    for number in [number, number + 1] {
        producer.send_keyed(life, &format!("k{}", number % KEYS), &number.to_string()).await;
    }
    producer.end(life, outcome).await;
}

/// Waits until what these have ended has its markers: whoever begins anew waits for the end of what was before.
async fn settled(life: &Life, producers: &mut [Producer]) {
    for producer in producers {
        *producer = Producer::begin(life, producer.id.as_str(), producer.version).await;
    }
}

/// A log as its batches lie in it.
#[derive(Debug, Default)]
struct Seen {
    /// Of each key the newest value that a read_committed consumer is given.
    newest: BTreeMap<String, usize>,
    /// Every value that it is given.
    committed: BTreeSet<usize>,
    /// Data records, given to it or not.
    records: usize,
    markers: usize,
}

/// Reads all that a read_committed consumer may read of a partition and filters it as Kafka's clients do.
async fn read(life: &Life, topic: &str) -> Seen {
    let (mut seen, mut from) = (Seen::default(), 0);
    loop {
        let asked = life.fetch_of(topic, 0, from);
        let fetched = life.fetch_as(Isolation::ReadCommitted, asked, None).finish().await;
        let fetched = only(fetched).expect("readable");
        if fetched.records.len == 0 {
            return seen;
        }
        let aborted = fetched.aborted.expect("a list");
        from = seen.add(&bytes_of(&fetched.records), aborted);
    }
}

impl Seen {
    /// Adds what one fetch has brought; where the next one begins.
    fn add(&mut self, bytes: &[u8], mut aborted: Vec<AbortedTransaction>) -> i64 {
        let (mut next, mut skipped) = (0, BTreeSet::new());
        for (_, stored) in scan::scan(bytes) {
            let header = stored.header().expect("magic 2");
            next = stored.last_offset().get() + 1;
            let begun = aborted.extract_if(.., |one| one.first_offset <= stored.last_offset());
            skipped.extend(begun.map(|one| one.producer_id));
            if header.is_control() {
                self.markers += 1;
                skipped.remove(&header.producer_id);
                continue;
            }
            self.records += header.records_count as usize;
            if !skipped.contains(&header.producer_id) {
                self.give(Records::new(&stored.bytes()[HEADER_LEN..], header.records_count));
            }
        }
        next
    }

    fn give(&mut self, records: Records<'_>) {
        for record in records {
            let record = record.expect("a whole record");
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            let value = text(record.value.expect("a value")).parse().unwrap();
            self.newest.insert(text(record.key.expect("a key")), value);
            self.committed.insert(value);
        }
    }
}

/// Waits until the cleaner has left few records of a topic.
async fn cleaned(node: &Node, life: &Life, topic: &str, most: usize) -> Seen {
    let mut checkpoints = node.faults.cleaner_checkpoints.subscribe();
    loop {
        let seen = read(life, topic).await;
        if seen.records <= most {
            return seen;
        }
        checkpoints.changed().await.expect("the faults outlive the broker");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_each_key_the_newest_committed_value_stays_and_what_was_aborted_goes() {
    let node = node();
    let life = node.start();
    let configs = [&SMALL[..], &[("cleanup.policy", "compact")]].concat();
    life.create("t", 1, &configs);
    let mut producers =
        [Producer::begin(&life, "one", V1).await, Producer::begin(&life, "two", V2).await];
    let (mut newest, mut aborted) = (BTreeMap::new(), BTreeSet::new());
    for number in (0..300).step_by(2) {
        let outcome = if number % 3 == 0 { Outcome::Abort } else { Outcome::Commit };
        transact(&life, &mut producers[number / 2 % 2], number, outcome).await;
        for number in [number, number + 1] {
            match outcome {
                Outcome::Abort => drop(aborted.insert(number)),
                Outcome::Commit => drop(newest.insert(format!("k{}", number % KEYS), number)),
            }
        }
    }
    settled(&life, &mut producers).await;
    // Nothing at or behind an open transaction is cleaned.
    let mut open = Producer::begin(&life, "open", V2).await;
    open.send_keyed(&life, "k0", "1000").await;
    for number in (300..400).step_by(2) {
        transact(&life, &mut producers[0], number, Outcome::Commit).await;
    }
    let seen = cleaned(&node, &life, "t", 30).await;
    assert_eq!(seen.newest, newest);
    assert_eq!(seen.committed.intersection(&aborted).count(), 0);
    assert!(seen.markers > 0, "they stay until their horizon");
    let life = after_stop(&node, life).await;
    assert_eq!(read(&life, "t").await.newest, newest, "after a clean stop");
    let life = after_crash(&node, life).await;
    assert_eq!(read(&life, "t").await.newest, newest, "after a crash");

    open.end(&life, Outcome::Commit).await;
    settled(&life, std::slice::from_mut(&mut open)).await;
    transact(&life, &mut producers[1], 400, Outcome::Commit).await;
    settled(&life, &mut producers).await;
    newest.extend((395..402).map(|number| (format!("k{}", number % KEYS), number)));
    let seen = cleaned(&node, &life, "t", 30).await;
    assert_eq!(seen.newest, newest, "the open one was written before these");
    assert_eq!(seen.committed.intersection(&aborted).count(), 0);
    life.stop().await;
}

async fn records_of_coordinator(life: &Life) -> usize {
    let (mut count, mut from) = (0, 0);
    loop {
        let fetched = life.read(TRANSACTION_STATE, 0, from).await.expect("readable");
        if fetched.records.len == 0 {
            return count;
        }
        let bytes = bytes_of(&fetched.records);
        for (_, stored) in scan::scan(&bytes) {
            count += stored.header().expect("magic 2").records_count as usize;
            from = stored.last_offset().get() + 1;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cleaner_changes_nothing_of_what_the_coordinator_of_transactions_knows() {
    let node = node();
    let life = node.start();
    life.create("t", 1, &[]);
    life.broker.ensure_transaction_topic().finish().await.expect("a topic");
    life.configure(TRANSACTION_STATE, &SMALL);

    let ids = ["a", "b", "c", "d"];
    let mut producers = Vec::new();
    for (id, version) in ids.into_iter().zip([V1, V2, V1, V2]) {
        producers.push(Producer::begin(&life, id, version).await);
    }
    for round in 0..60 {
        let outcome = if round % 3 == 0 { Outcome::Abort } else { Outcome::Commit };
        transact(&life, &mut producers[round % 4], 2 * round, outcome).await;
    }
    settled(&life, &mut producers).await;
    let mut open = Producer::begin(&life, "open", V1).await;
    open.add(&life, &[("t", 0)]).await;
    open.send_keyed(&life, "k0", "1000").await;
    let mut checkpoints = node.faults.cleaner_checkpoints.subscribe();
    while records_of_coordinator(&life).await > 30 {
        checkpoints.changed().await.expect("the faults outlive the broker");
    }

    let life = after_stop(&node, life).await;
    let mut life = after_crash(&node, life).await;
    for producer in &producers {
        let described = describe(&life, producer.id.as_str()).await;
        assert_eq!(described.producer, producer.me, "{}", producer.id);
        assert!(described.partitions.is_empty());
        assert_eq!(described.state, TransactionState::Empty);
    }
    let described = describe(&life, "open").await;
    assert_eq!((described.state, described.partitions.len()), (TransactionState::Ongoing, 1));
    open.end(&life, Outcome::Commit).await;
    let mut known: BTreeSet<_> = producers.iter().map(|producer| producer.me.id).collect();
    known.insert(open.me.id);
    assert_eq!(known.len(), 5, "every transactional id has a producer id of its own");
    for producer in &mut producers {
        let next = Producer::begin(&life, producer.id.as_str(), producer.version).await;
        assert_eq!(next.me.id, producer.me.id);
        assert!(next.me.epoch > producer.me.epoch, "the one before is fenced");
        *producer = next;
    }
    life = after_stop(&node, life).await;
    let new = Producer::begin(&life, "new", V2).await;
    assert!(!known.contains(&new.me.id), "no producer id is given twice");
    life.stop().await;
}
