//! Uncompressed batches of magic 2, as a producer sends them.

use std::borrow::Cow;

use highwater::log::batch::{BatchHeader, HEADER_LEN, compute_crc};
use highwater::log::{Admission, CheckedBatch, Origin};
use highwater::types::{
    LeaderEpoch, Offset, ProducerEpoch, ProducerId, ProducerIdAndEpoch, Timestamp,
};

/// Who sends a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sender {
    pub id: i64,
    pub epoch: i16,
    pub sequence: i32,
    pub transactional: bool,
}

/// A batch whose records have these values and timestamps, without keys.
pub fn batch(values: &[(&[u8], i64)], sender: Option<Sender>) -> Vec<u8> {
    assert!(!values.is_empty());
    let base_timestamp = values[0].1;
    let mut bytes = vec![0; HEADER_LEN];
    for (delta, (value, timestamp)) in values.iter().enumerate() {
        let mut body = vec![0];
        put_varint(&mut body, timestamp - base_timestamp);
        put_varint(&mut body, delta as i64);
        put_varint(&mut body, -1);
        put_varint(&mut body, value.len() as i64);
        body.extend_from_slice(value);
        put_varint(&mut body, 0);
        put_varint(&mut bytes, body.len() as i64);
        bytes.extend_from_slice(&body);
    }
    let header = BatchHeader {
        base_offset: Offset::ZERO,
        batch_length: (bytes.len() - 12) as i32,
        partition_leader_epoch: LeaderEpoch::NONE,
        magic: 2,
        crc: 0,
        attributes: if sender.is_some_and(|s| s.transactional) { 0x10 } else { 0 },
        last_offset_delta: values.len() as i32 - 1,
        base_timestamp: Timestamp::new(base_timestamp),
        max_timestamp: Timestamp::new(values.iter().map(|v| v.1).max().unwrap_or(-1)),
        producer_id: ProducerId::new(sender.map_or(-1, |s| s.id)),
        producer_epoch: ProducerEpoch::new(sender.map_or(-1, |s| s.epoch)),
        base_sequence: sender.map_or(-1, |s| s.sequence),
        records_count: values.len() as i32,
    };
    header.write(bytes.first_chunk_mut().expect("long enough"));
    let crc = compute_crc(&bytes);
    bytes[17..21].copy_from_slice(&crc.to_be_bytes());
    bytes
}

/// A transaction marker as the coordinator writes it.
pub fn marker(id: i64, epoch: i16, commit: bool, timestamp: i64) -> Vec<u8> {
    let mut body = vec![0, 0, 0, 8, 0, 0, 0, u8::from(commit), 12];
    body.extend_from_slice(&[0, 0, 0, 0, 0, 3, 0]); // version 0, coordinator epoch 3, no headers
    let sender = Sender { id, epoch, sequence: -1, transactional: true };
    let mut bytes = batch(&[(b"", timestamp)], Some(sender));
    bytes.truncate(HEADER_LEN);
    put_varint(&mut bytes, body.len() as i64);
    bytes.extend_from_slice(&body);
    bytes[22] = 0x30;
    let length = bytes.len() as i32 - 12;
    bytes[8..12].copy_from_slice(&length.to_be_bytes());
    let crc = compute_crc(&bytes);
    bytes[17..21].copy_from_slice(&crc.to_be_bytes());
    bytes
}

/// One record of `len` bytes at `timestamp`.
pub fn one(len: usize, timestamp: i64) -> Vec<u8> {
    batch(&[(&vec![b'x'; len], timestamp)], None)
}

/// As the checks would have let it through.
pub fn checked(bytes: &[u8]) -> CheckedBatch<'_> {
    CheckedBatch {
        header: BatchHeader::parse(bytes).expect("a header"),
        bytes: Cow::Borrowed(bytes),
        log_append_time: None,
        origin: Origin::Client(Admission::Unverified),
    }
}

/// As the checks let through what a client sent, with what is known of its transaction.
pub fn admitted(bytes: &[u8], admission: Admission) -> CheckedBatch<'_> {
    CheckedBatch { origin: Origin::Client(admission), ..checked(bytes) }
}

pub fn identity(id: i64, epoch: i16) -> ProducerIdAndEpoch {
    ProducerIdAndEpoch { id: ProducerId::new(id), epoch: ProducerEpoch::new(epoch) }
}

fn put_varint(to: &mut Vec<u8>, value: i64) {
    let mut raw = ((value << 1) ^ (value >> 63)).cast_unsigned();
    while raw >= 0x80 {
        to.push(raw as u8 | 0x80);
        raw >>= 7;
    }
    to.push(raw as u8);
}
