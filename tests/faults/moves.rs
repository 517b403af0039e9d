//! The power goes between any two changes of the disk while a partition moves from one log directory to another.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use highwater::broker::{Acks, Lookup, Partition};
use highwater::env::ManualClock;
use highwater::types::{PartitionIndex, Timestamp, TopicName, TopicPartition};

use super::panics;
use super::support::batches::{Sender, batch};
use super::support::broker::{Life, NODE, Node};
use super::support::data_directories::DataDirectories;
use super::support::faulty_files::Faults;
use super::support::simulated_disk::SimulatedDisk;

const BEGIN: Timestamp = Timestamp::new(1_700_000_000_000);
/// States that a cut may have left, for each of them.
const CRASHES: u64 = 3;
/// Records before the move; three fill a segment.
const BEFORE: i32 = 6;
/// Records while it goes on and behind it.
const LATER: i32 = 3;

fn sequenced(sequence: i32) -> Vec<u8> {
    let sender = Sender { id: 7, epoch: 0, sequence, transactional: false };
    batch(&[(text(sequence).as_bytes(), BEGIN.get())], Some(sender))
}

fn text(sequence: i32) -> String {
    format!("{sequence:04}{}", "x".repeat(60))
}

fn name() -> TopicPartition {
    TopicPartition { topic: TopicName::new("t").unwrap(), partition: PartitionIndex::new(0) }
}

fn opened(life: &Life) -> Arc<Partition> {
    match life.find("t", 0) {
        Lookup::Open(partition) => partition,
        Lookup::Closed(closed) => closed.open().unwrap(),
        Lookup::Unknown => panic!("the topic is gone"),
    }
}

async fn move_ended(life: &Life) {
    let broker = Arc::clone(&life.broker);
    tokio::task::spawn_blocking(move || broker.moves.wait_for(&name())).await.unwrap();
}

/// Directories of the partition in all log directories: where it is, and what else begins with its name.
fn directories(node: &Node) -> (Vec<PathBuf>, Vec<String>) {
    let (mut current, mut others) = (Vec::new(), Vec::new());
    for path in node.paths() {
        for entry in node.faults.below().list(&path).unwrap() {
            if entry.name == "t-0" {
                current.push(path.clone());
            } else if let Some(kind) = entry.name.strip_prefix("t-0.") {
                others.push(kind.rsplit('-').next().unwrap().to_owned());
            }
        }
    }
    (current, others)
}

/// A life with a move; the sequences that were acknowledged while there was power, and where the partition was to go.
async fn live(node: &Node, disk: &SimulatedDisk, cut_at: usize) -> (BTreeMap<i64, i32>, PathBuf) {
    let life = node.start();
    life.create("t", 1, &[("internal.segment.bytes", "400")]);
    let mut told = BTreeMap::new();
    for sequence in 0..BEFORE {
        send(&life, disk, sequence, &mut told).await;
    }
    let here = opened(&life).directory().path().to_owned();
    let to = node.paths().into_iter().find(|path| *path != here).unwrap();
    disk.cut_power_at(cut_at);
    life.broker.move_partition(&name(), &to.to_string_lossy()).unwrap();
    send(&life, disk, BEFORE, &mut told).await;
    move_ended(&life).await;
    for sequence in BEFORE + 1..BEFORE + LATER {
        send(&life, disk, sequence, &mut told).await;
    }
    assert_eq!(opened(&life).directory().path(), to);
    life.stop().await;
    (told, to)
}

async fn send(life: &Life, disk: &SimulatedDisk, sequence: i32, told: &mut BTreeMap<i64, i32>) {
    let sent = life.send("t", 0, Acks::All, &sequenced(sequence)).await.unwrap();
    if disk.has_power() {
        told.insert(sent.base_offset.get(), sequence);
    }
}

/// Starts on what the cut has left: everything is there once, in one place, and a move that was begun comes to its end.
async fn check(node: &Node, told: &BTreeMap<i64, i32>, when: &str) -> PathBuf {
    let life = node.start();
    let values = life.values("t", 0, 0).await;
    for (offset, sequence) in told {
        let found = values.iter().find(|(at, _)| at == offset);
        assert_eq!(found.map(|(_, value)| value), Some(&text(*sequence)), "{when}: {offset}");
    }
    move_ended(&life).await;
    assert_eq!(life.values("t", 0, 0).await, values, "{when}");
    // The producer goes on.
    let next = i32::try_from(values.len()).unwrap();
    life.send("t", 0, Acks::All, &sequenced(next)).await.expect(when);
    let (current, others) = directories(node);
    let place = opened(&life).directory().path().to_owned();
    assert_eq!(current, [place.as_path()], "{when}");
    assert_eq!(named(&life), place, "{when}");
    assert!(others.iter().all(|kind| kind == "delete"), "{when}: {others:?}");
    life.stop().await;
    node.check();
    place
}

/// Where the metadata says that it is.
fn named(life: &Life) -> PathBuf {
    let image = life.broker.metadata.image();
    let id = image.topic("t").unwrap().partitions[0].directory_of(NODE).unwrap();
    let mut all = life.broker.partitions.directories().iter();
    all.find(|directory| directory.id() == id).unwrap().path().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_power_cut_at_any_step_of_a_move_leaves_one_whole_partition() {
    let panics = panics::watch();
    let mut places: BTreeMap<bool, usize> = BTreeMap::new();
    for at in 0.. {
        let (disk, clock) = (SimulatedDisk::new(), Arc::new(ManualClock::new(BEGIN)));
        let directories = DataDirectories::several(2);
        let mut node = Node { directories, ..Node::on(&disk, &clock) };
        let (told, to) = live(&node, &disk, at).await;
        if disk.has_power() {
            println!("{at} changes; the partition was found in the new place or not: {places:?}");
            assert!(at > 30, "a move changes next to nothing: {at}");
            assert!(places.len() == 2, "cuts before and behind the switch");
            return;
        }
        for crash in 0..CRASHES {
            let when = format!("power cut at change {at}, crash {crash}");
            let left = disk.when_power_went(at as u64 * 31 + crash).expect("it went");
            node.faults = Arc::new(Faults::of(Arc::new(left)));
            let place: &Path = &check(&node, &told, &when).await;
            *places.entry(place == to).or_default() += 1;
            panics.assert_quiet(&when);
        }
    }
}
