//! The cleaner in a running broker: when it looks, what it leaves, what a failure costs.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a test may panic, and plays the machine and the operator"
)]

mod support;

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use highwater::broker::{Acks, Lookup};
use highwater::config::{BrokerSettings, Sources};
use highwater::log::builder::{BatchBuilder, BatchTemplate};
use highwater::log::scan::scan;
use highwater::types::Timestamp;
use support::broker::{Life, Node, now};
use support::logs::bytes_of;

const KEYS: usize = 5;

/// Segments of a few batches, cleaned whenever there is something.
const COMPACT: &[(&str, &str)] = &[
    ("cleanup.policy", "compact"),
    ("internal.segment.bytes", "1000"),
    ("min.cleanable.dirty.ratio", "0.01"),
    ("file.delete.delay.ms", "0"),
];

fn settings(given: &[(&str, &str)]) -> BrokerSettings {
    let mut flags = vec![("log.cleaner.backoff.ms".to_owned(), "0".to_owned())];
    flags.extend(given.iter().map(|(key, value)| (key.to_string(), value.to_string())));
    highwater::config::load(Sources { flags, ..Sources::default() }).expect("valid").settings
}

fn node(given: &[(&str, &str)]) -> Node {
    Node { settings: settings(given), ..Node::new() }
}

fn keyed(key: usize, value: &str) -> Vec<u8> {
    let mut batch = BatchBuilder::new(BatchTemplate::default());
    batch.append(Timestamp::new(now()), Some(format!("k{key}").as_bytes()), Some(value.as_bytes()));
    batch.build().unwrap()
}

/// Sends `count` records whose keys take turns; the values are numbers from `from` on.
async fn send(life: &Life, topic: &str, from: usize, count: usize) {
    for number in from..from + count {
        let batch = keyed(number % KEYS, &format!("{number}"));
        life.send(topic, 0, Acks::All, &batch).await.expect("acknowledged");
    }
}

/// Waits until the cleaner has come so far that `done` holds of the values that are left.
async fn cleaned(node: &Node, life: &Life, topic: &str, done: impl Fn(usize) -> bool) {
    let mut checkpoints = node.faults.cleaner_checkpoints.subscribe();
    while !done(life.values(topic, 0, 0).await.len()) {
        checkpoints.changed().await.expect("the faults outlive the broker");
    }
}

/// Where the active segment of partition 0 begins.
fn active_base(node: &Node, topic: &str) -> usize {
    let entries = std::fs::read_dir(node.path().join(format!("{topic}-0"))).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let bases = names.filter_map(|name| name.strip_suffix(".log")?.parse().ok());
    bases.max().expect("a segment")
}

/// The newest value of each key among `values`, which are numbers that count up.
fn newest(values: &[(i64, String)]) -> BTreeMap<usize, String> {
    let numbers = values.iter().map(|(_, value)| value.parse::<usize>().unwrap());
    numbers.map(|number| (number % KEYS, number.to_string())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn of_each_key_the_newest_record_stays_at_its_offset() {
    let node = node(&[]);
    let life = node.start();
    life.create("t", 1, COMPACT);
    send(&life, "t", 0, 300).await;
    // What the active segment holds is not cleaned.
    cleaned(&node, &life, "t", |left| left < 30).await;
    let values = life.values("t", 0, 0).await;
    assert!(values.iter().all(|(offset, value)| offset.to_string() == *value));
    let expected: BTreeMap<usize, String> =
        (295..300).map(|number: usize| (number % KEYS, number.to_string())).collect();
    assert_eq!(newest(&values), expected);
    let from_gap = life.values("t", 0, 7).await;
    assert_eq!(newest(&from_gap), expected, "a reader in a gap gets what follows it");
    life.stop().await;

    let life = node.start();
    assert_eq!(newest(&life.values("t", 0, 0).await), expected, "after a clean stop");
    life.crash().await;
    let life = node.start();
    assert_eq!(newest(&life.values("t", 0, 0).await), expected, "after a crash");
    send(&life, "t", 300, 100).await;
    cleaned(&node, &life, "t", |left| left < 30).await;
    life.stop().await;
    let checkpoint = std::fs::read_to_string(node.path().join("cleaner-offset-checkpoint"));
    let checkpoint = checkpoint.unwrap();
    let line = checkpoint.lines().find(|line| line.starts_with("t 0 ")).expect("an entry");
    let offset: i64 = line.rsplit(' ').next().unwrap().parse().unwrap();
    assert!((370..400).contains(&offset), "{checkpoint}");
    node.check();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fetch_at_every_offset_of_a_cleaned_range_gets_on() {
    let node = node(&[]);
    let life = node.start();
    life.create("t", 1, COMPACT);
    send(&life, "t", 0, 300).await;
    cleaned(&node, &life, "t", |left| left < 30).await;
    for offset in 0..300 {
        let fetched = life.read("t", 0, offset).await.expect("readable");
        let bytes = bytes_of(&fetched.records);
        let first = scan(&bytes).next().unwrap_or_else(|| panic!("nothing at {offset}")).1;
        assert!(first.last_offset().get() >= offset, "what is at {offset} ends before it");
    }
    life.stop().await;
    node.check();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_policy_changes_neither_offsets_nor_what_is_read() {
    let node = node(&[]);
    let mut life = node.start();
    life.create("t", 1, COMPACT);
    send(&life, "t", 0, 300).await;
    // All that can be cleaned is: up to the active segment.
    let most = KEYS + 300 - active_base(&node, "t");
    cleaned(&node, &life, "t", |left| left <= most).await;
    let values = life.values("t", 0, 0).await;
    for policy in ["delete", "compact,delete", "compact"] {
        life.configure("t", &[("cleanup.policy", policy)]);
        assert_eq!(life.values("t", 0, 0).await, values, "{policy}");
        life.stop().await;
        life = node.start();
        assert_eq!(life.values("t", 0, 0).await, values, "{policy}, after a restart");
    }
    send(&life, "t", 300, 300).await;
    cleaned(&node, &life, "t", |left| left < 30).await;
    life.stop().await;
    node.check();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_topic_that_becomes_compacted_is_cleaned() {
    let node = node(&[]);
    let life = node.start();
    life.create("t", 1, &COMPACT[1..]);
    send(&life, "t", 0, 100).await;
    assert_eq!(life.values("t", 0, 0).await.len(), 100);
    life.configure("t", &[("cleanup.policy", "compact")]);
    cleaned(&node, &life, "t", |left| left < 30).await;
    life.stop().await;
}

/// What may be lost with the power does not take the place of what is on disk: where producers wait for no sync, the cleaner does.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_cleaned_before_it_is_synced() {
    let node = node(&[]);
    let life = node.start();
    let by_time = [("highwater.durability", "os"), ("segment.ms", "1")];
    let never = [("cleanup.policy", "delete"), ("retention.ms", "-1")];
    life.create("t", 1, &[&never[..], &by_time, &COMPACT[2..]].concat());
    let begin = now() - 1_000;
    for number in 0..20 {
        let mut batch = BatchBuilder::new(BatchTemplate::default());
        let key = format!("k{}", number % KEYS as i64);
        let time = Timestamp::new(begin + 10 * number);
        batch.append(time, Some(key.as_bytes()), Some(number.to_string().as_bytes()));
        let batch = batch.build().unwrap();
        life.send("t", 0, Acks::All, &batch).await.expect("acknowledged");
    }
    assert_eq!(life.synced_end("t", 0).get(), 0, "the segments are nowhere near full");
    let directory = node.path().join("t-0");
    let (tell, told) = tokio::sync::oneshot::channel();
    node.faults.before_directory_sync("t-0", move || {
        let names = std::fs::read_dir(directory).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let _ = tell.send(names.filter(|name| name.ends_with(".cleaned")).collect::<Vec<_>>());
    });
    life.configure("t", &COMPACT[..1]);
    assert_eq!(told.await.expect("a sync"), Vec::<String>::new(), "files of the cleaner");
    cleaned(&node, &life, "t", |left| left <= KEYS + 1).await;
    life.stop().await;
    node.check();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_log_is_left_alone_and_the_others_are_cleaned() {
    let node = node(&[]);
    node.directories.are_spoilt();
    let life = node.start();
    // Nothing is cleaned before the damage is done.
    let lazy: Vec<(&str, &str)> = COMPACT
        .iter()
        .map(|(key, value)| (*key, if value.starts_with("0.") { "1.0" } else { *value }))
        .collect();
    life.create("bad", 1, &lazy);
    send(&life, "bad", 0, 100).await;
    let file = node.path().join("bad-0/00000000000000000000.log");
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[70] ^= 1;
    std::fs::write(&file, bytes).unwrap();
    life.configure("bad", &[("min.cleanable.dirty.ratio", "0.0")]);
    life.create("good", 1, COMPACT);
    send(&life, "good", 0, 100).await;
    cleaned(&node, &life, "good", |left| left < 30).await;
    send(&life, "bad", 100, 50).await;
    send(&life, "good", 100, 100).await;
    cleaned(&node, &life, "good", |left| left < 30).await;
    let mut metrics = String::new();
    life.broker.metrics.expose(&mut metrics);
    let row = "kafka_log_logcleanermanager_uncleanable_partitions_count{reason=\"damaged\"} 1";
    assert!(metrics.contains(row), "{metrics}");
    let Lookup::Open(bad) = life.find("bad", 0) else { panic!("it is open") };
    assert!(!bad.directory().is_offline(), "it is read and written as before");
    life.stop().await;
}

/// A node whose cleaner maps so many keys at a time.
fn node_that_maps(keys: usize) -> Node {
    // A slot has 24 bytes, and one of them stays free.
    node(&[("log.cleaner.dedupe.buffer.size", &(24 * (keys + 1)).to_string())])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_with_more_keys_than_the_map_takes_is_cleaned_in_several_passes() {
    let node = node_that_maps(KEYS - 1);
    let life = node.start();
    life.create("t", 1, COMPACT);
    send(&life, "t", 0, 100).await;
    cleaned(&node, &life, "t", |left| left < 20).await;
    let expected: BTreeMap<usize, String> =
        (95..100).map(|number: usize| (number % KEYS, number.to_string())).collect();
    assert_eq!(newest(&life.values("t", 0, 0).await), expected);
    assert!(*node.faults.cleaner_checkpoints.borrow() > 10, "each pass says how far it came");
    assert_eq!(life.broker.metrics.cleaner_uncleanable.of_all(), 0);
    life.stop().await;
    node.check();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_with_more_keys_than_the_map_takes_is_left_alone_and_told_of() {
    let node = node_that_maps(KEYS - 1);
    let life = node.start();
    life.create("bad", 1, COMPACT);
    let mut batch = BatchBuilder::new(BatchTemplate::default());
    for key in 0..=KEYS {
        batch.append(Timestamp::new(now()), Some(format!("k{key}").as_bytes()), Some(b"value"));
    }
    let batch = batch.build().unwrap();
    for _ in 0..20 {
        life.send("bad", 0, Acks::All, &batch).await.expect("acknowledged");
    }
    life.create("good", 1, COMPACT);
    for round in 0..2 {
        send(&life, "good", 100 * round, 100).await;
        cleaned(&node, &life, "good", |left| left < 20).await;
    }
    let mut metrics = String::new();
    life.broker.metrics.expose(&mut metrics);
    let row = "kafka_log_logcleanermanager_uncleanable_partitions_count{reason=\"keys\"} 1";
    assert!(metrics.contains(row), "{metrics}");
    assert_eq!(life.values("bad", 0, 0).await.len(), 20 * (KEYS + 1));
    life.stop().await;
    assert!(metrics.contains("highwater_cleaner_remaining_bytes "), "{metrics}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_room_a_log_is_cleaned_later() {
    let node = node(&[]);
    let life = node.start();
    life.create("t", 1, COMPACT);
    life.create("u", 1, &[]);
    node.faults.full_when_cleaning.store(true, Ordering::SeqCst);
    send(&life, "t", 0, 100).await;
    assert!(life.values("t", 0, 0).await.len() == 100, "nothing was replaced");
    node.faults.full_when_cleaning.store(false, Ordering::SeqCst);
    cleaned(&node, &life, "t", |left| left < 30).await;
    assert!(life.broker.metrics.cleaner_uncleanable.of_all() == 0);
    life.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_topic_takes_its_cleaning_with_it() {
    let node = node(&[("log.cleaner.io.max.bytes.per.second", "20000")]);
    let life = node.start();
    for round in 0..5 {
        life.create("t", 1, COMPACT);
        send(&life, "t", 0, 150).await;
        // The throttled cleaner is most likely in the middle of it.
        life.delete("t");
        let left: Vec<String> = node.names("t-0").into_iter().filter(|n| n == "t-0").collect();
        assert!(left.is_empty(), "round {round}");
    }
    life.create("t", 1, &[]);
    send(&life, "t", 0, 20).await;
    let names = std::fs::read_dir(node.path().join("t-0")).unwrap();
    for name in names {
        let name = name.unwrap().file_name().into_string().unwrap();
        assert!(!name.ends_with(".cleaned") && !name.ends_with(".swap"), "{name}");
    }
    assert_eq!(life.values("t", 0, 0).await.len(), 20);
    life.stop().await;
}
