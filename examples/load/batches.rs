//! Record batches and the Produce requests that carry them, encoded once and sent again and again.

use std::io::{self, Write};

use bytes::BufMut;

use crate::wire::{frame, put_length, put_signed};

const PRODUCE: (i16, i16) = (0, 9);
const ACKS_ALL: i16 = -1;
const TIMEOUT_MS: i32 = 30_000;
/// Bytes of a batch before its first record.
pub(crate) const HEADER_BYTES: usize = 61;
/// What a record of the sizes here has beside its value.
const RECORD_BYTES: usize = 8;

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Codec {
    None,
    Gzip,
    Snappy,
    Lz4,
    Zstd,
}

/// Who produces.
pub(crate) struct Writer<'a> {
    pub(crate) transactional_id: Option<&'a str>,
    pub(crate) id: i64,
    pub(crate) epoch: i16,
    /// Of the first record in each partition.
    pub(crate) sequence: i32,
}

impl Writer<'_> {
    /// A producer that is not idempotent.
    pub(crate) const NOBODY: Self =
        Self { transactional_id: None, id: -1, epoch: -1, sequence: -1 };
}

/// An encoded batch. Its checksum covers neither base offset nor leader epoch, so the same bytes may be sent again.
pub(crate) struct Batch {
    pub(crate) bytes: Vec<u8>,
    pub(crate) records: u64,
    /// Where the value of the first record begins, if it is not compressed.
    pub(crate) value_at: usize,
}

impl Batch {
    /// As many records as make about `bytes` before compression, at least one.
    pub(crate) fn of_bytes(bytes: usize, size: usize, codec: Codec) -> io::Result<Self> {
        let records = (bytes.saturating_sub(HEADER_BYTES) / (size + RECORD_BYTES)).max(1);
        Self::new(&Writer::NOBODY, records, size, codec)
    }

    pub(crate) fn new(
        writer: &Writer<'_>,
        records: usize,
        size: usize,
        codec: Codec,
    ) -> io::Result<Self> {
        const TRANSACTIONAL: i16 = 0x10;
        let (encoded, first_value) = encode_records(records, size);
        let encoded = compress(encoded, codec)?;
        let now = now_millis();
        let mut bytes = Vec::with_capacity(HEADER_BYTES + encoded.len());
        bytes.put_i64(0);
        bytes.put_i32((HEADER_BYTES - 12 + encoded.len()) as i32);
        bytes.put_i32(-1);
        bytes.put_u8(2);
        bytes.put_u32(0);
        let marked = if writer.transactional_id.is_some() { TRANSACTIONAL } else { 0 };
        bytes.put_i16(codec as i16 | marked);
        bytes.put_i32(records as i32 - 1);
        bytes.put_i64(now);
        bytes.put_i64(now);
        bytes.put_i64(writer.id);
        bytes.put_i16(writer.epoch);
        bytes.put_i32(writer.sequence);
        bytes.put_i32(records as i32);
        bytes.extend_from_slice(&encoded);
        seal(&mut bytes);
        Ok(Self { bytes, records: records as u64, value_at: HEADER_BYTES + first_value })
    }
}

/// Sets the checksum of a batch.
pub(crate) fn seal(batch: &mut [u8]) {
    let checksum = crc32c::crc32c(&batch[21..]);
    batch[17..21].copy_from_slice(&checksum.to_be_bytes());
}

/// The records of a batch, and where the value of the first begins.
fn encode_records(records: usize, size: usize) -> (Vec<u8>, usize) {
    let mut encoded = Vec::with_capacity(records * (size + RECORD_BYTES));
    let mut first_value = 0;
    for index in 0..records {
        let mut record = vec![0, 0]; // attributes, timestamp delta
        put_signed(&mut record, index as i64);
        put_signed(&mut record, -1);
        put_signed(&mut record, size as i64);
        let value_at = record.len();
        record.extend_from_slice(&value(size, index as u64));
        record.push(0);
        put_signed(&mut encoded, record.len() as i64);
        if index == 0 {
            first_value = encoded.len() + value_at;
        }
        encoded.extend_from_slice(&record);
    }
    (encoded, first_value)
}

/// Text that compresses about as events in JSON do.
pub(crate) fn value(size: usize, seed: u64) -> Vec<u8> {
    const WORDS: [&str; 10] = [
        "order",
        "customer",
        "status",
        "shipped",
        "pending",
        "created_at",
        "amount",
        "currency",
        "warehouse",
        "region",
    ];
    let mut state = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut next = || {
        // xorshift64
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut text = Vec::with_capacity(size + 64);
    while text.len() < size {
        let (word, id, name, number) = (next(), next() as u32, next(), next() % 100_000);
        let (word, name) = (WORDS[(word % 10) as usize], WORDS[(name % 10) as usize]);
        let _ = write!(text, "{{\"{word}\":\"{id:08x}\",\"{name}\":{number}}},");
    }
    text.truncate(size);
    text
}

fn compress(records: Vec<u8>, codec: Codec) -> io::Result<Vec<u8>> {
    match codec {
        Codec::None => Ok(records),
        Codec::Gzip => {
            let mut encoder =
                flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
            encoder.write_all(&records)?;
            encoder.finish()
        }
        // One block without the framing of the Java client, as librdkafka sends it.
        Codec::Snappy => snap::raw::Encoder::new().compress_vec(&records).map_err(io::Error::other),
        Codec::Lz4 => {
            let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
            encoder.write_all(&records)?;
            encoder.finish().map_err(io::Error::other)
        }
        Codec::Zstd => zstd::encode_all(&records[..], 3),
    }
}

fn now_millis() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.unwrap_or_default().as_millis() as i64
}

/// A request of Produce 9 with `batch` for each of `partitions`.
pub(crate) fn produce_request(topic: &str, partitions: &[i32], batch: &Batch) -> Vec<u8> {
    produce_as(None, PRODUCE, topic, partitions, batch)
}

/// As [`produce_request`], in that version of Produce, 9 to 12.
pub(crate) fn produce_as(
    transactional_id: Option<&str>,
    api: (i16, i16),
    topic: &str,
    partitions: &[i32],
    batch: &Batch,
) -> Vec<u8> {
    let mut body = Vec::with_capacity(partitions.len() * (batch.bytes.len() + 16) + 64);
    match transactional_id {
        None => body.put_u8(0),
        Some(id) => {
            put_length(&mut body, id.len());
            body.put_slice(id.as_bytes());
        }
    }
    body.put_i16(ACKS_ALL);
    body.put_i32(TIMEOUT_MS);
    put_length(&mut body, 1);
    put_length(&mut body, topic.len());
    body.put_slice(topic.as_bytes());
    put_length(&mut body, partitions.len());
    for partition in partitions {
        body.put_i32(*partition);
        put_length(&mut body, batch.bytes.len());
        body.put_slice(&batch.bytes);
        body.put_u8(0);
    }
    body.put_slice(&[0, 0]);
    frame(api, &body)
}

/// Where the batch of a request for one partition lies: behind it are the tags of partition, topic and request.
pub(crate) fn batch_in(request: &[u8], batch: &Batch) -> std::ops::Range<usize> {
    let end = request.len() - 3;
    end - batch.bytes.len()..end
}
