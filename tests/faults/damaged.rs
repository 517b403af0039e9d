//! Each file of a data directory damaged in each way, after a clean stop and after a kill, and then a whole broker on it.
//!
//! It never panics and never hangs; it names the file unless nothing is lost; whatever does not live in that file is served whole,
//! and goes on. Only the metadata may keep it from starting.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use highwater::broker::{Acks, FetchError, OffsetQuery};
use highwater::coordinator::groups::{GroupCommand, GroupReply};
use highwater::env::{FileSystem, OpenMode};
use highwater::log::{Isolation, scan};
use highwater::types::{Outcome, TransactionVersion};
use kafka_protocol::messages::offset_fetch_request::{
    OffsetFetchRequestGroup, OffsetFetchRequestTopics,
};

use super::panics;
use super::support::batches::batch;
use super::support::broker::{Life, Node, now, only, values_in};
use super::support::faulty_files::Faults;
use super::support::group_requests::{call, commit_request, offset_of, text};
use super::support::logs::bytes_of;
use super::support::simulated_disk::SimulatedDisk;
use super::support::transactions::Producer;

mod lines;

/// What a test waits for at most; nothing takes a hundredth of it.
const HANGS: Duration = Duration::from_secs(60);
const SEGMENTS: (&str, &str) = ("internal.segment.bytes", "400");
const CLEAN_STOP: &str = ".kafka_cleanshutdown";

/// What happens to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Damage {
    Missing,
    Empty,
    Truncated,
    Zeroed,
    FlippedBit,
    Garbage,
    GarbageAppended,
    ZerosAppended,
    Directory,
    Unreadable,
}

const DAMAGES: [Damage; 10] = [
    Damage::Missing,
    Damage::Empty,
    Damage::Truncated,
    Damage::Zeroed,
    Damage::FlippedBit,
    Damage::Garbage,
    Damage::GarbageAppended,
    Damage::ZerosAppended,
    Damage::Directory,
    Damage::Unreadable,
];

impl Damage {
    fn inflict(self, disk: &SimulatedDisk, path: &Path) {
        let mut bytes = disk.read(path).unwrap().expect("it was listed");
        let garbage = || (0..97u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8);
        match self {
            Self::Missing => return disk.remove_file(path).unwrap(),
            Self::Unreadable => return disk.deny(path),
            Self::Directory => {
                disk.remove_file(path).unwrap();
                return disk.create_dir_all(path).unwrap();
            }
            Self::Empty => bytes.clear(),
            Self::Truncated => bytes.truncate(bytes.len() / 2),
            Self::Zeroed => bytes.fill(0),
            Self::FlippedBit => {
                let middle = bytes.len() / 2;
                bytes.iter_mut().skip(middle).take(1).for_each(|byte| *byte ^= 0x10);
            }
            Self::Garbage => bytes = garbage().collect(),
            Self::GarbageAppended => bytes.extend(garbage()),
            Self::ZerosAppended => bytes.extend([0; 100]),
        }
        let file = disk.open(path, OpenMode::CreateOrTruncate).unwrap();
        file.write_all_at(&bytes, 0).unwrap();
    }
}

/// Where a file lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    /// In the log directory itself.
    Root,
    Metadata,
    /// The partition whose files are damaged.
    Partition,
    /// One that nothing happens to; it is damaged in its turn as well.
    Other,
    Offsets,
    Transactions,
}

impl Place {
    fn of(root: &Path, file: &Path) -> Self {
        let inside = file.strip_prefix(root).expect("below the log directory").to_str().unwrap();
        match inside.split_once('/').map(|(directory, _)| directory) {
            None => Self::Root,
            Some("__cluster_metadata-0") => Self::Metadata,
            Some("t-0") => Self::Partition,
            Some("other-0") => Self::Other,
            Some(name) if name.starts_with("__consumer_offsets-") => Self::Offsets,
            Some(name) if name.starts_with("__transaction_state-") => Self::Transactions,
            Some(name) => panic!("what is {name}?"),
        }
    }
}

/// What the broker serves.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Served {
    topics: BTreeMap<&'static str, Result<Consumed, FetchError>>,
    committed: Option<i64>,
}

/// What a read_committed consumer is given of a partition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Consumed {
    /// Values by offset, of batches whose checksum is right.
    records: BTreeMap<i64, String>,
    /// First offsets of aborted transactions.
    aborted: BTreeSet<i64>,
}

impl Served {
    async fn of(life: &Life) -> Self {
        let mut topics = BTreeMap::new();
        for topic in ["t", "other"] {
            topics.insert(topic, consume(life, topic).await);
        }
        Self { topics, committed: committed(life).await }
    }

    /// In a few words.
    fn difference(&self, whole: &Self) -> String {
        let mut words = Vec::new();
        for (topic, found) in &self.topics {
            match (found, &whole.topics[topic]) {
                (found, expected) if found == expected => {}
                (Ok(found), Ok(expected)) => {
                    let (left, all) = (found.records.len(), expected.records.len());
                    words.push(format!("{topic}: {left} of {all} records"));
                }
                (found, _) => words.push(format!("{topic}: {found:?}")),
            }
        }
        if self.committed != whole.committed {
            words.push(format!("committed: {:?}", self.committed));
        }
        words.join(", ")
    }
}

/// Records from the first to the last that can be read.
async fn consume(life: &Life, topic: &str) -> Result<Consumed, FetchError> {
    let mut consumed = Consumed::default();
    let mut from = 0;
    loop {
        let asked = life.fetch_of(topic, 0, from);
        let answer = life.fetch_as(Isolation::ReadCommitted, asked, None).finish().await;
        let fetched = match only(answer) {
            Err(FetchError::OutOfRange) if from == 0 => {
                from = start_of(life, topic).await;
                continue;
            }
            other => other?,
        };
        let bytes = bytes_of(&fetched.records);
        let mut next = from;
        for (_, stored) in scan::scan(&bytes) {
            next = next.max(stored.last_offset().get() + 1);
            let is_data = stored.header().is_some_and(|header| !header.is_control());
            if is_data && stored.verify().is_ok() {
                consumed.records.extend(values_in(stored.bytes()));
            }
        }
        let aborted = fetched.aborted.unwrap_or_default().into_iter();
        consumed.aborted.extend(aborted.map(|one| one.first_offset.get()));
        if next == from {
            return Ok(consumed);
        }
        from = next;
    }
}

async fn start_of(life: &Life, topic: &str) -> i64 {
    only(life.list(topic, OffsetQuery::Earliest).finish().await)
        .map_or(0, |listed| listed.offset.get())
}

async fn committed(life: &Life) -> Option<i64> {
    let topic = OffsetFetchRequestTopics::default()
        .with_name(text("other").into())
        .with_partition_indexes(vec![0]);
    let group = OffsetFetchRequestGroup::default()
        .with_group_id(text("g").into())
        .with_member_epoch(-1)
        .with_topics(Some(vec![topic]));
    let command = GroupCommand::FetchOffsets { version: 9, group, require_stable: false };
    let Ok(GroupReply::FetchOffsets(answer)) = life.broker.group_call("g", command).await else {
        return None;
    };
    let partition = &answer.topics.first()?.partitions[0];
    (partition.error_code == 0).then_some(partition.committed_offset)
}

/// A directory with every kind of file, stopped cleanly.
async fn filled(node: &mut Node) -> SimulatedDisk {
    let disk = SimulatedDisk::new();
    node.faults = Arc::new(Faults::of(Arc::new(disk.clone())));
    let life = node.start();
    for topic in ["t", "other"] {
        life.create(topic, 1, &[SEGMENTS]);
    }
    let mut producer = Producer::begin(&life, "p", TransactionVersion::V2).await;
    for outcome in [Outcome::Abort, Outcome::Commit, Outcome::Abort] {
        for _ in 0..2 {
            producer.send(&life).await.unwrap();
        }
        producer.end(&life, outcome).await;
    }
    for n in 0..4 {
        for topic in ["t", "other"] {
            life.send_value(topic, &format!("{topic} {n}")).await;
        }
    }
    let request = commit_request("g", "other", vec![offset_of(0, 2)]);
    let command = GroupCommand::CommitOffsets(call(8, request));
    life.broker.group_call("g", command).await.unwrap();
    life.stop().await;
    // The cleaner had nothing to do.
    let checkpoint = node.path().join("cleaner-offset-checkpoint");
    let file = disk.open(&checkpoint, OpenMode::CreateOrTruncate).unwrap();
    file.write_all_at(b"0\n1\nother 0 1\n", 0).unwrap();
    disk
}

/// One file, one damage, one way of having stopped.
struct Case<'a> {
    root: &'a Path,
    file: &'a Path,
    place: Place,
    damage: Damage,
    killed: bool,
    complaints: Vec<String>,
}

impl fmt::Display for Case<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.file.strip_prefix(self.root).unwrap().display();
        let stop = if self.killed { "after a kill" } else { "after a clean stop" };
        write!(f, "{file} {:?} {stop}", self.damage)
    }
}

impl Case<'_> {
    /// What the machine was left with.
    fn disk(&self, whole: &SimulatedDisk) -> SimulatedDisk {
        let disk = whole.copy();
        self.damage.inflict(&disk, self.file);
        if self.killed {
            disk.remove_if_there(&self.root.join(CLEAN_STOP)).unwrap();
        }
        disk
    }

    fn must(&mut self, holds: bool, else_it_is: impl fmt::Display) {
        if !holds {
            self.complaints.push(format!("{self}: {else_it_is}"));
        }
    }

    /// Is this file or its partition named in what was said?
    fn is_named(&self, said: &str) -> bool {
        let name = self.file.file_name().unwrap().to_str().unwrap();
        let directory = self.file.parent().unwrap().file_name().unwrap().to_str().unwrap();
        said.contains(name) || (self.place != Place::Root && said.contains(directory))
    }

    /// A flipped bit in the records of a segment that nobody had to recover: a batch is served as it lies there, and its checksum
    /// tells. One in an index without checksums, or nothing where nothing may be, tells nobody.
    fn is_seen_by_consumers(&self) -> bool {
        let is_log = self.file.extension().is_some_and(|extension| extension == "log");
        is_log && self.damage == Damage::FlippedBit
    }

    /// Nobody can tell an index of aborted transactions that was emptied from one that has always been empty.
    fn is_beyond_telling(&self) -> bool {
        let is_index = self.file.extension().is_some_and(|extension| extension == "txnindex");
        is_index && self.damage == Damage::Empty
    }

    /// Is the file one of this topic's?
    fn is_in(&self, topic: &str) -> bool {
        self.place == if topic == "t" { Place::Partition } else { Place::Other }
    }

    /// What came of it.
    async fn try_out(&mut self, node: &Node, whole: &Served) -> String {
        lines::forget();
        let life = match node.begin() {
            Ok(life) => life,
            Err(error) => return self.refused(&error.to_string()),
        };
        let served = tokio::time::timeout(HANGS, Served::of(&life)).await.expect("it answers");
        self.compare(whole, &served);
        let said = lines::about(self.root);
        let is_told = served == *whole || self.is_named(&said);
        let is_told = is_told || self.is_seen_by_consumers() || self.is_beyond_telling();
        self.must(is_told, format!("nothing is said of it: {said}"));
        tokio::time::timeout(HANGS, self.go_on(&life)).await.expect("it answers");
        tokio::time::timeout(HANGS, life.stop()).await.expect("it stops");
        if served == *whole { "whole".to_owned() } else { served.difference(whole) }
    }

    fn refused(&mut self, error: &str) -> String {
        let may_be = matches!(self.place, Place::Root | Place::Metadata);
        self.must(may_be, format!("the start is refused: {error}"));
        self.must(self.is_named(error), format!("refused without its name: {error}"));
        format!("refused: {error}")
    }

    /// Nothing else is lost, and nothing false is told.
    fn compare(&mut self, whole: &Served, served: &Served) {
        // A log of changes that lost its end has lost topics.
        let is_metadata = self.place == Place::Metadata;
        for (topic, found) in &served.topics {
            let expected = whole.topics[topic].as_ref().expect("they were served");
            let is_excused = self.is_in(topic) || is_metadata;
            self.must(is_excused || found.as_ref() == Ok(expected), format!("{topic}: {found:?}"));
            let Ok(found) = found else { continue };
            let is_right = |(at, value)| expected.records.get(at) == Some(value);
            self.must(found.records.iter().all(is_right), format!("{topic} is wrong: {found:?}"));
            let is_there = |first: &&i64| found.records.contains_key(first);
            let lost = expected.aborted.difference(&found.aborted).find(is_there);
            let is_told = lost.is_none() || self.is_beyond_telling();
            self.must(is_told, format!("aborted records are taken for others: {found:?}"));
        }
        let is_excused = is_metadata || self.place == Place::Offsets;
        let is_committed = served.committed == whole.committed;
        self.must(is_excused || is_committed, format!("committed: {:?}", served.committed));
    }

    /// Writes what can be written.
    async fn go_on(&mut self, life: &Life) {
        life.create("new", 1, &[]);
        life.send_value("new", "as if nothing had happened").await;
        for topic in ["t", "other"] {
            let sent = life.send(topic, 0, Acks::All, &batch(&[(b"more", now())], None)).await;
            let is_excused = self.is_in(topic) || self.place == Place::Metadata;
            self.must(sent.is_ok() || is_excused, format!("{topic}: {sent:?}"));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_file_harms_nothing_but_what_lives_in_it_and_is_named() {
    let panics = panics::watch();
    lines::keep();
    let mut node = Node::new();
    let root = node.path().to_owned();
    let disk = filled(&mut node).await;
    node.faults = Arc::new(Faults::of(Arc::new(disk.copy())));
    let life = node.start();
    let whole = Served::of(&life).await;
    assert_eq!(whole.committed, Some(2));
    let aborted = whole.topics["t"].as_ref().map(|consumed| consumed.aborted.len());
    assert_eq!(aborted, Ok(2), "{whole:?}");
    life.crash().await;
    let files: Vec<PathBuf> =
        disk.all_files().into_iter().filter(|f| f.starts_with(&root)).collect();
    assert!(files.len() > 30, "{files:?}");
    let (mut outcomes, mut complaints) = (Vec::new(), Vec::new());
    for file in &files {
        for (damage, killed) in DAMAGES.into_iter().flat_map(|d| [(d, false), (d, true)]) {
            let place = Place::of(&root, file);
            let mut case =
                Case { root: &root, file, place, damage, killed, complaints: Vec::new() };
            node.faults = Arc::new(Faults::of(Arc::new(case.disk(&disk))));
            let outcome = case.try_out(&node, &whole).await;
            outcomes.push(format!("{case}: {outcome}"));
            panics.assert_quiet(&case.to_string());
            complaints.append(&mut case.complaints);
        }
    }
    println!("{}", outcomes.join("\n"));
    assert!(complaints.is_empty(), "{} complaints:\n{}", complaints.len(), complaints.join("\n"));
}
