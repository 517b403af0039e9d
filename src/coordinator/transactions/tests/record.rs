//! Against records that Apache Kafka wrote, and what it says they are.

use std::io::Read;

use serde_json::{Value, json};

use super::*;
use crate::types::TopicPartition;

const RECORDS: &[u8] = include_bytes!("../../../../tests/golden/transactions/records.jsonl.gz");

struct Golden {
    line: Value,
    key: Vec<u8>,
    value: Option<Vec<u8>>,
}

impl Golden {
    fn all() -> Vec<Self> {
        let mut text = String::new();
        flate2::read::GzDecoder::new(RECORDS).read_to_string(&mut text).expect("gzip of text");
        let records: Vec<Self> = text.lines().map(Self::parse).collect();
        assert!(records.len() > 350, "{}", records.len());
        records
    }

    fn parse(line: &str) -> Self {
        let line: Value = serde_json::from_str(line).expect("JSON");
        let key = hex(line["key"].as_str().expect("a key"));
        let value = line["value"].as_str().map(hex);
        Self { line, key, value }
    }

    /// False for the states that Kafka has in memory only.
    fn is_written(&self) -> bool {
        self.line["data"]["transactionStatus"].as_i64().is_none_or(|state| state <= 5)
    }

    fn decode(&self) -> TransactionRecord {
        decode(&self.key, self.value.as_deref())
            .unwrap_or_else(|error| panic!("{error}: {}", self.line))
            .unwrap_or_else(|| panic!("a known type: {}", self.line))
    }

    fn partitions(&self) -> Vec<TopicPartition> {
        let topics = self.line["data"]["transactionPartitions"].as_array();
        let of_topic = |topic: &Value| {
            let name = topic["topic"].as_str().expect("a name").to_owned();
            let ids = topic["partitionIds"].as_array().expect("an array").clone();
            let id = |id: &Value| i32::try_from(id.as_i64().expect("a number")).expect("32 bits");
            ids.into_iter().map(move |partition| at(&name, id(&partition))).collect::<Vec<_>>()
        };
        topics.into_iter().flatten().flat_map(of_topic).collect()
    }
}

fn hex(text: &str) -> Vec<u8> {
    let digits = |at| u8::from_str_radix(&text[at..at + 2], 16).expect("hex");
    (0..text.len()).step_by(2).map(digits).collect()
}

#[test]
fn what_kafka_wrote_is_read_as_kafka_reads_it() {
    for golden in Golden::all().into_iter().filter(Golden::is_written) {
        let record = golden.decode();
        assert_eq!(json!({ "transactionalId": record.id.as_str() }), golden.line["keyData"]);
        let Some((transaction, format)) = record.value else {
            assert!(golden.line.get("data").is_none(), "{}", golden.line);
            continue;
        };
        let data = &golden.line["data"];
        let version = if format == ValueFormat::V0 { 0 } else { 1 };
        assert_eq!(golden.line["version"], json!(version));
        // What has its default is not printed.
        let number =
            |field: &str, default: i64| data.get(field).map_or(Some(default), Value::as_i64);
        assert_eq!(Some(transaction.producer.id.get()), number("producerId", 0));
        assert_eq!(Some(transaction.producer.epoch.get().into()), number("producerEpoch", 0));
        assert_eq!(Some(transaction.timeout_ms.into()), number("transactionTimeoutMs", 0));
        assert_eq!(Some(transaction.state.id().into()), number("transactionStatus", 0));
        assert_eq!(
            Some(transaction.last_update.get()),
            number("transactionLastUpdateTimestampMs", 0)
        );
        assert_eq!(Some(transaction.start.get()), number("transactionStartTimestampMs", 0));
        assert_eq!(Some(transaction.previous_id.get()), number("previousProducerId", -1));
        assert_eq!(Some(transaction.next_id.get()), number("nextProducerId", -1));
        assert_eq!(Some(transaction.next_epoch.get().into()), number("nextProducerEpoch", -1));
        let is_second = number("clientTransactionVersion", 0) == Some(2);
        assert_eq!(transaction.version == V2, is_second, "{}", golden.line);
        let mut partitions = golden.partitions();
        partitions.sort();
        assert_eq!(*transaction.partitions, *partitions);
    }
}

#[test]
fn what_is_written_is_kafkas_to_the_byte() {
    let mut compared = 0;
    for golden in Golden::all().into_iter().filter(Golden::is_written) {
        let written = encode(&golden.decode());
        assert_eq!(written.key, golden.key);
        // Nothing writes that: its rules are those of version 0.
        if golden.line["data"]["clientTransactionVersion"] == json!(1) {
            continue;
        }
        if golden.partitions().is_sorted() {
            assert_eq!(written.value, golden.value, "{}", golden.line);
            compared += 1;
        } else {
            let (ours, kafkas) =
                (written.value.map(|it| it.len()), golden.value.map(|it| it.len()));
            assert_eq!(ours, kafkas, "in another order: {}", golden.line);
        }
    }
    assert!(compared > 300, "{compared}");
}

#[test]
fn a_record_cut_short_is_refused() {
    for golden in Golden::all().into_iter().filter(Golden::is_written) {
        for len in 0..golden.key.len() {
            assert!(decode(&golden.key[..len], golden.value.as_deref()).is_err());
        }
        let value = golden.value.as_deref().unwrap_or_default();
        for len in 0..value.len() {
            assert!(decode(&golden.key, Some(&value[..len])).is_err(), "{} {len}", golden.line);
        }
    }
}

#[test]
fn a_state_that_is_never_written_is_refused() {
    let never: Vec<_> = Golden::all().into_iter().filter(|it| !it.is_written()).collect();
    assert!(!never.is_empty());
    for golden in never {
        let error = decode(&golden.key, golden.value.as_deref()).expect_err("Dead or fencing");
        assert!(error.to_string().ends_with("is no state that is written"), "{error}");
    }
}

#[test]
fn what_a_newer_kafka_writes_is_refused_or_left_alone() {
    let key = b"\0\0\0\x01t";
    let error = decode(key, Some(&[0, 2, 0])).expect_err("version 2");
    assert!(error.to_string().contains("version 2"), "{error}");
    assert_eq!(decode(b"\0\x01\0\x01t", Some(&[0, 0])), Ok(None));
}

#[test]
fn the_cluster_decides_how_values_are_written() {
    let version_of = |level, rules| {
        let mut it = Stepper::new(level);
        let me = it.init("t", None).expect("new");
        it.add("t", me, &[at("a", 0)], rules).expect("idle");
        let value = it.log.last().and_then(|record| record.value.clone()).expect("a value");
        i16::from_be_bytes([value[0], value[1]])
    };
    assert_eq!(version_of(0, V1), 0);
    assert_eq!(version_of(1, V1), 1);
    assert_eq!(version_of(2, V1), 1);
    assert_eq!(version_of(2, V2), 1);
    assert_eq!(version_of(0, V2), 1, "the older one would lose the rules");
}

/// Kafka's own producers in a directory of 4.4, replayed: a commit, an abort, a fencing.
#[test]
fn records_follow_each_other_as_kafkas_do() {
    let mut it = Stepper::new(2);
    let me = it.init("txn-a", None).expect("new");
    it.add("txn-a", me, &[at("txn", 0)], V2).expect("idle");
    it.add("txn-a", me, &[at("txn", 1)], V2).expect("open");
    let me = it.end("txn-a", me, Commit, V2).expect("open");
    it.write_markers();
    it.add("txn-a", me, &[at("txn", 0)], V2).expect("complete");
    it.add("txn-a", me, &[at("txn", 1)], V2).expect("open");
    it.end("txn-a", me, Abort, V2).expect("open");
    it.write_markers();
    let ours: Vec<_> =
        it.log.iter().map(|entry| without_run(&entry.key, entry.value.as_deref())).collect();
    let kafkas: Vec<_> = Golden::all()
        .iter()
        .filter(|golden| golden.line["origin"] == json!("clean-4.4"))
        .filter(|golden| golden.line["keyData"]["transactionalId"] == json!("txn-a"))
        .map(|golden| without_run(&golden.key, golden.value.as_deref()))
        .take(ours.len())
        .collect();
    assert_eq!(ours, kafkas);
}

/// What a run of Kafka and one of the stepper have in common: not ids, times and the time-out.
fn without_run(key: &[u8], value: Option<&[u8]>) -> Vec<u8> {
    let mut record = decode(key, value).expect("valid").expect("a known type");
    let (transaction, _) = record.value.as_mut().expect("no tombstone");
    assert_eq!(transaction.previous_id, transaction.producer.id);
    transaction.producer.id = ProducerId::new(2);
    transaction.previous_id = ProducerId::new(2);
    transaction.timeout_ms = 1;
    transaction.last_update = Timestamp::new(2);
    transaction.start =
        if transaction.start == Timestamp::NONE { Timestamp::NONE } else { Timestamp::new(1) };
    encode(&record).value.expect("no tombstone")
}
