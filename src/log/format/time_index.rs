//! `.timeindex`: from when on a segment holds records (Kafka's `TimeIndex`).
//!
//! Entries of 12 bytes, nothing else: largest timestamp so far in the segment i64, last offset of the batch that first
//! reached it, relative to the segment's base, i32. Timestamps increase strictly, offsets never fall. No record at or
//! below the offset of an entry is newer than its timestamp.
//!
//! Kafka preallocates the file with zeros and trims it when it closes; [`TimeIndex::sound_entries`] finds the end of what
//! was really written.

use super::entries::{Entries, Entry};
use super::{absolute, field, relative};
use crate::types::{Offset, Timestamp};

/// Bytes of an entry.
pub const ENTRY_LEN: usize = 12;

/// One entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeEntry {
    /// Largest timestamp up to and including that batch.
    pub timestamp: Timestamp,
    /// Last offset of the batch that first reached it.
    pub offset: Offset,
}

impl TimeEntry {
    /// The entry's bytes in the index of the segment with this base.
    ///
    /// # Panics
    /// If the offset lies outside the segment.
    pub fn encode(&self, base: Offset) -> [u8; ENTRY_LEN] {
        let mut entry = [0; ENTRY_LEN];
        entry[..8].copy_from_slice(&self.timestamp.get().to_be_bytes());
        entry[8..].copy_from_slice(&relative(self.offset, base));
        entry
    }
}

impl Entry<ENTRY_LEN> for TimeEntry {
    fn decode(entry: &[u8; ENTRY_LEN], base: Offset) -> Self {
        Self {
            timestamp: Timestamp::new(i64::from_be_bytes(field(entry, 0))),
            offset: absolute(field(entry, 8), base),
        }
    }
}

/// The entries of one index, read where they lie.
pub type TimeIndex<'a> = Entries<'a, TimeEntry, ENTRY_LEN>;

impl TimeIndex<'_> {
    /// The last entry at or before `target`: every record at or below its offset is no newer than `target`, so a search for
    /// the first record at or after `target` may begin in the batch of that offset. `None` sends it to the start of the segment.
    pub fn lookup(&self, target: Timestamp) -> Option<TimeEntry> {
        self.last_where(|entry| entry.timestamp <= target)
    }

    /// Number of leading entries that can be right for a segment whose last offset is `last_offset`. Zeros of a preallocated
    /// file and leftovers of a crash come behind them.
    pub fn sound_entries(&self, last_offset: Offset) -> usize {
        let mut before = TimeEntry { timestamp: Timestamp::NONE, offset: self.base };
        let sound = |raw: &&[u8; ENTRY_LEN]| {
            let entry = TimeEntry::decode(raw, self.base);
            let sound = entry.timestamp > before.timestamp
                && entry.offset >= before.offset
                && entry.offset <= last_offset
                && **raw != [0; ENTRY_LEN];
            before = entry;
            sound
        };
        self.raw.iter().take_while(sound).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: Offset = Offset::new(1000);

    fn entry(timestamp: i64, offset: i64) -> TimeEntry {
        TimeEntry { timestamp: Timestamp::new(timestamp), offset: Offset::new(offset) }
    }

    fn bytes(entries: &[TimeEntry]) -> Vec<u8> {
        entries.iter().flat_map(|entry| entry.encode(BASE)).collect()
    }

    #[test]
    fn an_entry_is_timestamp_and_relative_offset() {
        let raw = [0, 0, 0x01, 0x8b, 0xcf, 0xe5, 0x68, 0, 0, 0, 0, 0x78];
        assert_eq!(entry(1_700_000_000_000, 1120).encode(BASE), raw);
        assert_eq!(TimeIndex::new(&raw, BASE).last(), Some(entry(1_700_000_000_000, 1120)));
    }

    #[test]
    fn lookup_gives_the_last_entry_at_or_before() {
        let bytes = bytes(&[entry(50, 1010), entry(60, 1020)]);
        let index = TimeIndex::new(&bytes, BASE);
        let found = |target| index.lookup(Timestamp::new(target)).map(|entry| entry.offset.get());
        assert_eq!(
            [found(-1), found(49), found(50), found(59)],
            [None, None, Some(1010), Some(1010)]
        );
        assert_eq!([found(60), found(i64::MAX)], [Some(1020), Some(1020)]);
    }

    #[test]
    fn sound_entries_end_at_zeros_falls_and_the_end_of_the_log() {
        let good = [entry(50, 1010), entry(60, 1020)];
        let sound = |more: &[TimeEntry]| {
            let bytes = bytes(&[&good[..], more].concat());
            TimeIndex::new(&bytes, BASE).sound_entries(Offset::new(1100))
        };
        assert_eq!(sound(&[]), 2);
        assert_eq!(sound(&[entry(61, 1020), entry(62, 1100)]), 4);
        assert_eq!(sound(&[entry(60, 1030)]), 2);
        assert_eq!(sound(&[entry(70, 1019)]), 2);
        assert_eq!(sound(&[entry(70, 1101)]), 2);
        assert_eq!(sound(&[entry(0, 1000)]), 2);
        assert_eq!(TimeIndex::new(&[0; 120], BASE).sound_entries(Offset::new(1100)), 0);
    }
}
