//! Every batch, record, index, snapshot and small file of directories that Apache Kafka wrote, read as Kafka reads it.
#![allow(missing_docs, clippy::disallowed_methods, reason = "looks at files")]

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::LazyLock;

use flate2::read::GzDecoder;
use highwater::config::{Codec, TimestampType, TopicSettings};
use highwater::log::batch::{BatchHeader, HEADER_LEN};
use highwater::log::format::{
    aborted_index, leader_epochs, offset_index, partition_metadata, producer_snapshot, time_index,
};
use highwater::log::legacy::LegacyMessages;
use highwater::log::reader::RecordReader;
use highwater::log::record::Record;
use highwater::log::scan::{ScanEnd, StoredBatch, scan};
use highwater::log::{BatchRejection, BatchRules, check_batch};
use highwater::types::{Offset, Timestamp};
use serde_json::{Map, Value, json};

/// Every fixture that Kafka left whole.
const FIXTURES: [&str; 5] = ["clean-4.4", "clean-4.3", "clean-3.9", "killed-4.4", "legacy-magic01"];

const DECOMPRESSED_MAX: usize = 1 << 20;

/// One file of a fixture.
struct Stored {
    /// `fixture/partition/file`, also for messages.
    path: String,
    bytes: Vec<u8>,
}

/// All files of all fixtures, unpacked once for all tests.
fn stored() -> &'static [Stored] {
    static STORED: LazyLock<Vec<Stored>> =
        LazyLock::new(|| FIXTURES.iter().flat_map(|fixture| unpack(fixture)).collect());
    &STORED
}

fn open(fixture: &str, file: &str) -> GzDecoder<File> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(fixture).join(file);
    GzDecoder::new(File::open(path).expect("part of the project"))
}

fn unpack(fixture: &str) -> Vec<Stored> {
    let mut archive = tar::Archive::new(open(fixture, "data.tar.gz"));
    let mut files = Vec::new();
    for entry in archive.entries().expect("an archive") {
        let mut entry = entry.expect("an entry");
        let path = entry.path().expect("a path").display().to_string();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).expect("its bytes");
        files.push(Stored { path: format!("{fixture}/{}", path.trim_start_matches("./")), bytes });
    }
    files
}

fn bytes_of(path: &str) -> &'static [u8] {
    &stored().iter().find(|file| file.path == path).expect("a file of the fixture").bytes
}

/// Calls `visit` with each segment of all fixtures: its name for messages, its bytes, what Kafka says about it.
fn for_each_segment(mut visit: impl FnMut(&str, &[u8], &Value)) {
    for fixture in FIXTURES {
        let partitions: Map<String, Value> =
            serde_json::from_reader(open(fixture, "segments.json.gz")).expect("JSON");
        let mut seen = 0;
        for (partition, segments) in partitions {
            for segment in segments.as_array().expect("segments") {
                let file = segment["file"].as_str().expect("a name");
                let path = format!("{fixture}/{partition}/{file}");
                visit(&path, bytes_of(&path), segment);
                seen += 1;
            }
        }
        assert!(seen >= 12, "{fixture} has segments");
    }
}

fn codec_name(codec: Codec) -> &'static str {
    match codec {
        Codec::None => "none",
        Codec::Gzip => "gzip",
        Codec::Snappy => "snappy",
        Codec::Lz4 => "lz4",
        Codec::Zstd => "zstd",
    }
}

fn time_name(timestamp_type: TimestampType) -> &'static str {
    match timestamp_type {
        TimestampType::CreateTime => "CreateTime",
        TimestampType::LogAppendTime => "LogAppendTime",
    }
}

/// A batch of magic 2 in the words of `segments.json`.
fn describe(position: usize, batch: &StoredBatch<'_>, header: &BatchHeader) -> Value {
    json!({
        "position": position,
        "size": batch.bytes().len(),
        "baseOffset": header.base_offset.get(),
        "lastOffset": batch.last_offset().get(),
        "count": header.records_count,
        "magic": batch.magic(),
        "codec": codec_name(header.codec().expect("a known codec")),
        "timestampType": time_name(header.timestamp_type()),
        "maxTimestamp": batch.max_timestamp().get(),
        "crc": header.crc,
        "leaderEpoch": batch.leader_epoch().get(),
        "producerId": header.producer_id.get(),
        "producerEpoch": header.producer_epoch.get(),
        "baseSequence": header.base_sequence,
        "transactional": header.is_transactional(),
        "control": header.is_control(),
        "deleteHorizonMs": header.delete_horizon().map(Timestamp::get),
        "valid": batch.verify().is_ok(),
    })
}

fn hex(bytes: Option<&[u8]>) -> Value {
    let text = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    bytes.map_or(Value::Null, |bytes| text(bytes).into())
}

fn describe_record(record: &Record<'_>, header: &BatchHeader) -> Value {
    let mut out = json!({
        "offset": record.offset(header).get(),
        "timestamp": record.timestamp(header).get(),
        "key": hex(record.key),
        "value": hex(record.value),
    });
    if !record.headers.is_empty() {
        let pair = |(key, value): (&[u8], _)| json!([String::from_utf8_lossy(key), hex(value)]);
        out["headers"] = record.headers.iter().map(pair).collect();
    }
    out
}

fn records(batch: &StoredBatch<'_>, header: &BatchHeader) -> Vec<Value> {
    let mut reader =
        RecordReader::new(header, &batch.bytes()[HEADER_LEN..], DECOMPRESSED_MAX).expect("a codec");
    let mut out = Vec::new();
    while let Some(record) = reader.next() {
        out.push(describe_record(&record.expect("a record"), header));
    }
    out
}

fn legacy_records(batch: &StoredBatch<'_>) -> Vec<Value> {
    let messages = LegacyMessages::read(batch, DECOMPRESSED_MAX).expect("messages");
    let describe = |record: highwater::log::legacy::LegacyRecord<'_>| {
        json!({
            "offset": record.offset.get(),
            "timestamp": record.timestamp.get(),
            "key": hex(record.key),
            "value": hex(record.value),
        })
    };
    messages.iter().map(describe).collect()
}

#[test]
fn batches_of_magic_2_are_those_that_kafka_reads() {
    let mut compared = 0;
    for_each_segment(|name, bytes, expected| {
        let mut scan = scan(bytes);
        for ((position, batch), expected) in
            scan.by_ref().zip(expected["batches"].as_array().unwrap())
        {
            let Some(header) = batch.header() else { continue };
            let mut expected = expected.clone();
            let expected_records = expected.as_object_mut().unwrap().remove("records");
            assert_eq!(describe(position, &batch, &header), expected, "{name} at {position}");
            let records = records(&batch, &header);
            assert_eq!(records.len(), header.records_count as usize, "{name} at {position}");
            if let Some(expected) = expected_records {
                assert_eq!(Value::from(records), expected, "{name} at {position}");
            }
            compared += 1;
        }
    });
    assert!(compared > 1000, "only {compared}");
}

#[test]
fn messages_of_magic_0_and_1_are_those_that_kafka_reads() {
    let mut compared = [0, 0];
    for_each_segment(|name, bytes, expected| {
        for ((position, batch), expected) in
            scan(bytes).zip(expected["batches"].as_array().unwrap())
        {
            if batch.magic() == 2 {
                continue;
            }
            let context = format!("{name} at {position}");
            assert_eq!(batch.verify(), Ok(()), "{context}");
            assert_eq!(json!(batch.magic()), expected["magic"], "{context}");
            assert_eq!(json!(batch.bytes().len()), expected["size"], "{context}");
            assert_eq!(json!(batch.last_offset().get()), expected["lastOffset"], "{context}");
            assert_eq!(json!(batch.max_timestamp().get()), expected["maxTimestamp"], "{context}");
            let messages = LegacyMessages::read(&batch, DECOMPRESSED_MAX).expect("messages");
            assert_eq!(json!(messages.base_offset().get()), expected["baseOffset"], "{context}");
            assert_eq!(Value::from(legacy_records(&batch)), expected["records"], "{context}");
            compared[batch.magic() as usize] += 1;
        }
    });
    assert!(compared.iter().all(|count| *count >= 10), "{compared:?}");
}

#[test]
fn scans_end_where_kafkas_do() {
    for_each_segment(|name, bytes, expected| {
        let mut scan = scan(bytes);
        let count = scan.by_ref().count();
        assert_eq!(json!(scan.position()), expected["validBytes"], "{name}");
        assert_eq!(count, expected["batches"].as_array().unwrap().len(), "{name}");
        if scan.position() == bytes.len() {
            assert_eq!(scan.ending(), Some(ScanEnd::Exhausted), "{name}");
        }
    });
}

/// As a client sent it: offset 0, no leader epoch, neither under the checksum.
fn as_sent(batch: &StoredBatch<'_>) -> Vec<u8> {
    let mut bytes = batch.bytes().to_vec();
    highwater::log::batch::set_offset_and_epoch(
        &mut bytes,
        Offset::ZERO,
        highwater::types::LeaderEpoch::NONE,
    );
    bytes
}

#[test]
fn what_kafka_took_from_clients_passes_the_checks() {
    let settings =
        TopicSettings { message_timestamp_after_max_ms: i64::MAX, ..TopicSettings::default() };
    let rules = BatchRules::of(&settings);
    let mut checked = 0;
    for_each_segment(|name, bytes, _| {
        for (position, batch) in scan(bytes) {
            let Some(header) = batch.header() else { continue };
            let from_client =
                !name.contains("/__") && !header.is_control() && header.delete_horizon().is_none();
            let whole = header.records_count == header.last_offset_delta + 1;
            if !from_client || !whole {
                continue;
            }
            let sent = as_sent(&batch);
            let result = check_batch(&sent, &rules, Timestamp::new(1_800_000_000_000));
            // A client would not have set the broker's time; that is how such batches were stored.
            match header.timestamp_type() {
                TimestampType::CreateTime => {
                    assert_eq!(result.unwrap().bytes, sent, "{name} at {position}")
                }
                TimestampType::LogAppendTime => {
                    let log_append = BatchRules {
                        timestamp_type: TimestampType::LogAppendTime,
                        ..rules.clone()
                    };
                    let result = check_batch(&sent, &log_append, Timestamp::new(0));
                    assert!(
                        matches!(result, Err(BatchRejection::InvalidTimestamp { .. })),
                        "{name} at {position}"
                    );
                }
            }
            checked += 1;
        }
    });
    assert!(checked > 500, "only {checked}");
}

/// All files with this ending, as (path for messages, base offset in the name, bytes).
fn files(ending: &str) -> Vec<(&'static str, Offset, &'static [u8])> {
    let named = |file: &'static Stored| {
        let stem = file.path.strip_suffix(ending)?.rsplit('/').next()?;
        Some((&file.path[..], Offset::new(stem.parse().unwrap_or(0)), &file.bytes[..]))
    };
    let found: Vec<_> = stored().iter().filter_map(named).collect();
    assert!(found.len() >= 5, "{} files end in {ending}", found.len());
    found
}

/// Bytes up to the zeros that Kafka preallocates.
fn written(bytes: &[u8], entry_len: usize) -> usize {
    let last = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |at| at + 1);
    last.div_ceil(entry_len)
}

#[test]
fn offset_indexes_point_at_batches() {
    for (name, base, bytes) in files(".index") {
        let log = bytes_of(&name.replace(".index", ".log"));
        let index = offset_index::OffsetIndex::new(bytes, base);
        let sound = index.sound_entries(log.len() as u64);
        assert_eq!(sound, written(bytes, offset_index::ENTRY_LEN), "{name}");
        let index = index.prefix(sound);
        for (entry, raw) in index.iter().zip(bytes.chunks(offset_index::ENTRY_LEN)) {
            let batch = StoredBatch::first(&log[entry.position as usize..]).expect("a batch");
            assert_eq!(batch.last_offset(), entry.offset, "{name} at {}", entry.position);
            assert_eq!(index.lookup(entry.offset), Some(entry), "{name}");
            assert_eq!(entry.encode(base), raw, "{name}");
        }
    }
}

#[test]
fn time_indexes_know_the_largest_timestamps() {
    for (name, base, bytes) in files(".timeindex") {
        let log = bytes_of(&name.replace(".timeindex", ".log"));
        let batches: Vec<_> = scan(log).map(|(_, batch)| batch).collect();
        let last = batches.last().map_or(base, StoredBatch::last_offset);
        let index = time_index::TimeIndex::new(bytes, base);
        let sound = index.sound_entries(last);
        assert_eq!(sound, written(bytes, time_index::ENTRY_LEN), "{name}");
        let index = index.prefix(sound);
        for (entry, raw) in index.iter().zip(bytes.chunks(time_index::ENTRY_LEN)) {
            assert_eq!(index.lookup(entry.timestamp), Some(entry), "{name}");
            assert_eq!(entry.encode(base), raw, "{name}");
            let largest = batches
                .iter()
                .take_while(|batch| batch.last_offset() <= entry.offset)
                .map(StoredBatch::max_timestamp)
                .max();
            assert_eq!(largest, Some(entry.timestamp), "{name} at {}", entry.offset);
        }
    }
}

#[test]
fn snapshots_are_written_back_byte_for_byte() {
    let mut producers = 0;
    for (name, _, bytes) in files(".snapshot") {
        let entries =
            producer_snapshot::decode(bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        producers += entries.len();
        assert_eq!(producer_snapshot::encode(entries.into_iter()), bytes, "{name}");
    }
    assert!(producers > 20, "only {producers}");
}

#[test]
fn aborted_transactions_are_written_back_byte_for_byte() {
    for (name, base, bytes) in files(".txnindex") {
        let entries =
            aborted_index::decode(bytes, base).unwrap_or_else(|error| panic!("{name}: {error}"));
        let encoded: Vec<u8> =
            entries.iter().flat_map(aborted_index::AbortedEntry::encode).collect();
        assert_eq!(encoded, bytes, "{name}");
    }
}

#[test]
fn leader_epochs_and_topic_ids_are_written_back_byte_for_byte() {
    for (name, _, bytes) in files("leader-epoch-checkpoint") {
        let epochs = leader_epochs::decode(bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(leader_epochs::encode(&epochs), bytes, "{name}");
    }
    for (name, _, bytes) in files("partition.metadata") {
        let id =
            partition_metadata::decode(bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(partition_metadata::encode(id), bytes, "{name}");
    }
}
