//! `.index`: where in a segment a batch lies (Kafka's `OffsetIndex`).
//!
//! Entries of 8 bytes, nothing else: last offset of the batch relative to the segment's base i32, position of the batch in
//! the `.log` i32. Offsets and positions increase strictly. The first batch of a segment has no entry.
//!
//! Kafka preallocates the file with zeros and trims it when it closes; [`OffsetIndex::sound_entries`] finds the end of what
//! was really written.

use super::entries::{Entries, Entry};
use super::{absolute, field, relative};
use crate::types::Offset;

/// Bytes of an entry.
pub const ENTRY_LEN: usize = 8;

/// One entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OffsetEntry {
    /// Last offset of the batch.
    pub offset: Offset,
    /// Where the batch begins in the `.log`.
    pub position: u32,
}

impl OffsetEntry {
    /// The entry's bytes in the index of the segment with this base.
    ///
    /// # Panics
    /// If the offset lies outside the segment or the position beyond 2³¹−1.
    pub fn encode(&self, base: Offset) -> [u8; ENTRY_LEN] {
        assert!(self.position <= i32::MAX as u32, "a segment is shorter than 2^31 bytes");
        let mut entry = [0; ENTRY_LEN];
        entry[..4].copy_from_slice(&relative(self.offset, base));
        entry[4..].copy_from_slice(&self.position.to_be_bytes());
        entry
    }
}

impl Entry<ENTRY_LEN> for OffsetEntry {
    fn decode(entry: &[u8; ENTRY_LEN], base: Offset) -> Self {
        Self {
            offset: absolute(field(entry, 0), base),
            position: u32::from_be_bytes(field(entry, 4)),
        }
    }
}

/// The entries of one index, read where they lie.
pub type OffsetIndex<'a> = Entries<'a, OffsetEntry, ENTRY_LEN>;

impl OffsetIndex<'_> {
    /// The last entry at or below `target`: a scan for `target` may begin at its position. `None` sends it to the start of
    /// the segment.
    pub fn lookup(&self, target: Offset) -> Option<OffsetEntry> {
        self.last_where(|entry| entry.offset <= target)
    }

    /// Number of leading entries that can be right for a `.log` of `log_len` bytes: strictly increasing and inside it. Zeros
    /// of a preallocated file and leftovers of a crash come behind them.
    pub fn sound_entries(&self, log_len: u64) -> usize {
        let mut before = OffsetEntry { offset: Offset::new(self.base.get() - 1), position: 0 };
        let sound = |entry: &OffsetEntry| {
            let sound = entry.offset > before.offset
                && entry.position > before.position
                && u64::from(entry.position) < log_len;
            before = *entry;
            sound
        };
        self.iter().take_while(sound).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: Offset = Offset::new(1000);

    fn entry(offset: i64, position: u32) -> OffsetEntry {
        OffsetEntry { offset: Offset::new(offset), position }
    }

    fn bytes(entries: &[OffsetEntry]) -> Vec<u8> {
        entries.iter().flat_map(|entry| entry.encode(BASE)).collect()
    }

    #[test]
    fn an_entry_is_relative_offset_and_position() {
        // relative 120, position 8192
        assert_eq!(entry(1120, 8192).encode(BASE), [0, 0, 0, 0x78, 0, 0, 0x20, 0]);
        let index = OffsetIndex::new(&[0, 0, 0, 0x78, 0, 0, 0x20, 0], BASE);
        assert_eq!(index.last(), Some(entry(1120, 8192)));
    }

    #[test]
    fn lookup_gives_the_last_entry_at_or_below() {
        let bytes = bytes(&[entry(1010, 100), entry(1020, 200), entry(1030, 300)]);
        let index = OffsetIndex::new(&bytes, BASE);
        let found = |target| index.lookup(Offset::new(target)).map(|entry| entry.position);
        assert_eq!(
            [found(0), found(1009), found(1010), found(1019)],
            [None, None, Some(100), Some(100)]
        );
        assert_eq!([found(1020), found(1030), found(i64::MAX)], [Some(200), Some(300), Some(300)]);
        assert_eq!(OffsetIndex::new(&[], BASE).lookup(BASE), None);
    }

    #[test]
    fn sound_entries_end_at_zeros_falls_and_the_end_of_the_log() {
        let good = [entry(1010, 100), entry(1020, 200)];
        let sound = |more: &[OffsetEntry]| {
            let bytes = bytes(&[&good[..], more].concat());
            OffsetIndex::new(&bytes, BASE).sound_entries(1000)
        };
        assert_eq!(sound(&[]), 2);
        assert_eq!(sound(&[entry(1030, 999)]), 3);
        assert_eq!(sound(&[entry(1030, 1000)]), 2);
        assert_eq!(sound(&[entry(1020, 300)]), 2);
        assert_eq!(sound(&[entry(1030, 200)]), 2);
        assert_eq!(sound(&[entry(1000, 0), entry(1030, 300)]), 2);
        assert_eq!(OffsetIndex::new(&[0; 80], BASE).sound_entries(1000), 0);
    }

    #[test]
    fn a_cut_entry_is_left_out() {
        let mut bytes = bytes(&[entry(1010, 100), entry(1020, 200)]);
        bytes.pop();
        assert_eq!(OffsetIndex::new(&bytes, BASE).len(), 1);
    }

    #[test]
    #[should_panic(expected = "a segment holds offsets")]
    fn an_offset_outside_the_segment_is_never_written() {
        entry(1000 + i64::from(i32::MAX) + 1, 1).encode(BASE);
    }
}
