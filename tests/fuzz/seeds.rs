//! Inputs to begin with: files of Apache Kafka, batches in every codec, requests of real clients.
#![allow(clippy::disallowed_methods, reason = "reads fixtures")]

use std::io::Read as _;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use highwater::config::{Codec, TimestampType};
use highwater::log::batch::{BatchHeader, HEADER_LEN, compute_crc, crc32c};
use highwater::log::builder::{BatchBuilder, BatchTemplate};
use highwater::log::compress::Compression;
use highwater::log::record::Records;
use highwater::log::scan::{MAGIC_END, scan};
use highwater::types::{ProducerEpoch, ProducerId, Timestamp};

use crate::harness::Seed;

const CODECS: [Codec; 5] = [Codec::None, Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd];

/// Longest file to begin with.
const FILE_LEN_MAX: u64 = 64 << 10;

fn as_they_are(_: &mut [u8]) {}

fn seeds(inputs: impl IntoIterator<Item = Vec<u8>>, repair: fn(&mut [u8])) -> Vec<Seed> {
    inputs.into_iter().map(|bytes| Seed { bytes, repair }).collect()
}

fn golden_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

fn files(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).expect("a fixture") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            files(&path, found);
        } else if path.metadata().expect("readable").len() <= FILE_LEN_MAX {
            found.push(path);
        }
    }
}

fn golden_files(ending: &str) -> Vec<Vec<u8>> {
    let mut paths = Vec::new();
    files(&golden_root().join("raw"), &mut paths);
    // The order of a directory is the file system's; cases must not depend on it.
    paths.sort();
    paths.retain(|path| path.to_string_lossy().ends_with(ending));
    paths.iter().map(|path| std::fs::read(path).expect("readable")).collect()
}

/// Files of Kafka whose path ends so.
pub fn golden(ending: &str) -> Vec<Seed> {
    let repair = if ending == ".snapshot" { repair_snapshot } else { as_they_are };
    seeds(golden_files(ending), repair)
}

fn repair_snapshot(bytes: &mut [u8]) {
    if bytes.len() >= 6 {
        let crc = crc32c(&bytes[6..]);
        bytes[2..6].copy_from_slice(&crc.to_be_bytes());
    }
}

/// Segments of Kafka in all three formats.
pub fn logs() -> Vec<Seed> {
    seeds(golden_files(".log"), repair_batch)
}

/// Length and checksum of the batch or message at the front; what follows stays.
fn repair_batch(bytes: &mut [u8]) {
    if bytes.len() <= MAGIC_END {
        return;
    }
    let claimed = i32::from_be_bytes([bytes[8], bytes[9], bytes[10], bytes[11]]);
    let end = usize::try_from(claimed).map_or(0, |length| length.saturating_add(12));
    let end = if (MAGIC_END + 1..=bytes.len()).contains(&end) { end } else { bytes.len() };
    bytes[8..12].copy_from_slice(&(end as i32 - 12).to_be_bytes());
    if bytes[16] < 2 {
        let crc = crc32fast::hash(&bytes[16..end]);
        bytes[12..16].copy_from_slice(&crc.to_be_bytes());
    } else if end >= HEADER_LEN {
        let crc = compute_crc(&bytes[..end]);
        bytes[17..21].copy_from_slice(&crc.to_be_bytes());
    }
}

/// As `repair_batch`, for the one batch of a produce request.
fn repair_only_batch(bytes: &mut [u8]) {
    if bytes.len() >= HEADER_LEN {
        let length = (bytes.len() - 12) as i32;
        bytes[8..12].copy_from_slice(&length.to_be_bytes());
        let crc = compute_crc(bytes);
        bytes[17..21].copy_from_slice(&crc.to_be_bytes());
    }
}

fn batch(codec: Codec, records: usize, value: &[u8]) -> Vec<u8> {
    let mut builder = BatchBuilder::new(BatchTemplate {
        compression: Compression::default_of(codec),
        timestamp_type: TimestampType::CreateTime,
        producer_id: ProducerId::new(7),
        producer_epoch: ProducerEpoch::new(0),
        base_sequence: 3,
        ..BatchTemplate::default()
    });
    for i in 0..records {
        let headers = [(&b"header"[..], Some(&b"x"[..])), (&b""[..], None)];
        let key = (i % 3 > 0).then_some(&b"key"[..]);
        builder.append_with_headers(Timestamp::new(1_700_000_000_000), key, Some(value), headers);
    }
    builder.build().expect("memory")
}

/// What producers send.
pub fn batches() -> Vec<Seed> {
    let small = CODECS.map(|codec| batch(codec, 5, b"some value"));
    // What decompresses to much more than it is.
    let large = CODECS.map(|codec| batch(codec, 3, &[b'a'; 5000]));
    seeds(small.into_iter().chain(large), repair_only_batch)
}

/// Records without the header of their batch.
pub fn records() -> Vec<Seed> {
    let plain = [batch(Codec::None, 5, b"some value"), batch(Codec::None, 1, b"")];
    seeds(plain.map(|batch| batch[HEADER_LEN..].to_vec()), as_they_are)
}

/// Compressed records in the codec of this number, Kafka's own and ours.
pub fn compressed(codec: i16) -> Vec<Seed> {
    let logs = golden_files(".log");
    let stored = logs.iter().flat_map(|log| scan(log)).filter_map(|(_, batch)| {
        let header = batch.header().filter(|header| header.attributes & 7 == codec)?;
        debug_assert!(header.records_count > 0);
        Some(batch.bytes()[HEADER_LEN..].to_vec())
    });
    let ours = CODECS[codec as usize];
    let zeros = Compression::default_of(ours).compress(&[0; 100_000]).expect("memory");
    seeds(stored.chain([zeros]), as_they_are)
}

/// Messages of magic 0 and 1.
pub fn legacy() -> Vec<Seed> {
    let logs = golden_files(".log");
    let stored = logs.iter().flat_map(|log| scan(log)).filter(|(_, batch)| batch.magic() < 2);
    seeds(stored.map(|(_, batch)| batch.bytes().to_vec()), repair_batch)
}

/// Records of groups as Apache Kafka writes them: the length of the key in two bytes, key, value.
pub fn group_records() -> Vec<Seed> {
    coordinator_records(include_bytes!("../golden/groups/records.jsonl.gz"))
}

/// The same of transactions.
pub fn transaction_records() -> Vec<Seed> {
    coordinator_records(include_bytes!("../golden/transactions/records.jsonl.gz"))
}

fn coordinator_records(compressed: &[u8]) -> Vec<Seed> {
    let mut lines = String::new();
    GzDecoder::new(compressed).read_to_string(&mut lines).expect("gzip of text");
    seeds(lines.lines().map(coordinator_record), as_they_are)
}

fn coordinator_record(line: &str) -> Vec<u8> {
    let line: serde_json::Value = serde_json::from_str(line).expect("JSON");
    let bytes = |name: &str| line[name].as_str().map(from_hex).unwrap_or_default();
    let (key, value) = (bytes("key"), bytes("value"));
    let length = u16::try_from(key.len()).expect("a short key");
    [&length.to_be_bytes()[..], &key, &value].concat()
}

/// Values of Kafka's metadata records.
pub fn metadata_records() -> Vec<Seed> {
    seeds(
        metadata_log(|header, _, value| (!header.is_control()).then(|| value.to_vec())),
        as_they_are,
    )
}

/// Control records of Kafka's metadata log: the four bytes of the key, then the value.
pub fn metadata_control_records() -> Vec<Seed> {
    let joined = |key: &[u8], value: &[u8]| [key, value].concat();
    seeds(
        metadata_log(|header, key, value| header.is_control().then(|| joined(key, value))),
        as_they_are,
    )
}

/// What `pick` takes of header, key and value of each record of Kafka's metadata logs.
fn metadata_log(pick: impl Fn(&BatchHeader, &[u8], &[u8]) -> Option<Vec<u8>>) -> Vec<Vec<u8>> {
    let logs = golden_files("__cluster_metadata-0/00000000000000000000.log");
    let mut picked = Vec::new();
    for (_, batch) in logs.iter().flat_map(|log| scan(log)) {
        let header = header_of(batch.bytes());
        for record in Records::new(&batch.bytes()[HEADER_LEN..], header.records_count) {
            let record = record.expect("Kafka's");
            let key = record.key.unwrap_or_default();
            picked.extend(pick(&header, key, record.value.unwrap_or_default()));
        }
    }
    picked
}

/// Snapshots of the metadata log, with right checksums after each mutation.
pub fn metadata_snapshots() -> Vec<Seed> {
    seeds(golden_files(".checkpoint"), repair_batches)
}

/// Checksums of all batches of magic 2 whose lengths can be believed.
fn repair_batches(bytes: &mut [u8]) {
    let mut at = 0;
    while let Some(rest) = bytes.get_mut(at..).filter(|rest| rest.len() > HEADER_LEN) {
        let length = i32::from_be_bytes([rest[8], rest[9], rest[10], rest[11]]);
        let end = usize::try_from(length).map_or(0, |length| length.saturating_add(12));
        if end <= HEADER_LEN || end > rest.len() {
            return;
        }
        let crc = crc32c(&rest[21..end]);
        rest[17..21].copy_from_slice(&crc.to_be_bytes());
        at += end;
    }
}

pub fn properties_files() -> Vec<Seed> {
    let server = include_bytes!("../../src/config/tests/stock/server.properties");
    let escapes = b"\\\nlisteners = PLAINTEXT://\\\n  [::1]:0\r\nbroker.rack:caf\\u00e9\n! no\nlog.dirs\\\n=/a,/b";
    [&server[..], &escapes[..]].map(|bytes| Seed { bytes: bytes.to_vec(), repair: |_| {} }).into()
}

/// Requests of real clients, header and body.
pub fn requests() -> Vec<Seed> {
    seeds(captured(), as_they_are)
}

/// What a client sends on one connection: requests with their lengths, behind the byte that says how it arrives.
pub fn streams() -> Vec<Seed> {
    let framed = |frame: &Vec<u8>| [&(frame.len() as u32).to_be_bytes()[..], frame].concat();
    let stream = |frames: &[Vec<u8>]| -> Vec<u8> { frames.iter().flat_map(framed).collect() };
    let captured = captured();
    let large = vec![7; 40_000];
    let mixed = stream(&[captured[0].clone(), large, Vec::new(), captured[1].clone()]);
    let streams = captured.chunks(12).map(stream).chain([mixed]);
    let arriving = |(number, stream): (usize, Vec<u8>)| [&[number as u8][..], &stream].concat();
    seeds(streams.enumerate().map(arriving), as_they_are)
}

/// Requests of one API.
pub fn requests_of(api_key: i16) -> Vec<Seed> {
    let wanted = api_key.to_be_bytes();
    seeds(captured().into_iter().filter(|frame| frame.starts_with(&wanted)), as_they_are)
}

fn captured() -> Vec<Vec<u8>> {
    let mut paths = Vec::new();
    files(&golden_root().join("wire"), &mut paths);
    paths.sort();
    let mut frames = Vec::new();
    for path in paths {
        let mut text = String::new();
        let file = std::fs::File::open(path).expect("readable");
        GzDecoder::new(file).read_to_string(&mut text).expect("JSON lines");
        for line in text.lines() {
            let pair: serde_json::Value = serde_json::from_str(line).expect("JSON");
            frames.push(from_hex(pair["request"].as_str().expect("a frame")));
        }
    }
    frames
}

fn from_hex(text: &str) -> Vec<u8> {
    let digit = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).expect("hex");
    (0..text.len()).step_by(2).map(digit).collect()
}

/// The header of a batch that is at least long enough to have one.
pub fn header_of(batch: &[u8]) -> BatchHeader {
    BatchHeader::parse(batch).expect("a header")
}
