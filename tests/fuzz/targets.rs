//! What must hold of any input, parser by parser. Each returns the memory that its input may cost.

use bytes::Bytes;
use highwater::config::{
    Codec, PropertiesFile, Sources, TargetCodec, TimestampType, TopicSettings, Validation, load,
    parse_properties,
};
use highwater::coordinator::records as group_records;
use highwater::coordinator::transactions as transaction_records;
use highwater::kafka::api_table::{Api, Body};
use highwater::kafka::codec::produce::ProduceRequest;
use highwater::kafka::guard;
use highwater::log::batch::{HEADER_LEN, set_offset_and_epoch};
use highwater::log::compress::{Decompressor, HeaderChecksum};
use highwater::log::format::{
    aborted_index, leader_epochs as epochs, offset_index as offsets,
    partition_metadata as metadata, producer_snapshot as snapshot, time_index as times,
};
use highwater::log::legacy::LegacyMessages;
use highwater::log::reader::RecordReader;
use highwater::log::record::Records;
use highwater::log::scan::{StoredBatch, scan};
use highwater::log::{BatchRules, check_batch, check_batch_inline};
use highwater::metadata::journal::{ControlRecord, quorum_state as quorum, replay_snapshot};
use highwater::metadata::records::Versioned;
use highwater::metadata::{Image, Replay};
use highwater::storage::{CleanShutdown, MetaProperties, checkpoint_file};
use highwater::types::{LeaderEpoch, Offset, Timestamp};

use crate::harness::Allowance;
use crate::messages;
use crate::seeds::header_of;

const NOW: Timestamp = Timestamp::new(1_700_000_000_000);

/// Most that any batch may decompress to here.
const DECOMPRESSED_MAX: usize = 1 << 20;

/// State of codecs, windows, error texts.
const OVERHEAD: usize = 1 << 20;

/// What decompressing may hold: the output while it grows, and the block in hand.
const DECOMPRESSING: Allowance = Allowance(OVERHEAD + 4 * DECOMPRESSED_MAX);

fn rules(
    compression: TargetCodec,
    timestamp_type: TimestampType,
    keys_required: bool,
) -> BatchRules {
    BatchRules {
        compression,
        timestamp_type,
        keys_required,
        decompressed_bytes_max: DECOMPRESSED_MAX,
        ..BatchRules::of(&TopicSettings::default())
    }
}

/// A batch that was taken is whole, stays whole when it is stored, and would be taken again.
fn check_taken_batch(input: &[u8], rules: &BatchRules) {
    let Ok(checked) = check_batch(input, rules, NOW) else { return };
    let mut stored = vec![0; checked.bytes.len()];
    checked.write_to(&mut stored, Offset::new(1 << 40), LeaderEpoch::new(5));
    let batch = StoredBatch::first(&stored).expect("what is stored is framed");
    assert_eq!(batch.bytes().len(), stored.len());
    assert_eq!(batch.verify(), Ok(()));
    let last_delta = i64::from(header_of(&stored).last_offset_delta);
    assert_eq!(batch.last_offset(), Offset::new((1 << 40) + last_delta));
    if rules.timestamp_type == TimestampType::CreateTime {
        set_offset_and_epoch(&mut stored, Offset::ZERO, LeaderEpoch::NONE);
        let again = check_batch(&stored, rules, NOW).expect("a taken batch is taken again");
        assert_eq!(again.bytes, stored, "and has nothing to correct");
    }
}

pub fn produced_batch(input: &[u8]) -> Allowance {
    for timestamp_type in [TimestampType::CreateTime, TimestampType::LogAppendTime] {
        for keys_required in [false, true] {
            let rules = rules(TargetCodec::Producer, timestamp_type, keys_required);
            check_taken_batch(input, &rules);
            check_taken_batch(input, &BatchRules { validation: Validation::Fast, ..rules.clone() });
            if let Some(inline) = check_batch_inline(input, &rules, NOW) {
                let pooled = check_batch(input, &rules, NOW).map(|checked| checked.bytes);
                assert_eq!(inline.map(|checked| checked.bytes), pooled);
            }
        }
    }
    Allowance(DECOMPRESSING.0 + 4 * input.len())
}

pub fn produced_batch_to_be_rewritten(input: &[u8]) -> Allowance {
    for codec in [Codec::None, Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd] {
        let rules = rules(TargetCodec::Fixed(codec), TimestampType::CreateTime, false);
        check_taken_batch(input, &rules);
    }
    // The records once more, and once more compressed.
    Allowance(2 * DECOMPRESSING.0 + 4 * input.len())
}

pub fn stored_batches(input: &[u8]) -> Allowance {
    let mut scan = scan(input);
    let mut end = 0;
    for (position, batch) in scan.by_ref() {
        assert_eq!(position, end);
        end += batch.bytes().len();
        let _ = (batch.verify(), batch.last_offset(), batch.max_timestamp(), batch.leader_epoch());
        match batch.header() {
            Some(header) => {
                let records = &batch.bytes()[HEADER_LEN..];
                read_records(RecordReader::new(&header, records, DECOMPRESSED_MAX).ok());
            }
            None => read_messages(&batch),
        }
    }
    assert!(scan.ending().is_some());
    DECOMPRESSING
}

fn read_records(reader: Option<RecordReader<'_>>) {
    let Some(mut reader) = reader else { return };
    while let Some(Ok(record)) = reader.next() {
        assert_eq!(record.headers.iter().count(), record.headers.len());
    }
}

fn read_messages(batch: &StoredBatch<'_>) {
    if let Ok(messages) = LegacyMessages::read(batch, DECOMPRESSED_MAX) {
        assert!(messages.iter().count() > 0, "a message stands for one at least");
        let _ = messages.base_offset();
    }
}

pub fn legacy_messages(input: &[u8]) -> Allowance {
    if let Some(batch) = StoredBatch::first(input) {
        read_messages(&batch);
    }
    Allowance(DECOMPRESSING.0 + LZ4_BLOCK_MAX)
}

pub fn records(input: &[u8]) -> Allowance {
    for count in [0, 1, 5, i32::MAX, -1] {
        let read = Records::new(input, count).count();
        assert!(read <= input.len() / 7 + 1, "a record takes 7 bytes, and there is one error");
    }
    Allowance(0)
}

fn decompress(codec: Codec, input: &[u8]) {
    if let Ok(stream) = Decompressor::new(codec, input)
        && let Ok(bytes) = stream.read_all(DECOMPRESSED_MAX)
    {
        assert!(bytes.len() <= DECOMPRESSED_MAX);
    }
}

/// The first two bytes say how long the key is; what is behind it is the value.
fn key_and_value(input: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = input.split_first_chunk()?;
    let length = usize::from(u16::from_be_bytes(*length)).min(rest.len());
    Some(rest.split_at(length))
}

/// What was read is written and read again. Some of it is not written as it was: then that is what is read the third time.
pub fn transaction_record(input: &[u8]) -> Allowance {
    let Some((key, value)) = key_and_value(input) else { return Allowance(0) };
    for value in [None, Some(value)] {
        if let Ok(Some(record)) = transaction_records::decode(key, value) {
            let written = transaction_records::encode(&record);
            let again = transaction_records::decode(&written.key, written.value.as_deref());
            assert_eq!(again, Ok(Some(record)));
        }
    }
    // A partition takes four bytes there and a `TopicPartition` here, twice when they are sorted; a topic takes three bytes.
    Allowance(OVERHEAD + 2 * 96 * input.len())
}

/// What was read is written and read again.
pub fn group_record(input: &[u8]) -> Allowance {
    let Some((key, value)) = key_and_value(input) else { return Allowance(0) };
    for value in [None, Some(value)] {
        if let Ok(Some(record)) = group_records::decode(key, value) {
            let written = group_records::encode(&record);
            let again = group_records::decode(&written.key, written.value.as_deref());
            assert_eq!(again, Ok(Some(record)));
        }
    }
    // An element of the smallest array takes one byte there and a `String` or `TopicName` here; twice for the second reading.
    Allowance(OVERHEAD + 2 * 64 * input.len())
}

pub fn gzip(input: &[u8]) -> Allowance {
    decompress(Codec::Gzip, input);
    DECOMPRESSING
}

pub fn snappy(input: &[u8]) -> Allowance {
    decompress(Codec::Snappy, input);
    // A block is whole in memory, and holds 22 times its length at most.
    Allowance(DECOMPRESSING.0 + 3 * 22 * input.len())
}

/// The largest that an lz4 header can ask for.
const LZ4_BLOCK_MAX: usize = 3 * (4 << 20);

pub fn lz4(input: &[u8]) -> Allowance {
    decompress(Codec::Lz4, input);
    if let Ok(stream) = Decompressor::lz4(input, HeaderChecksum::RightOrWithMagic) {
        let _ = stream.read_all(DECOMPRESSED_MAX);
    }
    Allowance(DECOMPRESSING.0 + LZ4_BLOCK_MAX.min(3 * 255 * input.len()))
}

pub fn zstd(input: &[u8]) -> Allowance {
    decompress(Codec::Zstd, input);
    DECOMPRESSING
}

pub fn offset_index(input: &[u8]) -> Allowance {
    let base = Offset::new(1000);
    let index = offsets::OffsetIndex::new(input, base);
    let sound = index.prefix(index.sound_entries(1 << 30));
    for entry in sound.iter() {
        assert_eq!(sound.lookup(entry.offset), Some(entry));
    }
    let _ = (index.lookup(Offset::new(5000)), index.last());
    Allowance(0)
}

pub fn time_index(input: &[u8]) -> Allowance {
    let index = times::TimeIndex::new(input, Offset::new(1000));
    let sound = index.prefix(index.sound_entries(Offset::new(i64::MAX)));
    for entry in sound.iter() {
        assert_eq!(sound.lookup(entry.timestamp), Some(entry));
    }
    let _ = (index.lookup(NOW), index.last());
    Allowance(0)
}

pub fn aborted_index(input: &[u8]) -> Allowance {
    if let Ok(entries) = aborted_index::decode(input, Offset::ZERO) {
        let encoded: Vec<u8> =
            entries.iter().flat_map(aborted_index::AbortedEntry::encode).collect();
        assert_eq!(encoded, input);
    }
    Allowance(1024 + 8 * input.len())
}

pub fn producer_snapshot(input: &[u8]) -> Allowance {
    if let Ok(entries) = snapshot::decode(input) {
        let encoded = snapshot::encode(entries.iter().copied());
        assert_eq!(snapshot::decode(&encoded), Ok(entries));
    }
    Allowance(1024 + 8 * input.len())
}

pub fn leader_epochs(input: &[u8]) -> Allowance {
    if let Ok(entries) = epochs::decode(input) {
        assert_eq!(epochs::decode(&epochs::encode(&entries)), Ok(entries));
    }
    Allowance(1024 + 16 * input.len())
}

pub fn partition_metadata(input: &[u8]) -> Allowance {
    if let Ok(id) = metadata::decode(input) {
        assert_eq!(metadata::decode(&metadata::encode(id)), Ok(id));
    }
    Allowance(1024 + 4 * input.len())
}

pub fn offset_checkpoint(input: &[u8]) -> Allowance {
    if let Ok(offsets) = checkpoint_file::decode_offsets(input) {
        let encoded = checkpoint_file::encode_offsets(&offsets);
        assert_eq!(checkpoint_file::decode_offsets(&encoded), Ok(offsets));
    }
    // A line of a few bytes becomes a map entry.
    Allowance(4096 + 64 * input.len())
}

pub fn meta_properties(input: &[u8]) -> Allowance {
    if let Ok(properties) = MetaProperties::decode(input) {
        let encoded = properties.encode(NOW);
        assert_eq!(MetaProperties::decode(&encoded), Ok(properties));
    }
    Allowance(4096 + 64 * input.len())
}

pub fn clean_shutdown(input: &[u8]) -> Allowance {
    let mark = CleanShutdown::decode(input);
    assert_eq!(
        CleanShutdown::decode(&mark.encode()).broker_epoch.unwrap_or(-1),
        mark.broker_epoch.unwrap_or(-1)
    );
    Allowance(4096 + 64 * input.len())
}

pub fn metadata_record(input: &[u8]) -> Allowance {
    if let Ok(record) = Versioned::decode(input) {
        // Not necessarily the same: fields of a later version than the record's own are read but not written.
        assert!(Versioned::decode(&record.encode()).is_ok());
    }
    Allowance(4096 + 64 * input.len())
}

pub fn metadata_control_record(input: &[u8]) -> Allowance {
    let (key, value) = input.split_at(input.len().min(4));
    if let Ok(record) = ControlRecord::decode(key, value) {
        let (key, value) = record.encode();
        let again = ControlRecord::decode(&key, &value);
        // Of a type that nobody knows, the number is kept and nothing else.
        assert_eq!(again, Ok(record));
    }
    Allowance(4096 + 64 * input.len())
}

pub fn metadata_snapshot(input: &[u8]) -> Allowance {
    let mut replay = Replay::new(Image::default());
    if replay_snapshot(input, &mut replay).is_ok() {
        let _ = replay.finish(Offset::new(1));
    }
    Allowance(16_384 + 256 * input.len())
}

pub fn quorum_state(input: &[u8]) -> Allowance {
    if let Some(read) = quorum::decode(input) {
        assert!(read.epoch.get() >= 0);
    }
    Allowance(4096 + 256 * input.len())
}

/// API and version of a request frame with where its body begins, if this broker serves them.
fn served(frame: &[u8]) -> Option<(&'static Api, i16, &[u8])> {
    let head: &[u8; 10] = frame.first_chunk()?;
    let api = Api::find(i16::from_be_bytes([head[0], head[1]]))?;
    let version = i16::from_be_bytes([head[2], head[3]]);
    let client_id_len = i16::from_be_bytes([head[8], head[9]]).max(0) as usize;
    let body = frame.get(10 + client_id_len + usize::from(api.is_flexible(version))..)?;
    api.versions.contains(&version).then_some((api, version, body))
}

/// What the guard lets through is decoded within bounds.
pub fn request_body(input: &[u8]) -> Allowance {
    if let Some((api, version, body)) = served(input)
        && let Body::Guarded(fields) = api.body
        && guard::check(fields, version, api.is_flexible(version), body).is_ok()
    {
        let _ = messages::request(api.key, version, Bytes::copy_from_slice(body));
    }
    // A decoded element takes up to a few hundred bytes for one or two on the wire.
    Allowance(OVERHEAD + 1024 * input.len())
}

pub fn produce_body(input: &[u8]) -> Allowance {
    if let Some((api, version, body)) = served(input)
        && api.key == 0
        && let Ok(request) = ProduceRequest::parse_body(Bytes::copy_from_slice(body), version)
    {
        for topic in request.topics() {
            let _ = topic.partitions().count();
        }
    }
    Allowance(4096 + 16 * input.len())
}

pub fn properties_file(input: &[u8]) -> Allowance {
    if let Ok(entries) = parse_properties(input) {
        let lines = 1 + input.iter().filter(|byte| matches!(byte, b'\n' | b'\r')).count();
        assert!(entries.iter().all(|entry| (1..=lines).contains(&entry.line)));
        assert!(entries.is_sorted_by(|a, b| a.line < b.line));
    }
    Allowance(OVERHEAD + 64 * input.len())
}

/// Whatever a file says, it gives settings or the places of what is wrong in it.
pub fn settings(input: &[u8]) -> Allowance {
    let file = PropertiesFile { path: "f".into(), bytes: input.to_vec() };
    match load(Sources { file: Some(file), ..Sources::default() }) {
        Ok(loaded) => assert!(!loaded.settings.listeners.is_empty()),
        Err(error) => assert!(!error.problems.is_empty()),
    }
    Allowance(OVERHEAD + 64 * input.len())
}
