//! `<offset>.snapshot`: the producers of a partition as they stood before that offset (Kafka's `ProducerSnapshot.json`,
//! `ProducerStateManager`).
//!
//! Version i16 (1), CRC-32C u32 of all that follows it, count i32, then per producer 46 bytes: producer id i64, epoch i16,
//! last sequence i32, last offset i64, offset delta i32, timestamp i64, coordinator epoch i32, first offset of the open
//! transaction i64.

use super::field;
use crate::log::batch::crc32c;
use crate::types::{Offset, ProducerEpoch, ProducerId, Timestamp};

const VERSION: i16 = 1;
const HEADER_LEN: usize = 10;
const ENTRY_LEN: usize = 46;

/// One producer; of its batches only the newest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProducerEntry {
    /// Who.
    pub producer_id: ProducerId,
    /// Its newest epoch.
    pub producer_epoch: ProducerEpoch,
    /// Sequence of its last record; −1 if only a marker was seen.
    pub last_sequence: i32,
    /// Offset of its last record; −1 if only a marker was seen.
    pub last_offset: Offset,
    /// Records in its last batch less one.
    pub offset_delta: i32,
    /// Largest timestamp of its last batch or marker.
    pub timestamp: Timestamp,
    /// Epoch of the coordinator that wrote the last marker; −1 without one.
    pub coordinator_epoch: i32,
    /// Where its open transaction begins, if it has one (−1 in the file).
    pub transaction_first_offset: Option<Offset>,
}

/// The bytes are no snapshot. The next older one is to be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotDamage {
    /// Shorter than header and count.
    #[error("{0} bytes are too short for a producer snapshot")]
    TooShort(usize),
    /// Written by something else.
    #[error("version {0} is not supported")]
    Version(i16),
    /// The bytes are not those that were written.
    #[error("checksum {computed:#010x} where the header says {stored:#010x}")]
    Checksum {
        /// In the header.
        stored: u32,
        /// Of the bytes.
        computed: u32,
    },
    /// Not as many entries as the header says.
    #[error("{bytes} bytes of entries where the header says {count} of {ENTRY_LEN}")]
    Count {
        /// In the header.
        count: i32,
        /// Behind it.
        bytes: usize,
    },
}

/// Writes a snapshot.
pub fn encode(producers: impl ExactSizeIterator<Item = ProducerEntry>) -> Vec<u8> {
    let count = i32::try_from(producers.len()).expect("a partition has fewer than 2^31 producers");
    let mut bytes = Vec::with_capacity(HEADER_LEN + producers.len() * ENTRY_LEN);
    bytes.extend_from_slice(&VERSION.to_be_bytes());
    bytes.extend_from_slice(&[0; 4]);
    bytes.extend_from_slice(&count.to_be_bytes());
    for producer in producers {
        push(&mut bytes, &producer);
    }
    let crc = crc32c(&bytes[6..]);
    bytes[2..6].copy_from_slice(&crc.to_be_bytes());
    bytes
}

/// Reads a snapshot.
pub fn decode(bytes: &[u8]) -> Result<Vec<ProducerEntry>, SnapshotDamage> {
    let Some((header, rest)) = bytes.split_first_chunk::<HEADER_LEN>() else {
        return Err(SnapshotDamage::TooShort(bytes.len()));
    };
    let version = i16::from_be_bytes(field(header, 0));
    if version != VERSION {
        return Err(SnapshotDamage::Version(version));
    }
    let (stored, computed) = (u32::from_be_bytes(field(header, 2)), crc32c(&bytes[6..]));
    if stored != computed {
        return Err(SnapshotDamage::Checksum { stored, computed });
    }
    let count = i32::from_be_bytes(field(header, 6));
    let (entries, torn) = rest.as_chunks::<ENTRY_LEN>();
    if usize::try_from(count) != Ok(entries.len()) || !torn.is_empty() {
        return Err(SnapshotDamage::Count { count, bytes: rest.len() });
    }
    Ok(entries.iter().map(read).collect())
}

fn push(bytes: &mut Vec<u8>, producer: &ProducerEntry) {
    let transaction = producer.transaction_first_offset.unwrap_or(Offset::NONE);
    bytes.extend_from_slice(&producer.producer_id.get().to_be_bytes());
    bytes.extend_from_slice(&producer.producer_epoch.get().to_be_bytes());
    bytes.extend_from_slice(&producer.last_sequence.to_be_bytes());
    bytes.extend_from_slice(&producer.last_offset.get().to_be_bytes());
    bytes.extend_from_slice(&producer.offset_delta.to_be_bytes());
    bytes.extend_from_slice(&producer.timestamp.get().to_be_bytes());
    bytes.extend_from_slice(&producer.coordinator_epoch.to_be_bytes());
    bytes.extend_from_slice(&transaction.get().to_be_bytes());
}

fn read(entry: &[u8; ENTRY_LEN]) -> ProducerEntry {
    let transaction = Offset::new(i64::from_be_bytes(field(entry, 38)));
    ProducerEntry {
        producer_id: ProducerId::new(i64::from_be_bytes(field(entry, 0))),
        producer_epoch: ProducerEpoch::new(i16::from_be_bytes(field(entry, 8))),
        last_sequence: i32::from_be_bytes(field(entry, 10)),
        last_offset: Offset::new(i64::from_be_bytes(field(entry, 14))),
        offset_delta: i32::from_be_bytes(field(entry, 22)),
        timestamp: Timestamp::new(i64::from_be_bytes(field(entry, 26))),
        coordinator_epoch: i32::from_be_bytes(field(entry, 34)),
        transaction_first_offset: (transaction >= Offset::ZERO).then_some(transaction),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::test_bytes::from_hex;

    /// Producer 4000, epoch 5, last sequence 9, last offset 42, delta 9, no transaction.
    const SNAPSHOT: &str = "000109c6fcec000000010000000000000fa0000500000009000000000000002a000000090000018bcfe56800ffffffffffffffffffffffff";

    fn producer() -> ProducerEntry {
        ProducerEntry {
            producer_id: ProducerId::new(4000),
            producer_epoch: ProducerEpoch::new(5),
            last_sequence: 9,
            last_offset: Offset::new(42),
            offset_delta: 9,
            timestamp: Timestamp::new(1_700_000_000_000),
            coordinator_epoch: -1,
            transaction_first_offset: None,
        }
    }

    #[test]
    fn kafkas_snapshot() {
        assert_eq!(decode(&from_hex(SNAPSHOT)), Ok(vec![producer()]));
        assert_eq!(encode([producer()].into_iter()), from_hex(SNAPSHOT));
    }

    #[test]
    fn a_snapshot_without_producers_has_ten_bytes() {
        let bytes = encode([].into_iter());
        assert_eq!(bytes.len(), 10);
        assert_eq!(decode(&bytes), Ok(vec![]));
    }

    #[test]
    fn every_cut_and_every_flipped_bit_is_damage() {
        let bytes = from_hex(SNAPSHOT);
        for cut in 0..bytes.len() {
            assert!(decode(&bytes[..cut]).is_err(), "cut at {cut}");
        }
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(decode(&flipped).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn a_count_under_a_right_checksum_is_not_believed() {
        let mut bytes = from_hex(SNAPSHOT);
        bytes[6..10].copy_from_slice(&i32::MAX.to_be_bytes());
        let crc = crc32c(&bytes[6..]);
        bytes[2..6].copy_from_slice(&crc.to_be_bytes());
        assert_eq!(
            decode(&bytes),
            Err(SnapshotDamage::Count { count: i32::MAX, bytes: ENTRY_LEN })
        );
    }
}
