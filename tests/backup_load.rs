//! Backups of a broker under load, restored and looked at with clients: transactions with offsets in them, plain producers,
//! committing groups and a topic that is being compacted.
//!
//! Transaction i writes i to every partition of a topic and commits offset i of a group; every fourth is aborted. A restored
//! broker must have exactly the committed transactions up to the offset that it has, in every partition.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "spawns the broker and the command as processes, and threads for clients"
)]

#[path = "support/processes.rs"]
mod processes;
#[path = "txn_kill/producers.rs"]
#[allow(dead_code, reason = "shared with the kill test")]
mod producers;
#[path = "txn_kill/reader.rs"]
mod reader;
#[path = "support/strict_check.rs"]
#[allow(dead_code, reason = "logs that are open are checked elsewhere")]
mod strict_check;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread;

use highwater::env::Disk;
use processes::{
    BrokerProcess, PATIENCE, committed_offset, config, create_topic, free_port, group_client,
};
use producers::{End, GROUP, Producer, SOURCE, V1};
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::consumer::{CommitMode, Consumer};
use rdkafka::producer::{BaseRecord, DefaultProducerContext, Producer as _, ThreadedProducer};
use rdkafka::{Offset, TopicPartitionList};
use reader::Reader;
use strict_check::Closed;
use tempfile::TempDir;

const WHOLE: &str = "whole";
const PARTITIONS: i32 = 6;
const PLAIN: &str = "plain";
const PLAIN_GROUP: &str = "plain-group";
const COMPACTED: &str = "compacted";
const KEYS: i64 = 20;
const BACKUPS: usize = 4;
/// Steps of each load between two backups.
const STEPS: usize = 15;

/// How far the loads are, as acknowledged.
#[derive(Default)]
struct Acknowledged {
    transactions: AtomicI64,
    records: AtomicI64,
    /// Each round writes its number under every key.
    rounds: AtomicI64,
    stop: AtomicBool,
}

impl Acknowledged {
    fn goes_on(&self) -> bool {
        !self.stop.load(Ordering::SeqCst)
    }
}

fn transactions(address: &str, state: &Acknowledged, done: &Sender<()>) {
    let mut producer = V1::take_over(address, "id");
    let mut number = 0;
    while state.goes_on() {
        producer.begin();
        let end = if number % 4 == 3 { End::Abort } else { End::Commit };
        let value = if end == End::Commit {
            format!("{}", state.transactions.load(Ordering::SeqCst))
        } else {
            "aborted".to_owned()
        };
        for partition in 0..PARTITIONS {
            producer.send(WHOLE, partition, &value);
        }
        producer.flush();
        producer.send_offset(state.transactions.load(Ordering::SeqCst) + 1);
        producer.end(end).expect("it ends");
        state.transactions.fetch_add(i64::from(end == End::Commit), Ordering::SeqCst);
        number += 1;
        let _ = done.send(());
    }
}

fn records(address: &str, state: &Acknowledged, done: &Sender<()>) {
    let producer: ThreadedProducer<DefaultProducerContext> =
        config(address).create().expect("a producer");
    let group = group_client(address, PLAIN_GROUP);
    while state.goes_on() {
        let next = state.records.load(Ordering::SeqCst);
        for value in next..next + 20 {
            processes::send(&producer, PLAIN, 0, &value.to_string());
        }
        producer.flush(PATIENCE).expect("acknowledged");
        state.records.fetch_add(20, Ordering::SeqCst);
        let mut offsets = TopicPartitionList::new();
        offsets.add_partition_offset(PLAIN, 0, Offset::Offset(next + 20)).expect("an offset");
        group.commit(&offsets, CommitMode::Sync).expect("it commits");
        let _ = done.send(());
    }
}

fn rounds(address: &str, state: &Acknowledged, done: &Sender<()>) {
    let producer: ThreadedProducer<DefaultProducerContext> =
        config(address).create().expect("a producer");
    while state.goes_on() {
        let round = state.rounds.load(Ordering::SeqCst);
        let value = format!("{round:>20000}");
        for key in 0..KEYS {
            let key = key.to_string();
            let record = BaseRecord::to(COMPACTED).partition(0).key(&key).payload(&value);
            producer.send(record).map_err(|(error, _)| error).expect("room");
        }
        producer.flush(PATIENCE).expect("acknowledged");
        state.rounds.fetch_add(1, Ordering::SeqCst);
        let _ = done.send(());
    }
}

fn create_compacted(address: &str) {
    let admin: AdminClient<DefaultClientContext> = config(address).create().expect("a client");
    let topic = NewTopic::new(COMPACTED, 1, TopicReplication::Fixed(1))
        .set("cleanup.policy", "compact")
        .set("segment.bytes", "1048576")
        .set("min.cleanable.dirty.ratio", "0.01");
    let options = AdminOptions::new().request_timeout(Some(PATIENCE));
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let results = runtime.block_on(admin.create_topics([&topic], &options)).expect("an answer");
    assert!(results.iter().all(Result::is_ok), "{results:?}");
}

fn highwater(arguments: &[&str]) {
    let ended =
        Command::new(env!("CARGO_BIN_EXE_highwater")).args(arguments).output().expect("runs");
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(ended.status.success(), "{arguments:?}: {said}");
    println!("{}", String::from_utf8_lossy(&ended.stdout));
}

/// How far the loads were at some moment, as acknowledged.
#[derive(Clone, Copy)]
struct Far {
    at: u128,
    transactions: i64,
    records: i64,
    rounds: i64,
}

impl Far {
    fn of(state: &Acknowledged) -> Self {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        Self {
            transactions: state.transactions.load(Ordering::SeqCst),
            records: state.records.load(Ordering::SeqCst),
            rounds: state.rounds.load(Ordering::SeqCst),
            at: since.expect("after 1970").as_millis(),
        }
    }
}

/// A broker under all loads; `step` is called whenever each of them has gone some steps further, with the number of the call.
fn under_load(
    (data, port): (&Path, u16),
    settings: &[String],
    calls: usize,
    mut step: impl FnMut(usize, &Acknowledged),
) {
    let address = format!("127.0.0.1:{port}");
    let _broker = BrokerProcess::start(data, &address, settings);
    create_topic(&address, WHOLE, PARTITIONS);
    create_topic(&address, SOURCE, 1);
    create_topic(&address, PLAIN, 1);
    create_compacted(&address);
    let state = Acknowledged::default();
    thread::scope(|scope| {
        let loads: [fn(&str, &Acknowledged, &Sender<()>); 3] = [transactions, records, rounds];
        let running: Vec<_> = loads
            .into_iter()
            .map(|load| {
                let (done, steps) = channel();
                let (address, state) = (&address, &state);
                scope.spawn(move || load(address, state, &done));
                steps
            })
            .collect();
        for number in 0..calls {
            for steps in &running {
                (0..STEPS).for_each(|_| steps.recv_timeout(PATIENCE).expect("a step"));
            }
            step(number, &state);
        }
        state.stop.store(true, Ordering::SeqCst);
    });
}

#[test]
fn a_backup_under_load_is_one_moment() {
    let (root, port) = (TempDir::new().expect("a directory"), free_port(21_300));
    let data = root.path().join("data");
    let mut backups = Vec::new();
    let settings = ["log.cleaner.backoff.ms=50".to_owned()];
    under_load((&data, port), &settings, BACKUPS, |number, state| {
        let least = Far::of(state);
        let archive = root.path().join(format!("{number}.tar.zst"));
        let (archive, data) = (archive.to_str().expect("text"), data.to_str().expect("text"));
        highwater(&["backup", archive, "--data-dir", data]);
        backups.push((archive.to_owned(), least));
    });
    for (archive, least) in &backups {
        let target = TempDir::new().expect("a directory");
        let directory = target.path().join("restored");
        highwater(&["restore", archive, "--data-dir", directory.to_str().expect("text")]);
        look(&directory, port + 1, least);
    }
}

#[test]
fn one_backup_can_be_taken_back_to_any_moment_in_it() {
    let (root, port) = (TempDir::new().expect("a directory"), free_port(21_340));
    let (first, second) = (root.path().join("1"), root.path().join("2"));
    let directories = format!("log.dirs={},{}", first.display(), second.display());
    let settings = [directories, "log.cleaner.enable=false".to_owned()];
    let mut marks = Vec::new();
    let archive = root.path().join("a.tar.zst");
    let text = |path: &Path| path.to_str().expect("text").to_owned();
    let both =
        |a: &Path, b: &Path| ["--data-dir".to_owned(), text(a), "--data-dir".to_owned(), text(b)];
    under_load((&first, port), &settings, BACKUPS, |number, state| {
        marks.push(Far::of(state));
        create_topic(&format!("127.0.0.1:{port}"), &format!("later-{number}"), 1);
        if number + 1 == BACKUPS {
            let archive = text(&archive);
            let named = both(&first, &second);
            let named: Vec<&str> = named.iter().map(String::as_str).collect();
            highwater(&[&["backup", &archive][..], &named].concat());
        }
    });
    for (number, mark) in marks.iter().enumerate() {
        let target = TempDir::new().expect("a directory");
        let (a, b) = (target.path().join("1"), target.path().join("2"));
        let (archive, at, named) = (text(&archive), iso(mark.at), both(&a, &b));
        let named: Vec<&str> = named.iter().map(String::as_str).collect();
        highwater(&[&["restore", &archive, "--at", &at][..], &named].concat());
        let directories = format!("log.dirs={},{}", a.display(), b.display());
        let (committed, records) = look_at((&a, &b), port + 1, mark, &[directories], number);
        // One of each may have been under way.
        assert!(committed <= mark.transactions + 1, "{committed} of {}", mark.transactions);
        assert!(records <= mark.records + 20, "{records} of {}", mark.records);
    }
}

/// As `date -u` writes it.
fn iso(millis: u128) -> String {
    let seconds = format!("@{}.{:03}", millis / 1000, millis % 1000);
    let said =
        Command::new("date").args(["-u", "-d", &seconds, "+%Y-%m-%dT%H:%M:%S.%3NZ"]).output();
    String::from_utf8(said.expect("date").stdout).expect("text").trim().to_owned()
}

/// What was created by then is there, and what was created later is not.
fn look_at(
    (first, second): (&Path, &Path),
    port: u16,
    mark: &Far,
    settings: &[String],
    number: usize,
) -> (i64, i64) {
    let address = format!("127.0.0.1:{port}");
    let mut broker = BrokerProcess::start(first, &address, settings);
    let client = group_client(&address, "none");
    let metadata = client.fetch_metadata(None, PATIENCE).expect("metadata");
    let later: Vec<&str> = metadata
        .topics()
        .iter()
        .map(|topic| topic.name())
        .filter(|name| name.starts_with("later"))
        .collect();
    assert_eq!(later.len(), number, "{later:?}");
    let reader = Reader { address: &address };
    let found = look_with_clients(&address, mark);
    newest_values(&reader, mark);
    broker.stop();
    check_files(first);
    check_files(second);
    found
}

/// Everything that was acknowledged, transactions whole, offsets within their logs.
fn look(directory: &Path, port: u16, least: &Far) {
    let address = format!("127.0.0.1:{port}");
    let mut broker = BrokerProcess::start(directory, &address, &[]);
    look_with_clients(&address, least);
    newest_values(&Reader { address: &address }, least);
    broker.stop();
    let checked = check_files(directory);
    assert!(checked >= PARTITIONS, "{checked} partitions");
}

/// How many transactions and records there are.
fn look_with_clients(address: &str, least: &Far) -> (i64, i64) {
    // What was open is aborted.
    drop(V1::take_over(address, "id"));
    let places: Vec<(&str, i32)> = (0..PARTITIONS).map(|partition| (WHOLE, partition)).collect();
    let reader = Reader { address };
    let log = reader.read((WHOLE, PARTITIONS), &places);
    let committed = committed_offset(&group_client(address, GROUP), SOURCE).expect("an offset");
    println!("{committed} transactions, {} before the backup", least.transactions);
    assert!(committed >= least.transactions, "{committed} of {}", least.transactions);
    let expected: Vec<String> = (0..committed).map(|number| number.to_string()).collect();
    for place in &places {
        let found = &log[&(place.0.to_owned(), place.1)];
        assert_eq!(found, &expected, "{place:?} with offset {committed}");
    }
    let records =
        reader.read((PLAIN, 1), &[(PLAIN, 0)]).remove(&(PLAIN.to_owned(), 0)).expect("some");
    let expected: Vec<String> = (0..records.len()).map(|number| number.to_string()).collect();
    assert_eq!(records, expected);
    let plain = committed_offset(&group_client(address, PLAIN_GROUP), PLAIN).expect("an offset");
    assert!(records.len() as i64 >= least.records.max(plain), "{plain}, {}", records.len());
    assert!(plain >= least.records - 20, "the newest commit before the backup: {plain}");
    (committed, records.len() as i64)
}

/// What the broker has made of the restored files is as Kafka would have written it.
fn check_files(directory: &Path) -> i32 {
    highwater(&["dump", "--verify", directory.to_str().expect("text")]);
    let mut checked = 0;
    for entry in std::fs::read_dir(directory).expect("readable") {
        let path = entry.expect("readable").path();
        if path.is_dir() && !path.ends_with("__cluster_metadata-0") {
            strict_check::check(&Disk, &path, Closed::Yes, highwater::types::Offset::ZERO);
            checked += 1;
        }
    }
    checked
}

fn newest_values(reader: &Reader<'_>, least: &Far) {
    let log = reader.read((COMPACTED, 1), &[(COMPACTED, 0)]);
    let mut newest: BTreeMap<usize, i64> = BTreeMap::new();
    // Keys come round after round in one order; compaction takes whole old ones away.
    let values = &log[&(COMPACTED.to_owned(), 0)];
    for (at, value) in values.iter().rev().take(KEYS as usize).enumerate() {
        newest.insert(at, value.trim().parse().expect("a number"));
    }
    assert_eq!(newest.len(), KEYS as usize);
    assert!(
        newest.values().all(|round| *round >= least.rounds - 1),
        "{newest:?}, {}",
        least.rounds
    );
}
