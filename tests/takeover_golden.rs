//! Directories that Apache Kafka left, taken over by a whole broker: what librdkafka reads of them is what Kafka answered.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a test may panic, and plays the machine"
)]

mod support;

use std::time::Duration;

use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::KafkaError;
use rdkafka::message::{BorrowedMessage, Headers, Timestamp};
use rdkafka::{ClientConfig, Message, Offset, TopicPartitionList};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use support::golden::Golden;
use support::serving::serve;

/// Kafka's cleaner ran between its start and its answers.
const CLEANED_SINCE: &str = "compacted";

#[tokio::test(flavor = "multi_thread")]
async fn records_of_every_release_are_read_as_kafka_served_them() {
    for fixture in ["clean-4.4", "clean-4.3", "clean-3.9", "killed-4.4"] {
        let golden = Golden::unpack(fixture, "data.tar.gz");
        let topics = kafkas_answers(&golden.expected)["topics"].clone();
        let running = serve(golden.root()).await;
        let address = running.addresses()[0].to_string();
        let compare = move || compare(fixture, &address, &topics);
        tokio::task::spawn_blocking(compare).await.unwrap();
        running.stop().await.unwrap();
    }
}

/// Those of the running broker before a clean stop, or after the start that followed.
fn kafkas_answers(expected: &Value) -> &Value {
    let after_kill = &expected["afterKafkaStart"]["answers"];
    if after_kill.is_null() { expected } else { after_kill }
}

fn compare(fixture: &str, address: &str, topics: &Value) {
    let mut compared = 0;
    for level in ["read_uncommitted", "read_committed"] {
        let consumer: BaseConsumer = ClientConfig::new()
            .set("bootstrap.servers", address)
            .set("group.id", "golden")
            .set("enable.auto.commit", "false")
            .set("enable.partition.eof", "true")
            .set("fetch.wait.max.ms", "10")
            .set("isolation.level", level)
            .create()
            .unwrap();
        for (topic, answer) in topics.as_object().unwrap() {
            if topic == CLEANED_SINCE && fixture == "killed-4.4" {
                continue;
            }
            for (index, answer) in answer["partitions"].as_object().unwrap() {
                let key =
                    if level == "read_committed" { "readCommitted" } else { "readUncommitted" };
                let expected = json!([answer[key]["count"], answer[key]["sha256"]]);
                println!("{fixture} {topic}-{index} {level}");
                let partition = index.parse().unwrap();
                let ends = consumer.fetch_watermarks(topic, partition, Duration::from_secs(30));
                let end = match level {
                    "read_committed" => &answer["lastStableOffset"],
                    _ => &answer["highWatermark"],
                };
                let expected_ends = (&answer["logStartOffset"], end);
                let (low, high) = ends.unwrap();
                assert_eq!((&json!(low), &json!(high)), expected_ends, "{fixture} {topic}-{index}");
                assert_eq!(
                    read(&consumer, topic, partition),
                    expected,
                    "{fixture} {topic}-{index} {level}"
                );
                compared += 1;
            }
        }
    }
    assert!(compared >= 24, "{fixture}: {compared}");
}

/// Number and digest of all records, as `tests/golden/README.md` defines it.
fn read(consumer: &BaseConsumer, topic: &str, partition: i32) -> Value {
    let mut assignment = TopicPartitionList::new();
    assignment.add_partition_offset(topic, partition, Offset::Beginning).unwrap();
    consumer.assign(&assignment).unwrap();
    let (mut count, mut digest) = (0, Sha256::new());
    loop {
        match consumer.poll(Duration::from_secs(15)).expect("an answer in time") {
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
