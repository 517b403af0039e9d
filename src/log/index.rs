//! The sparse indexes of one segment: offset to file position, and time to offset.
//!
//! Entries lie on disk, those that were there when the segment was opened, followed by entries in memory, those added
//! since. The appender adds (one thread at a time), readers search at any time. A sealed segment has none in memory.

use std::io;
use std::sync::Arc;

use super::access::Access;
use super::format::offset_index::{self, OffsetEntry, OffsetIndex};
use super::format::time_index::{self, TimeEntry, TimeIndex};
use super::words::AppendOnlyWords;
use crate::env::File;
use crate::types::{Offset, Timestamp};

/// How many entries of each kind there are, or were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct EntryCounts {
    pub(super) offsets: usize,
    pub(super) times: usize,
}

/// Both indexes of a segment.
#[derive(Debug)]
pub(super) struct SegmentIndex {
    base: Offset,
    on_disk: EntryCounts,
    /// Offset relative to the base in the upper half of a word, position in the lower.
    offsets: AppendOnlyWords,
    /// Two words an entry.
    times: AppendOnlyWords,
}

impl SegmentIndex {
    /// An index whose entries so far are on disk.
    pub(super) fn new(base: Offset, on_disk: EntryCounts) -> Self {
        let (offsets, times) = Default::default();
        Self { base, on_disk, offsets, times }
    }

    /// All entries.
    pub(super) fn counts(&self) -> EntryCounts {
        EntryCounts {
            offsets: self.on_disk.offsets + self.offsets.len(),
            times: self.on_disk.times + self.times.len() / 2,
        }
    }

    pub(super) fn push_offset(&self, entry: OffsetEntry) {
        self.offsets.push([self.relative(entry.offset) << 32 | u64::from(entry.position)]);
    }

    pub(super) fn push_time(&self, entry: TimeEntry) {
        self.times.push([entry.timestamp.get().cast_unsigned(), self.relative(entry.offset)]);
    }

    /// The last entry at or below `offset` among those in memory.
    pub(super) fn offset_floor_in_memory(&self, offset: Offset) -> Option<OffsetEntry> {
        let at_or_below = |at| Ok(self.offset_in_memory(at).offset <= offset);
        let after = partition_point(self.offsets.len(), at_or_below).ok()?;
        after.checked_sub(1).map(|at| self.offset_in_memory(at))
    }

    /// The last entry at or below `offset`. `file` opens the `.index`, if it must be asked.
    pub(super) fn offset_floor(
        &self,
        offset: Offset,
        access: Access,
        file: impl FnOnce() -> io::Result<Arc<dyn File>>,
    ) -> io::Result<Option<OffsetEntry>> {
        let in_memory = self.offset_floor_in_memory(offset);
        if in_memory.is_some() || self.on_disk.offsets == 0 {
            return Ok(in_memory);
        }
        let file = file()?;
        let read = |at| read_offset_entry(file.as_ref(), access, self.base, at);
        let after = partition_point(self.on_disk.offsets, |at| Ok(read(at)?.offset <= offset))?;
        after.checked_sub(1).map(read).transpose()
    }

    /// The offset of the first entry at or behind `position`: above all offsets in front of it. `file` opens the `.index`, if it
    /// must be asked. Blocks.
    pub(super) fn offset_at(
        &self,
        position: u64,
        file: impl FnOnce() -> io::Result<Arc<dyn File>>,
    ) -> io::Result<Option<Offset>> {
        let in_front = |entry: OffsetEntry| u64::from(entry.position) < position;
        let at = partition_point(self.offsets.len(), |at| Ok(in_front(self.offset_in_memory(at))))?;
        if at > 0 || self.on_disk.offsets == 0 {
            return Ok((at < self.offsets.len()).then(|| self.offset_in_memory(at).offset));
        }
        let file = file()?;
        let read = |at| read_offset_entry(file.as_ref(), Access::Blocking, self.base, at);
        let on_disk = partition_point(self.on_disk.offsets, |at| Ok(in_front(read(at)?)))?;
        if on_disk < self.on_disk.offsets {
            return Ok(Some(read(on_disk)?.offset));
        }
        Ok((self.offsets.len() > 0).then(|| self.offset_in_memory(0).offset))
    }

    /// The last entry at or below `timestamp`. `file` opens the `.timeindex`, if it must be asked. Blocks.
    pub(super) fn time_floor(
        &self,
        timestamp: Timestamp,
        file: impl FnOnce() -> io::Result<Arc<dyn File>>,
    ) -> io::Result<Option<TimeEntry>> {
        let at_or_below = |at| Ok(self.time_in_memory(at).timestamp <= timestamp);
        let after = partition_point(self.times.len() / 2, at_or_below)?;
        if let Some(at) = after.checked_sub(1) {
            return Ok(Some(self.time_in_memory(at)));
        }
        if self.on_disk.times == 0 {
            return Ok(None);
        }
        let file = file()?;
        let read = |at| read_time_entry(file.as_ref(), self.base, at);
        let after = partition_point(self.on_disk.times, |at| Ok(read(at)?.timestamp <= timestamp))?;
        after.checked_sub(1).map(read).transpose()
    }

    /// The newest time entry. `file` opens the `.timeindex`, if it must be asked. Blocks.
    pub(super) fn last_time(
        &self,
        file: impl FnOnce() -> io::Result<Arc<dyn File>>,
    ) -> io::Result<Option<TimeEntry>> {
        if let Some(last) = (self.times.len() / 2).checked_sub(1) {
            return Ok(Some(self.time_in_memory(last)));
        }
        let Some(last) = self.on_disk.times.checked_sub(1) else { return Ok(None) };
        read_time_entry(file()?.as_ref(), self.base, last).map(Some)
    }

    /// Offset entries from number `from` on, as they go into the `.index` at `from` × 8.
    ///
    /// # Panics
    /// If entry `from` is not in memory.
    pub(super) fn encode_offsets_from(&self, from: usize) -> Vec<u8> {
        let first = from - self.on_disk.offsets;
        let entries = (first..self.offsets.len()).map(|at| self.offset_in_memory(at));
        entries.flat_map(|entry| entry.encode(self.base)).collect()
    }

    /// Time entries from number `from` on, as they go into the `.timeindex` at `from` × 12.
    ///
    /// # Panics
    /// If entry `from` is not in memory.
    pub(super) fn encode_times_from(&self, from: usize) -> Vec<u8> {
        let first = from - self.on_disk.times;
        let entries = (first..self.times.len() / 2).map(|at| self.time_in_memory(at));
        entries.flat_map(|entry| entry.encode(self.base)).collect()
    }

    fn offset_in_memory(&self, at: usize) -> OffsetEntry {
        let word = self.offsets.get(at);
        OffsetEntry { offset: self.base.plus((word >> 32) as i64), position: word as u32 }
    }

    fn time_in_memory(&self, at: usize) -> TimeEntry {
        TimeEntry {
            timestamp: Timestamp::new(self.times.get(2 * at).cast_signed()),
            offset: self.base.plus(self.times.get(2 * at + 1).cast_signed()),
        }
    }

    /// Segments are rolled before an offset lies further than 2³¹−1 from their base.
    fn relative(&self, offset: Offset) -> u64 {
        let relative = offset.get() - self.base.get();
        debug_assert!((0..=i64::from(i32::MAX)).contains(&relative));
        relative.cast_unsigned()
    }
}

/// Reads entry number `at` of an `.index`.
pub(super) fn read_offset_entry(
    file: &dyn File,
    access: Access,
    base: Offset,
    at: usize,
) -> io::Result<OffsetEntry> {
    let entry: [u8; offset_index::ENTRY_LEN] = read_entry(file, access, at)?;
    OffsetIndex::new(&entry, base).last().ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

/// Reads entry number `at` of a `.timeindex`.
pub(super) fn read_time_entry(file: &dyn File, base: Offset, at: usize) -> io::Result<TimeEntry> {
    let entry: [u8; time_index::ENTRY_LEN] = read_entry(file, Access::Blocking, at)?;
    TimeIndex::new(&entry, base).last().ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

fn read_entry<const LEN: usize>(
    file: &dyn File,
    access: Access,
    at: usize,
) -> io::Result<[u8; LEN]> {
    let mut entry = [0; LEN];
    let read = access.read(file, &mut entry, (at * LEN) as u64)?;
    if read == LEN { Ok(entry) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

/// The first of `0..len` for which `holds` is false; `holds` must be true up to some point and false from there on.
pub(super) fn partition_point(
    len: usize,
    holds: impl Fn(usize) -> io::Result<bool>,
) -> io::Result<usize> {
    let (mut low, mut high) = (0, len);
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle)? {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    Ok(low)
}
