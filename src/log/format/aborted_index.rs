//! `.txnindex`: the aborted transactions whose marker lies in a segment (Kafka's `TransactionIndex`, `AbortedTxn`).
//!
//! Entries of 34 bytes, nothing else: version i16 (0), producer id i64, first offset i64, last offset i64 (of the ABORT
//! marker), last stable offset i64 right after the abort. Last offsets increase strictly. The file exists only if there is
//! an entry.

use super::field;
use crate::types::{Offset, ProducerId};

/// Bytes of an entry.
pub const ENTRY_LEN: usize = 34;

const VERSION: i16 = 0;

/// One aborted transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AbortedEntry {
    /// Its producer.
    pub producer_id: ProducerId,
    /// Its first record in the partition; it may lie in an earlier segment.
    pub first_offset: Offset,
    /// Its ABORT marker.
    pub last_offset: Offset,
    /// First offset of the oldest transaction still open after the abort; without one, that behind the marker.
    pub last_stable_offset: Offset,
}

/// The bytes are no index of aborted transactions. It is to be rebuilt from the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AbortedIndexDamage {
    /// Not whole entries.
    #[error("{0} bytes are no whole entries of {ENTRY_LEN}")]
    Length(usize),
    /// Written by something else.
    #[error("entry {at}: version {version} is not supported")]
    Version {
        /// Counted from 0.
        at: usize,
        /// In the entry.
        version: i16,
    },
    /// Offsets that cannot be: below the segment or falling.
    #[error("entry {at}: last offset {last_offset} must be above {before}")]
    Order {
        /// Counted from 0.
        at: usize,
        /// In the entry.
        last_offset: Offset,
        /// Last offset of the entry before, or one less than the base of the segment.
        before: Offset,
    },
    /// Offsets of one entry that contradict each other.
    #[error("entry {at}: a transaction does not begin at {first_offset} and end at {last_offset}")]
    Inverted {
        /// Counted from 0.
        at: usize,
        /// In the entry.
        first_offset: Offset,
        /// In the entry.
        last_offset: Offset,
    },
}

impl AbortedEntry {
    /// The entry's bytes.
    pub fn encode(&self) -> [u8; ENTRY_LEN] {
        let mut entry = [0; ENTRY_LEN];
        entry[..2].copy_from_slice(&VERSION.to_be_bytes());
        entry[2..10].copy_from_slice(&self.producer_id.get().to_be_bytes());
        entry[10..18].copy_from_slice(&self.first_offset.get().to_be_bytes());
        entry[18..26].copy_from_slice(&self.last_offset.get().to_be_bytes());
        entry[26..].copy_from_slice(&self.last_stable_offset.get().to_be_bytes());
        entry
    }

    /// Its marker comes last, and nothing behind that was decided by it.
    fn is_consistent(&self) -> bool {
        let begins = (0..self.last_offset.get()).contains(&self.first_offset.get());
        let stable =
            (0..=self.last_offset.get().saturating_add(1)).contains(&self.last_stable_offset.get());
        begins && stable && self.producer_id.get() >= 0
    }

    fn decode(entry: &[u8; ENTRY_LEN]) -> Self {
        Self {
            producer_id: ProducerId::new(i64::from_be_bytes(field(entry, 2))),
            first_offset: Offset::new(i64::from_be_bytes(field(entry, 10))),
            last_offset: Offset::new(i64::from_be_bytes(field(entry, 18))),
            last_stable_offset: Offset::new(i64::from_be_bytes(field(entry, 26))),
        }
    }
}

/// Reads the index of the segment with this base.
pub fn decode(bytes: &[u8], base: Offset) -> Result<Vec<AbortedEntry>, AbortedIndexDamage> {
    let (raw, rest) = bytes.as_chunks::<ENTRY_LEN>();
    if !rest.is_empty() {
        return Err(AbortedIndexDamage::Length(bytes.len()));
    }
    let mut before = Offset::new(base.get().saturating_sub(1));
    let mut entries = Vec::with_capacity(raw.len());
    for (at, raw) in raw.iter().enumerate() {
        let version = i16::from_be_bytes(field(raw, 0));
        if version != VERSION {
            return Err(AbortedIndexDamage::Version { at, version });
        }
        let entry = AbortedEntry::decode(raw);
        if entry.last_offset <= before {
            return Err(AbortedIndexDamage::Order { at, last_offset: entry.last_offset, before });
        }
        let AbortedEntry { first_offset, last_offset, .. } = entry;
        if !entry.is_consistent() {
            return Err(AbortedIndexDamage::Inverted { at, first_offset, last_offset });
        }
        before = last_offset;
        entries.push(entry);
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::test_bytes::from_hex;

    /// Producer 4000, offsets 10 to 20, last stable offset 21.
    const ENTRY: &str = "00000000000000000fa0000000000000000a00000000000000140000000000000015";

    #[test]
    fn kafkas_entry() {
        let entry = AbortedEntry {
            producer_id: ProducerId::new(4000),
            first_offset: Offset::new(10),
            last_offset: Offset::new(20),
            last_stable_offset: Offset::new(21),
        };
        assert_eq!(decode(&from_hex(ENTRY), Offset::new(15)), Ok(vec![entry]));
        assert_eq!(entry.encode().to_vec(), from_hex(ENTRY));
        assert_eq!(decode(&[], Offset::ZERO), Ok(vec![]));
    }

    #[test]
    fn damage_is_named() {
        let entry = from_hex(ENTRY);
        assert_eq!(decode(&entry[..33], Offset::ZERO), Err(AbortedIndexDamage::Length(33)));
        let twice = [entry.clone(), entry.clone()].concat();
        let order = |at, before| AbortedIndexDamage::Order {
            at,
            last_offset: Offset::new(20),
            before: Offset::new(before),
        };
        assert_eq!(decode(&twice, Offset::ZERO), Err(order(1, 20)));
        assert_eq!(decode(&entry, Offset::new(21)), Err(order(0, 20)));
        let mut inverted = entry.clone();
        inverted[17] = 20;
        assert_eq!(
            decode(&inverted, Offset::ZERO),
            Err(AbortedIndexDamage::Inverted {
                at: 0,
                first_offset: Offset::new(20),
                last_offset: Offset::new(20)
            })
        );
        let mut newer = entry;
        newer[1] = 1;
        assert_eq!(
            decode(&newer, Offset::ZERO),
            Err(AbortedIndexDamage::Version { at: 0, version: 1 })
        );
    }
}
