//! Directories that Apache Kafka left, taken over by a whole broker: what librdkafka reads of them is what Kafka answered.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a test may panic, and plays the machine"
)]

#[path = "support/raw.rs"]
mod raw;
mod support;

use std::path::{Path, PathBuf};
use std::time::Duration;

use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic};
use kafka_protocol::messages::fetch_response::PartitionData;
use kafka_protocol::messages::{FetchRequest, TopicName};
use kafka_protocol::protocol::StrBytes;
use raw::Connection;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::KafkaError;
use rdkafka::message::{BorrowedMessage, Headers, Timestamp};
use rdkafka::{ClientConfig, Message, Offset, TopicPartitionList};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use support::golden::Golden;
use support::serving::serve;

/// An answer that takes longer does not come.
const WITHIN: Duration = Duration::from_secs(30);

/// Kafka's cleaner ran between its start and its answers.
const CLEANED_SINCE: &str = "compacted";
/// A bit of a base offset is flipped, which no checksum covers: where a consumer goes on is as its buffers happen to be.
const FLIPPED_OFFSET: &str = "timed";

#[tokio::test(flavor = "multi_thread")]
async fn records_of_every_release_are_read_as_kafka_served_them() {
    for fixture in ["clean-4.4", "clean-4.3", "clean-3.9", "killed-4.4"] {
        let golden = Golden::unpack(fixture, "data.tar.gz");
        let topics = kafkas_answers(&golden.expected)["topics"].clone();
        let left_out: &[&str] = if fixture == "killed-4.4" { &[CLEANED_SINCE] } else { &[] };
        assert!(served_as(&golden, topics, left_out).await >= 24, "{fixture}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn damage_after_a_kill_is_served_as_kafka_serves_it() {
    let golden = Golden::unpack("torn-4.4", "data.tar.gz");
    let topics = kafkas_answers(&golden.expected)["topics"].clone();
    assert!(served_as(&golden, topics, &[CLEANED_SINCE, FLIPPED_OFFSET]).await >= 24);
}

/// Damage after a clean stop that changes what is served, whoever serves it: a batch cut, a bit flipped, a file gone.
const LOST: [&str; 5] = ["idempotent-0", "txn-0", "three-1", "timed-0", "plain-0"];

/// Kafka appends behind a torn or garbage tail so that its consumers fail, serves `segments-0` in part, answers times of
/// `logappend-0` wrongly, and does not start at all with zeros behind the last batch.
#[tokio::test(flavor = "multi_thread")]
async fn damage_after_a_clean_stop_loses_only_what_is_lost() {
    let mut topics = Golden::unpack("clean-4.4", "data.tar.gz").expected["topics"].clone();
    let golden = Golden::unpack("torn-after-clean-stop-4.4", "data.tar.gz");
    for partition in LOST {
        let (topic, index) = partition.rsplit_once('-').unwrap();
        topics[topic]["partitions"].as_object_mut().unwrap().remove(index).unwrap();
    }
    put_behind(&golden, "three-0", &[0; 4096]);
    put_behind(&golden, "shapes-0", b"\x00\x00\x00\x00\x00\x00\x00\x0fhalf a batch");
    assert!(served_as(&golden, topics, &[]).await >= 24);
    let kafka = &golden.expected["afterKafkaStart"]["loaded"];
    let running = serve(golden.root()).await;
    let address = running.addresses()[0].to_string();
    let ends = tokio::task::spawn_blocking(move || {
        let consumer = consumer(&address, "read_uncommitted");
        LOST.map(|partition| {
            let (topic, index) = partition.rsplit_once('-').unwrap();
            consumer.fetch_watermarks(topic, index.parse().unwrap(), WITHIN).unwrap().1
        })
    });
    for (partition, end) in LOST.iter().zip(ends.await.unwrap()) {
        assert_eq!(kafka[partition]["logEndOffset"], end, "{partition}");
    }
    running.stop().await.unwrap();
}

/// Asked for as bytes: librdkafka 2.12, which these tests have, reads such messages of no broker, Kafka included (2.16 does).
#[tokio::test(flavor = "multi_thread")]
async fn messages_of_magic_0_and_1_are_served_as_they_are_stored() {
    for (archive, state) in
        [("as-planted.tar.gz", "asPlanted"), ("data.tar.gz", "withAppendedMagic2")]
    {
        let golden = Golden::unpack("legacy-magic01", archive);
        let topics = golden.expected[state]["topics"].as_object().unwrap().clone();
        assert!(topics.len() >= 12, "{archive}");
        let running = serve(golden.root()).await;
        let address = running.addresses()[0].to_string();
        let stored = |topic: &str| {
            std::fs::read(last_log(&golden.directory(&format!("{topic}-0")))).unwrap()
        };
        for (topic, answer) in topics {
            let (address, name) = (address.clone(), topic.clone());
            let fetched =
                tokio::task::spawn_blocking(move || fetch(&address, &name)).await.unwrap();
            let expected = &answer["partitions"]["0"];
            assert_eq!(expected["logStartOffset"], fetched.log_start_offset, "{archive} {topic}");
            assert_eq!(expected["highWatermark"], fetched.high_watermark, "{archive} {topic}");
            assert!(fetched.records.unwrap() == stored(&topic), "{archive} {topic}");
        }
        running.stop().await.unwrap();
    }
}

/// All of the only partition of a topic.
fn fetch(address: &str, topic: &str) -> PartitionData {
    let partition = FetchPartition::default().with_partition_max_bytes(1 << 20);
    let name = TopicName(StrBytes::from_string(topic.to_owned()));
    let topic = FetchTopic::default().with_topic(name).with_partitions(vec![partition]);
    let request = FetchRequest::default()
        .with_min_bytes(1)
        .with_max_bytes(1 << 20)
        .with_session_epoch(-1)
        .with_topics(vec![topic]);
    let mut answer = Connection::open(address, WITHIN).unwrap().call(12, &request).unwrap();
    answer.responses.remove(0).partitions.remove(0)
}

fn last_log(directory: &Path) -> PathBuf {
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.extension().is_some_and(|e| e == "log")).max().unwrap()
}

fn put_behind(golden: &Golden, partition: &str, bytes: &[u8]) {
    let last = last_log(&golden.directory(partition));
    let whole = std::fs::read(&last).unwrap();
    std::fs::write(&last, [&whole, bytes].concat()).unwrap();
}

/// Those of the running broker before a clean stop, or after the start that followed.
fn kafkas_answers(expected: &Value) -> &Value {
    let after_kill = &expected["afterKafkaStart"]["answers"];
    if after_kill.is_null() { expected } else { after_kill }
}

/// Serves a directory, compares what a consumer reads with Kafka's answers, and stops; how many answers there were.
async fn served_as(golden: &Golden, topics: Value, left_out: &'static [&str]) -> usize {
    let running = serve(golden.root()).await;
    let address = running.addresses()[0].to_string();
    let compare = move || compare(&address, &topics, left_out);
    let compared = tokio::task::spawn_blocking(compare).await.unwrap();
    running.stop().await.unwrap();
    compared
}

fn consumer(address: &str, level: &str) -> BaseConsumer {
    ClientConfig::new()
        .set("bootstrap.servers", address)
        .set("group.id", "golden")
        .set("enable.auto.commit", "false")
        .set("enable.partition.eof", "true")
        .set("fetch.wait.max.ms", "10")
        .set("isolation.level", level)
        .create()
        .unwrap()
}

fn compare(address: &str, topics: &Value, left_out: &[&str]) -> usize {
    let mut compared = 0;
    for level in ["read_uncommitted", "read_committed"] {
        let consumer = consumer(address, level);
        let topics = topics.as_object().unwrap().iter();
        for (topic, answer) in topics.filter(|(topic, _)| !left_out.contains(&topic.as_str())) {
            for (index, answer) in answer["partitions"].as_object().unwrap() {
                println!("{topic}-{index} {level}");
                compare_partition(&consumer, level, (topic, index.parse().unwrap()), answer);
                compared += 1;
            }
        }
    }
    compared
}

fn compare_partition(
    consumer: &BaseConsumer,
    level: &str,
    (topic, partition): (&str, i32),
    answer: &Value,
) {
    let (key, end) = match level {
        "read_committed" => ("readCommitted", &answer["lastStableOffset"]),
        _ => ("readUncommitted", &answer["highWatermark"]),
    };
    let (low, high) = consumer.fetch_watermarks(topic, partition, WITHIN).unwrap();
    assert_eq!(
        (&json!(low), &json!(high)),
        (&answer["logStartOffset"], end),
        "{topic}-{partition}"
    );
    let expected = json!([answer[key]["count"], answer[key]["sha256"]]);
    assert_eq!(read(consumer, topic, partition), expected, "{topic}-{partition} {level}");
}

/// Number and digest of all records, as `tests/golden/README.md` defines it.
fn read(consumer: &BaseConsumer, topic: &str, partition: i32) -> Value {
    let mut assignment = TopicPartitionList::new();
    assignment.add_partition_offset(topic, partition, Offset::Beginning).unwrap();
    consumer.assign(&assignment).unwrap();
    let (mut count, mut digest) = (0, Sha256::new());
    loop {
        match consumer.poll(WITHIN).expect("an answer in time") {
            Ok(message) => {
                count += 1;
                put_message(&mut digest, &message);
            }
            Err(KafkaError::PartitionEOF(_)) => break,
            Err(error) => panic!("{topic}-{partition}: {error}"),
        }
    }
    let sha256: String = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    json!([count, sha256])
}

fn put_message(digest: &mut Sha256, message: &BorrowedMessage<'_>) {
    let (kind, timestamp) = match message.timestamp() {
        Timestamp::CreateTime(at) => (0, at),
        Timestamp::LogAppendTime(at) => (1, at),
        Timestamp::NotAvailable => (0xff_u8, -1),
    };
    digest.update(message.offset().to_be_bytes());
    digest.update(timestamp.to_be_bytes());
    digest.update([kind]);
    put(digest, message.key());
    put(digest, message.payload());
    let headers = message.headers().map_or(0, Headers::count);
    digest.update(i32::try_from(headers).unwrap().to_be_bytes());
    for header in message.headers().into_iter().flat_map(Headers::iter) {
        put(digest, Some(header.key.as_bytes()));
        put(digest, header.value);
    }
}

fn put(digest: &mut Sha256, bytes: Option<&[u8]>) {
    let len = bytes.map_or(-1, |bytes| i32::try_from(bytes.len()).unwrap());
    digest.update(len.to_be_bytes());
    digest.update(bytes.unwrap_or_default());
}
