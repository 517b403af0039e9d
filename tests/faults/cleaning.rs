//! The power goes between any two changes of the disk while a log is written to and cleaned; then somebody makes it a log that is not
//! compacted any more, and the process is killed. The gaps that the cleaner has made are no lost data, whatever the policy is by then.

use std::collections::BTreeMap;
use std::sync::Arc;

use highwater::broker::Acks;
use highwater::config::{BrokerSettings, Sources};
use highwater::env::ManualClock;
use highwater::log::builder::{BatchBuilder, BatchTemplate};
use highwater::types::Timestamp;

use super::panics;
use super::support::broker::{Life, Node};
use super::support::faulty_files::Faults;
use super::support::simulated_disk::SimulatedDisk;

const BEGIN: Timestamp = Timestamp::new(1_700_000_000_000);
const KEYS: usize = 3;
/// Two for each segment.
const RECORDS: usize = 14;
/// Of each key one, and what the active segment holds.
const LEFT_MAX: usize = KEYS + 2;

const COMPACT: [(&str, &str); 4] = [
    ("cleanup.policy", "compact"),
    ("internal.segment.bytes", "250"),
    ("min.cleanable.dirty.ratio", "0.01"),
    ("file.delete.delay.ms", "0"),
];

fn settings() -> BrokerSettings {
    let flags = vec![("log.cleaner.backoff.ms".to_owned(), "0".to_owned())];
    highwater::config::load(Sources { flags, ..Sources::default() }).expect("valid").settings
}

/// The record that goes to the offset `number`.
fn record(number: usize) -> Vec<u8> {
    let mut batch = BatchBuilder::new(BatchTemplate::default());
    let key = format!("k{}", number % KEYS);
    batch.append(BEGIN, Some(key.as_bytes()), Some(number.to_string().as_bytes()));
    batch.build().unwrap()
}

/// Writes and lets the cleaner do its work; the newest acknowledged record of each key while there was power.
async fn live(node: &Node, disk: &SimulatedDisk) -> BTreeMap<usize, i64> {
    let life = node.start();
    life.create("t", 1, &COMPACT);
    let mut told = BTreeMap::new();
    for number in 0..RECORDS {
        let sent = life.send("t", 0, Acks::All, &record(number)).await.expect("acknowledged");
        assert_eq!(sent.base_offset.get(), number as i64);
        if disk.has_power() {
            told.insert(number % KEYS, number as i64);
        }
    }
    let mut rounds = node.faults.cleaner_checkpoints.subscribe();
    while life.values("t", 0, 0).await.len() > LEFT_MAX {
        rounds.changed().await.expect("the faults outlive the broker");
    }
    life.stop().await;
    told
}

/// Everything that is there, each value at its offset and of each key at least what clients were told.
async fn look(life: &Life, told: &BTreeMap<usize, i64>, when: &str) -> Vec<(i64, String)> {
    let values = life.values("t", 0, 0).await;
    let mut newest = BTreeMap::new();
    for (offset, value) in &values {
        assert_eq!(offset.to_string(), *value, "{when}");
        newest.insert(*offset as usize % KEYS, *offset);
    }
    for (key, offset) in told {
        assert!(newest.get(key) >= Some(offset), "{when}: k{key}: {newest:?}, told {told:?}");
    }
    values
}

/// The topic is there as far as clients were told of it.
fn is_there(life: &Life, told: &BTreeMap<usize, i64>) -> bool {
    let image = life.broker.metadata.image();
    assert!(told.is_empty() || image.topic("t").is_some(), "the topic is gone");
    image.topic("t").is_some()
}

async fn check(node: &Node, told: &BTreeMap<usize, i64>, when: &str) {
    let life = node.start();
    if !is_there(&life, told) {
        return life.stop().await;
    }
    let values = look(&life, told, when).await;
    life.configure("t", &[("cleanup.policy", "delete"), ("retention.ms", "-1")]);
    life.crash().await;
    let when = format!("{when}, the policy changed and killed");
    let life = node.start();
    let left = look(&life, told, &when).await;
    // The cleaner may have gone on before the policy changed.
    assert!(left.iter().all(|value| values.contains(value)), "{when}: {left:?}, was {values:?}");
    life.stop().await;
    node.check();
}

#[tokio::test(flavor = "multi_thread")]
async fn at_any_step_of_a_cleaning_a_power_cut_takes_nothing_and_gaps_are_no_losses() {
    let panics = panics::watch();
    for at in 0.. {
        let (disk, clock) = (SimulatedDisk::new(), Arc::new(ManualClock::new(BEGIN)));
        let mut node = Node { settings: settings(), ..Node::on(&disk, &clock) };
        disk.cut_power_at(at);
        let told = live(&node, &disk).await;
        if disk.has_power() {
            println!("{at} changes");
            assert!(at > 60, "a cleaning changes next to nothing: {at}");
            return;
        }
        let when = format!("power cut at change {at}");
        let left = disk.when_power_went(at as u64).expect("it went");
        node.faults = Arc::new(Faults::of(Arc::new(left)));
        check(&node, &told, &when).await;
        panics.assert_quiet(&when);
    }
}
