//! Batches of the metadata log: magic 2, uncompressed, no producer, all timestamps that of the append.
//!
//! A data record has no key, a control record has its type for a key; neither has headers.

use super::control::ControlRecord;
use crate::log::batch::{BatchHeader, HEADER_LEN, LENGTH_PREFIX, MAGIC_V2, compute_crc};
use crate::log::scan::StoredBatch;
use crate::types::{LeaderEpoch, Offset, ProducerEpoch, ProducerId, Timestamp};

/// Most bytes of records in one batch (Kafka's `KafkaRaftClient.MAX_BATCH_SIZE_BYTES`).
pub const BATCH_BYTES_MAX: usize = 8 * 1024 * 1024;

const CONTROL: i16 = 0x20;

/// Batches being put together for one write.
#[derive(Clone, Debug)]
pub struct BatchWriter {
    epoch: LeaderEpoch,
    now: Timestamp,
    next: Offset,
    bytes: Vec<u8>,
}

/// Key and value of a record; null is `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyValue<'a> {
    /// Key.
    pub key: Option<&'a [u8]>,
    /// Value.
    pub value: Option<&'a [u8]>,
}

/// A record does not follow the format, or a batch has not as many records as it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a batch holds a malformed record")]
pub struct MalformedRecord;

impl BatchWriter {
    /// The next batch begins at `base`.
    pub fn new(base: Offset, epoch: LeaderEpoch, now: Timestamp) -> Self {
        Self { epoch, now, next: base, bytes: Vec::new() }
    }

    /// Offset that the next record gets.
    pub fn next_offset(&self) -> Offset {
        self.next
    }

    /// The batches so far.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The batches.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Adds a batch of control records.
    pub fn control(&mut self, records: &[ControlRecord]) {
        let mut body = Body::default();
        for record in records {
            let (key, value) = record.encode();
            body.push(Some(&key), &value);
        }
        self.close(body, CONTROL);
    }

    /// Whether [`BatchWriter::data`] would put these values into one batch.
    pub fn fits_one_batch(values: &[Vec<u8>]) -> bool {
        let bytes: usize = values.iter().map(|value| value.len() + RECORD_OVERHEAD).sum();
        bytes <= BATCH_BYTES_MAX
    }

    /// Adds data records with these values, in as few batches as the size limit allows.
    pub fn data(&mut self, values: &[Vec<u8>]) {
        let mut body = Body::default();
        for value in values {
            let full = body.bytes.len() + value.len() + RECORD_OVERHEAD > BATCH_BYTES_MAX;
            if body.count > 0 && full {
                self.close(std::mem::take(&mut body), 0);
            }
            body.push(None, value);
        }
        if body.count > 0 {
            self.close(body, 0);
        }
    }

    fn close(&mut self, body: Body, attributes: i16) {
        let length = HEADER_LEN - LENGTH_PREFIX + body.bytes.len();
        let header = BatchHeader {
            base_offset: self.next,
            batch_length: i32::try_from(length).expect("a batch is bounded by BATCH_BYTES_MAX"),
            partition_leader_epoch: self.epoch,
            magic: MAGIC_V2,
            crc: 0,
            attributes,
            last_offset_delta: body.count - 1,
            base_timestamp: self.now,
            max_timestamp: self.now,
            producer_id: ProducerId::NONE,
            producer_epoch: ProducerEpoch::NONE,
            base_sequence: -1,
            records_count: body.count,
        };
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&[0; HEADER_LEN]);
        self.bytes.extend_from_slice(&body.bytes);
        let put = |bytes: &mut [u8], header: &BatchHeader| {
            header.write(bytes.first_chunk_mut().expect("the header's room was just added"));
        };
        let batch = &mut self.bytes[start..];
        put(batch, &header);
        let crc = compute_crc(batch);
        put(batch, &BatchHeader { crc, ..header });
        self.next = self.next.plus(i64::from(body.count));
    }
}

/// A record's bytes beside key and value: length, attributes, deltas, two lengths, header count.
const RECORD_OVERHEAD: usize = 21;

#[derive(Debug, Default)]
struct Body {
    bytes: Vec<u8>,
    count: i32,
}

impl Body {
    fn push(&mut self, key: Option<&[u8]>, value: &[u8]) {
        let mut record = Vec::with_capacity(value.len() + RECORD_OVERHEAD);
        record.push(0); // attributes
        put_varint(&mut record, 0); // timestamp delta
        put_varint(&mut record, self.count);
        put_bytes(&mut record, key);
        put_bytes(&mut record, Some(value));
        put_varint(&mut record, 0); // headers
        put_bytes(&mut self.bytes, Some(&record));
        self.count += 1;
    }
}

fn put_bytes(out: &mut Vec<u8>, bytes: Option<&[u8]>) {
    let len = bytes.map_or(-1, |b| i32::try_from(b.len()).expect("a record fits into a batch"));
    put_varint(out, len);
    out.extend_from_slice(bytes.unwrap_or_default());
}

/// Zig-zag, seven bits a byte.
fn put_varint(out: &mut Vec<u8>, value: i32) {
    let mut bits = ((value << 1) ^ (value >> 31)) as u32;
    while bits > 0x7f {
        out.push((bits & 0x7f) as u8 | 0x80);
        bits >>= 7;
    }
    out.push(bits as u8);
}

/// The records of an uncompressed batch, in order.
pub fn records<'a>(batch: &StoredBatch<'a>) -> Result<Vec<KeyValue<'a>>, MalformedRecord> {
    let header = batch.header().filter(|h| h.attributes & !CONTROL == 0).ok_or(MalformedRecord)?;
    let mut rest = batch.bytes().get(HEADER_LEN..).ok_or(MalformedRecord)?;
    let mut records = Vec::new();
    while !rest.is_empty() {
        let mut record = take_bytes(&mut rest)?.ok_or(MalformedRecord)?;
        records.push(key_value(&mut record)?);
    }
    let count = usize::try_from(header.records_count).map_err(|_| MalformedRecord)?;
    // The metadata log is never compacted, so offsets have no gaps either.
    let dense = header.records_count == header.last_offset_delta.saturating_add(1);
    if records.len() == count && dense { Ok(records) } else { Err(MalformedRecord) }
}

fn key_value<'a>(record: &mut &'a [u8]) -> Result<KeyValue<'a>, MalformedRecord> {
    take_byte(record)?; // attributes
    take_varlong(record)?; // timestamp delta
    take_varlong(record)?; // offset delta
    Ok(KeyValue { key: take_bytes(record)?, value: take_bytes(record)? })
}

fn take_byte(rest: &mut &[u8]) -> Result<u8, MalformedRecord> {
    let (first, tail) = rest.split_first().ok_or(MalformedRecord)?;
    *rest = tail;
    Ok(*first)
}

fn take_varlong(rest: &mut &[u8]) -> Result<i64, MalformedRecord> {
    let mut bits: u64 = 0;
    for shift in (0..64).step_by(7) {
        let byte = take_byte(rest)?;
        bits |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok((bits >> 1) as i64 ^ -((bits & 1) as i64));
        }
    }
    Err(MalformedRecord)
}

fn take_bytes<'a>(rest: &mut &'a [u8]) -> Result<Option<&'a [u8]>, MalformedRecord> {
    let len = take_varlong(rest)?;
    if len == -1 {
        return Ok(None);
    }
    let len = usize::try_from(len).map_err(|_| MalformedRecord)?;
    let (bytes, tail) = rest.split_at_checked(len).ok_or(MalformedRecord)?;
    *rest = tail;
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::BrokerId;

    /// A LEADER_CHANGE batch that Kafka 4.4.0's dump tool accepts: offset 0, epoch 1, leader 1, voters [1].
    const LEADER_CHANGE: &str = "00000000000000000000004f00000001021154eaf90020000000000000018bcfe568000000018bcfe56800ffffffffffffffffffffffffffff000000013a0000000800000002260000000000010200000001000200000001000000";

    fn hex(text: &str) -> Vec<u8> {
        let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(16)).collect();
        digits.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect()
    }

    fn writer() -> BatchWriter {
        BatchWriter::new(Offset::ZERO, LeaderEpoch::new(1), Timestamp::new(1_700_000_000_000))
    }

    #[test]
    fn a_control_batch_is_kafkas() {
        let record = ControlRecord::LeaderChange {
            leader: BrokerId::new(1),
            voters: vec![BrokerId::new(1)],
        };
        let mut writer = writer();
        writer.control(std::slice::from_ref(&record));
        assert_eq!(writer.bytes(), hex(LEADER_CHANGE));
        let bytes = hex(LEADER_CHANGE);
        let batch = StoredBatch::first(&bytes).unwrap();
        let read = records(&batch).unwrap();
        let [KeyValue { key: Some(key), value: Some(value) }] = read[..] else {
            panic!("{read:?}")
        };
        assert_eq!(ControlRecord::decode(key, value), Ok(record));
    }

    #[test]
    fn records_beyond_the_size_limit_begin_a_new_batch() {
        let mut writer = writer();
        writer.data(&vec![vec![b'x'; 3 * 1024 * 1024]; 5]);
        assert_eq!(writer.next_offset(), Offset::new(5));
        let mut scan = crate::log::scan::scan(writer.bytes());
        let counts: Vec<usize> = scan.by_ref().map(|(_, b)| records(&b).unwrap().len()).collect();
        assert_eq!(counts, [2, 2, 1]);
    }

    #[test]
    fn every_cut_and_every_changed_length_is_refused() {
        let bytes = hex(LEADER_CHANGE);
        for at in HEADER_LEN..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 0x40;
            // Whatever it is now, reading it ends.
            let _ = records(&StoredBatch::first(&changed).unwrap());
        }
        let mut two = bytes.clone();
        two[60] = 2; // records count
        assert_eq!(records(&StoredBatch::first(&two).unwrap()), Err(MalformedRecord));
    }
}
