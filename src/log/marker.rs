//! The control batch that ends a transaction in a partition (Kafka's `ControlRecordType`, `EndTransactionMarker`).
//!
//! One record. Key: version i16 (0), type i16 (0 abort, 1 commit). Value: version i16 (0), coordinator epoch i32.

use std::io;

use super::batch::{BatchHeader, HEADER_LEN};
use super::builder::{BatchBuilder, BatchTemplate};
use super::producers::EndMarker;
use crate::types::{Marker, Outcome, Timestamp};

const ABORT: i16 = 0;
const COMMIT: i16 = 1;

/// The whole batch of a marker, at offset 0 and without a leader epoch as batches are before they are appended.
pub fn build_marker(marker: &Marker, now: Timestamp) -> io::Result<Vec<u8>> {
    let kind = match marker.outcome {
        Outcome::Abort => ABORT,
        Outcome::Commit => COMMIT,
    };
    let mut key = [0; 4];
    key[2..].copy_from_slice(&kind.to_be_bytes());
    let mut value = [0; 6];
    value[2..].copy_from_slice(&marker.coordinator_epoch.to_be_bytes());
    let mut builder = BatchBuilder::new(BatchTemplate {
        transactional: true,
        control: true,
        producer_id: marker.producer.id,
        producer_epoch: marker.producer.epoch,
        ..BatchTemplate::default()
    });
    builder.append(now, Some(&key), Some(&value));
    builder.build()
}

/// Reads the marker out of a whole control batch; `None` if it holds another kind of control record, or none at all as
/// after compaction.
pub(super) fn read_marker(header: &BatchHeader, batch: &[u8]) -> Option<EndMarker> {
    if !header.is_control() || header.records_count < 1 {
        return None;
    }
    let mut record = Reader(batch.get(HEADER_LEN..)?);
    record.varint()?; // length
    record.take(1)?; // attributes
    record.varint()?; // timestamp delta
    record.varint()?; // offset delta
    let key_len = usize::try_from(record.varint()?).ok()?;
    let key = record.take(key_len)?;
    let outcome = match i16::from_be_bytes(*key.get(2..)?.first_chunk()?) {
        ABORT => Outcome::Abort,
        COMMIT => Outcome::Commit,
        _ => return None,
    };
    let value_len = usize::try_from(record.varint()?).ok()?;
    let value = record.take(value_len)?;
    let coordinator_epoch = i32::from_be_bytes(*value.get(2..)?.first_chunk()?);
    Some(EndMarker { outcome, coordinator_epoch })
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    /// Zig-zag LEB128 of up to 64 bits.
    fn varint(&mut self) -> Option<i64> {
        let mut raw = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.take(1)?[0];
            raw |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some((raw >> 1).cast_signed() ^ -((raw & 1).cast_signed()));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::batch::set_offset_and_epoch;
    use crate::log::test_bytes::{COMMIT_MARKER, LEADER_CHANGE, TWO_RECORDS, from_hex};
    use crate::types::{
        LeaderEpoch, Offset, ProducerEpoch, ProducerId, ProducerIdAndEpoch, TransactionVersion,
    };

    fn read(hex: &str) -> Option<EndMarker> {
        let batch = from_hex(hex);
        read_marker(&BatchHeader::parse(&batch).expect("a header"), &batch)
    }

    #[test]
    fn kafkas_commit_marker() {
        assert_eq!(
            read(COMMIT_MARKER),
            Some(EndMarker { outcome: Outcome::Commit, coordinator_epoch: 2 })
        );
    }

    #[test]
    fn a_marker_is_built_as_kafkas() {
        let marker = Marker {
            producer: ProducerIdAndEpoch {
                id: ProducerId::new(4000),
                epoch: ProducerEpoch::new(5),
            },
            outcome: Outcome::Commit,
            coordinator_epoch: 2,
            version: TransactionVersion::V1,
        };
        let mut built = build_marker(&marker, Timestamp::new(1_700_000_000_000)).expect("memory");
        set_offset_and_epoch(&mut built, Offset::new(7), LeaderEpoch::new(3));
        assert_eq!(built, from_hex(COMMIT_MARKER));
    }

    #[test]
    fn other_batches_hold_no_marker() {
        assert_eq!(read(TWO_RECORDS), None);
        assert_eq!(read(LEADER_CHANGE), None);
        let cut = from_hex(COMMIT_MARKER);
        let header = BatchHeader::parse(&cut).expect("a header");
        for len in HEADER_LEN..cut.len() - 1 {
            assert_eq!(read_marker(&header, &cut[..len]), None, "{len}");
        }
    }
}
