//! A start does not depend on how much lies in the logs: 1 TiB of segments, most of it holes, beside the same directory with
//! segments of one batch.
//!
//! ```text
//! cargo test --release --test sparse_start -- --nocapture     # tells times and memory
//! ```
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a test may panic, and makes what a broker leaves behind"
)]

#[allow(dead_code, reason = "each test uses a part of it")]
#[path = "support/batches.rs"]
mod batches;
#[allow(dead_code, reason = "each test uses a part of it")]
#[path = "app/process.rs"]
mod process;
#[path = "support/raw.rs"]
mod raw;

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use bytes::Bytes;
use kafka_protocol::messages::create_topics_request::{CreatableTopic, CreatableTopicConfig};
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::produce_request::{PartitionProduceData, TopicProduceData};
use kafka_protocol::messages::{
    ApiVersionsRequest, CreateTopicsRequest, ListOffsetsRequest, ProduceRequest, TopicName,
};
use kafka_protocol::protocol::StrBytes;
use process::Process;
use raw::Connection;
use tempfile::TempDir;

const PARTITIONS: i32 = 32;
/// Sealed segments of each partition, and the offsets of each.
const SEGMENTS: i64 = 32;
const OFFSETS_EACH: i64 = 1_000_000;
/// One more than the offset of the one record in the active segment.
const END: i64 = SEGMENTS * OFFSETS_EACH + 1;
/// Length of a sealed segment: 1 TiB in all.
const HUGE: u64 = (1 << 40) / (PARTITIONS as u64 * SEGMENTS as u64);

const PATIENCE: Duration = Duration::from_secs(120);
/// What a start may take more than one on tiny segments, on a machine that does much else.
const SLACK: Duration = Duration::from_millis(500);
const MORE_MEMORY_MAX: u64 = 4 << 20;

fn topic() -> TopicName {
    StrBytes::from_static_str("sparse").into()
}

/// A directory that was stopped cleanly with one record in each partition, then given sealed segments in front of them.
fn directory(segment_len: Option<u64>) -> TempDir {
    let directory = TempDir::new().unwrap();
    let mut broker = Process::start(directory.path(), &[("RUST_LOG", "error")]);
    let mut connection = Connection::open(&broker.address().to_string(), PATIENCE).unwrap();
    create(&mut connection);
    write_one_each(&mut connection);
    drop(connection);
    broker.signal(libc::SIGTERM);
    assert_eq!(broker.wait(), Some(0), "a clean stop");
    for partition in 0..PARTITIONS {
        let path = directory.path().join(format!("sparse-{partition}"));
        move_up(&path);
        (0..SEGMENTS).for_each(|number| add_segment(&path, number * OFFSETS_EACH, segment_len));
    }
    for name in ["recovery-point-offset-checkpoint", "replication-offset-checkpoint"] {
        let path = directory.path().join(name);
        let moved = |line: &str| match line.strip_suffix(" 1") {
            Some(rest) if rest.starts_with("sparse ") => format!("{rest} {END}\n"),
            _ => format!("{line}\n"),
        };
        let text: String = fs::read_to_string(&path).unwrap().lines().map(moved).collect();
        assert!(text.contains(&format!("sparse 0 {END}\n")), "{text}");
        fs::write(path, text).unwrap();
    }
    directory
}

fn create(connection: &mut Connection) {
    let keep = CreatableTopicConfig::default()
        .with_name(StrBytes::from_static_str("retention.ms"))
        .with_value(Some(StrBytes::from_static_str("-1")));
    let topic = CreatableTopic::default()
        .with_name(topic())
        .with_num_partitions(PARTITIONS)
        .with_replication_factor(1)
        .with_configs(vec![keep]);
    let request = CreateTopicsRequest::default().with_topics(vec![topic]).with_timeout_ms(60_000);
    let answer = connection.call(5, &request).unwrap();
    assert_eq!(answer.topics[0].error_code, 0, "{answer:?}");
}

fn write_one_each(connection: &mut Connection) {
    let records = Bytes::from(batches::batch(&[(b"record", 1_700_000_000_000)], None));
    let data = |partition| {
        PartitionProduceData::default().with_index(partition).with_records(Some(records.clone()))
    };
    let topic = TopicProduceData::default()
        .with_name(topic())
        .with_partition_data((0..PARTITIONS).map(data).collect());
    let request = ProduceRequest::default()
        .with_acks(-1)
        .with_timeout_ms(60_000)
        .with_topic_data(vec![topic]);
    let answer = connection.call(9, &request).unwrap();
    let partitions = &answer.responses[0].partition_responses;
    assert!(partitions.iter().all(|partition| partition.error_code == 0), "{answer:?}");
}

fn named(base: i64, extension: &str) -> String {
    format!("{base:020}.{extension}")
}

/// The first segment becomes the last one. The base offset of a batch lies outside its checksum.
fn move_up(path: &Path) {
    let mut log = fs::read(path.join(named(0, "log"))).unwrap();
    log[..8].copy_from_slice(&(END - 1).to_be_bytes());
    fs::write(path.join(named(END - 1, "log")), log).unwrap();
    for extension in ["index", "timeindex"] {
        let (from, to) = (named(0, extension), named(END - 1, extension));
        fs::rename(path.join(from), path.join(to)).unwrap();
    }
    fs::rename(path.join(named(1, "snapshot")), path.join(named(END, "snapshot"))).unwrap();
}

/// A segment with one batch at its start, found in both of its indexes, and a hole up to its length.
fn add_segment(path: &Path, base: i64, len: Option<u64>) {
    let active = fs::read(path.join(named(END - 1, "log"))).unwrap();
    let mut batch = active.clone();
    batch[..8].copy_from_slice(&base.to_be_bytes());
    let log = path.join(named(base, "log"));
    fs::write(&log, batch).unwrap();
    if let Some(len) = len {
        fs::OpenOptions::new().write(true).open(&log).unwrap().set_len(len).unwrap();
    }
    fs::write(path.join(named(base, "index")), [0; 8]).unwrap();
    // The largest timestamp of the batch, and the offset within the segment.
    let time_entry = [&active[35..43], &[0; 4]].concat();
    fs::write(path.join(named(base, "timeindex")), time_entry).unwrap();
}

/// What a start cost.
#[derive(Clone, Copy, Debug)]
struct Start {
    first_answer: Duration,
    all_served: Duration,
    resident_bytes: u64,
}

/// Starts the broker and asks it for everything; it is left running.
fn start(directory: &Path) -> (Process, Start) {
    let began = Instant::now();
    let broker = Process::start(directory, &[("RUST_LOG", "error")]);
    let mut connection = Connection::open(&broker.address().to_string(), PATIENCE).unwrap();
    connection.call(0, &ApiVersionsRequest::default()).unwrap();
    let first_answer = began.elapsed();
    assert_eq!(offsets(&mut connection, -2), vec![0; PARTITIONS as usize], "the beginnings");
    assert_eq!(offsets(&mut connection, -1), vec![END; PARTITIONS as usize], "the ends");
    let all_served = began.elapsed();
    let resident_bytes = resident_bytes(&broker);
    (broker, Start { first_answer, all_served, resident_bytes })
}

/// An offset of each partition: −2 asks for the first, −1 for the end.
fn offsets(connection: &mut Connection, timestamp: i64) -> Vec<i64> {
    let partition = |index| {
        ListOffsetsPartition::default().with_partition_index(index).with_timestamp(timestamp)
    };
    let topic = ListOffsetsTopic::default()
        .with_name(topic())
        .with_partitions((0..PARTITIONS).map(partition).collect());
    let request = ListOffsetsRequest::default().with_topics(vec![topic]);
    let answer = connection.call(5, &request).unwrap();
    let partitions = &answer.topics[0].partitions;
    assert!(partitions.iter().all(|partition| partition.error_code == 0), "{answer:?}");
    partitions.iter().map(|partition| partition.offset).collect()
}

/// The most bytes of memory that the process has had in use.
fn resident_bytes(broker: &Process) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", broker.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("it lives");
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}

/// The least of each figure over a few starts of both directories in turns, each ended as `end` does.
fn compare(huge: &Path, tiny: &Path, end: fn(&mut Process)) -> [Start; 2] {
    let mut least: [Option<Start>; 2] = [None, None];
    for _ in 0..3 {
        for (least, directory) in least.iter_mut().zip([huge, tiny]) {
            let (mut broker, cost) = start(directory);
            end(&mut broker);
            let before = least.unwrap_or(cost);
            *least = Some(Start {
                first_answer: cost.first_answer.min(before.first_answer),
                all_served: cost.all_served.min(before.all_served),
                resident_bytes: cost.resident_bytes.min(before.resident_bytes),
            });
        }
    }
    least.map(|least| least.expect("three rounds"))
}

fn stop(broker: &mut Process) {
    broker.signal(libc::SIGTERM);
    assert_eq!(broker.wait(), Some(0), "a clean stop");
}

fn kill(broker: &mut Process) {
    broker.signal(libc::SIGKILL);
    broker.wait();
}

fn assert_alike(what: &str, [huge, tiny]: [Start; 2]) {
    println!("{what}: 1 TiB of segments {huge:?}, tiny ones {tiny:?}");
    assert!(huge.first_answer <= 2 * tiny.first_answer + SLACK, "{what}: the first answer");
    assert!(huge.all_served <= 2 * tiny.all_served + SLACK, "{what}: all served");
    assert!(huge.resident_bytes <= tiny.resident_bytes + MORE_MEMORY_MAX, "{what}: memory");
}

#[test]
fn a_tebibyte_of_segments_does_not_change_a_start() {
    let (huge, tiny) = (directory(Some(HUGE)), directory(None));
    assert_alike("after a clean stop", compare(huge.path(), tiny.path(), stop));
    // The first of these starts follows a clean stop, the others a kill: they recover, above the recovery points alone. What
    // they would find in the holes is no batch, and a scan would cut the logs there.
    assert_alike("after kill -9", compare(huge.path(), tiny.path(), kill));
    let (mut broker, _) = start(huge.path());
    stop(&mut broker);
    for partition in 0..PARTITIONS {
        let names = fs::read_dir(huge.path().join(format!("sparse-{partition}"))).unwrap();
        let paths = names.map(|name| name.unwrap().path());
        let logs: Vec<_> =
            paths.filter(|path| path.extension().is_some_and(|e| e == "log")).collect();
        assert_eq!(logs.len() as i64, SEGMENTS + 1);
        let bytes: u64 = logs.iter().map(|log| fs::metadata(log).unwrap().len()).sum();
        assert!(bytes >= HUGE * SEGMENTS as u64, "partition {partition} was cut");
    }
}
