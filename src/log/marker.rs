//! What a transaction's control batch says (Kafka's `ControlRecordType`, `EndTransactionMarker`).

use super::batch::{BatchHeader, HEADER_LEN};
use super::producers::{Marker, Outcome};

/// Reads the marker out of a whole control batch; `None` if it holds another kind of control record, or none at all as
/// after compaction.
pub(super) fn read_marker(header: &BatchHeader, batch: &[u8]) -> Option<Marker> {
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
        0 => Outcome::Abort,
        1 => Outcome::Commit,
        _ => return None,
    };
    let value_len = usize::try_from(record.varint()?).ok()?;
    let value = record.take(value_len)?;
    let coordinator_epoch = i32::from_be_bytes(*value.get(2..)?.first_chunk()?);
    Some(Marker { outcome, coordinator_epoch })
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
    use crate::log::test_bytes::{COMMIT_MARKER, LEADER_CHANGE, TWO_RECORDS, from_hex};

    fn read(hex: &str) -> Option<Marker> {
        let batch = from_hex(hex);
        read_marker(&BatchHeader::parse(&batch).expect("a header"), &batch)
    }

    #[test]
    fn kafkas_commit_marker() {
        assert_eq!(
            read(COMMIT_MARKER),
            Some(Marker { outcome: Outcome::Commit, coordinator_epoch: 2 })
        );
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
