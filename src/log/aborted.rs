//! Aborted transactions of a log, from the `.txnindex` files of its segments.
//!
//! A log may have very many, so a question reads no more of the files than it must: where it begins is searched, and it ends
//! where nothing that matters was still open.

use std::io;

use super::access::Access;
use super::format::aborted_index::{self, AbortedEntry, ENTRY_LEN};
use super::index::partition_point;
use super::segment::{FileKind, Segment, SegmentList};
use super::view::{AbortedTransaction, LogView};
use crate::env::File;
use crate::types::Offset;

/// Entries that are read at a time.
const BLOCK_ENTRIES: usize = 120;

impl LogView {
    /// Aborted transactions that overlap `from..to`, in the order of their markers. Blocks on the disk only where a segment that
    /// matters has any.
    pub fn aborted_between(&self, from: Offset, to: Offset) -> io::Result<Vec<AbortedTransaction>> {
        let entries = entries_between(&self.segments, from, to)?.into_iter();
        let found = entries.map(|entry| AbortedTransaction {
            producer_id: entry.producer_id,
            first_offset: entry.first_offset,
        });
        Ok(found.collect())
    }

    /// Those that overlap what a read from `from` on has returned, which was `len` bytes and nothing at or above `end`. It may
    /// list a few more: how far the bytes reach is looked up in the index (Kafka's `LocalLog.addAbortedTransactions`). Blocks.
    pub fn aborted_in(
        &self,
        from: Offset,
        len: usize,
        end: Offset,
    ) -> io::Result<Vec<AbortedTransaction>> {
        self.aborted_between(from, self.reach(from, len)?.min(end))
    }

    /// False if no transaction was aborted from `from` on, so that [`LogView::aborted_between`] finds nothing and does not block.
    pub fn may_have_aborted(&self, from: Offset) -> bool {
        let first = self.segments.number_of(from);
        let mut segments = (first..).map_while(|number| self.segments.get(number));
        segments.any(|segment| segment.may_have_aborted(from))
    }

    /// An offset above all in the `len` bytes from the batch of `from` on.
    fn reach(&self, from: Offset, len: usize) -> io::Result<Offset> {
        let mut number = self.segments.number_of(from);
        while let Some(segment) = self.segments.get(number) {
            let next_base = self.segments.get(number + 1).map_or(self.log_end, |next| next.base);
            if let Some(first) = segment.find(from, self.len_of(number), Access::Blocking)? {
                let position = first.position + len as u64;
                let open = || segment.files.open(FileKind::OffsetIndex);
                return Ok(segment.index.offset_at(position, open)?.unwrap_or(next_base));
            }
            // Compaction may have left nothing at or above `from` in this one.
            number += 1;
        }
        Ok(self.log_end)
    }
}

/// The entries of those that overlap `from..to`, in the order of their markers (Kafka's `TransactionIndex.collectAbortedTxns`).
/// Blocks.
pub(super) fn entries_between(
    segments: &SegmentList,
    from: Offset,
    to: Offset,
) -> io::Result<Vec<AbortedEntry>> {
    let mut found = Vec::new();
    let mut number = segments.number_of(from);
    while let Some(segment) = segments.get(number) {
        number += 1;
        if !segment.may_have_aborted(from) {
            continue;
        }
        let mut reader = EntryReader::open(segment, from)?;
        while let Some(entries) = reader.next_block()? {
            for entry in entries {
                if entry.first_offset < to {
                    found.push(entry);
                }
                // Nothing that began below `to` was still open here, so no later marker can concern it.
                if entry.last_stable_offset >= to {
                    return Ok(found);
                }
            }
        }
    }
    Ok(found)
}

/// All entries of one segment. Blocks if there are any.
pub(super) fn read(segment: &Segment) -> io::Result<Vec<AbortedEntry>> {
    let mut all = Vec::new();
    if segment.has_aborted() {
        let mut reader = EntryReader::open(segment, segment.base)?;
        while let Some(entries) = reader.next_block()? {
            all.extend(entries);
        }
    }
    Ok(all)
}

/// Reads the entries of a segment whose markers are at or above an offset.
struct EntryReader<'a> {
    segment: &'a Segment,
    file: std::sync::Arc<dyn File>,
    next: usize,
    count: usize,
    last: Option<Offset>,
}

impl<'a> EntryReader<'a> {
    fn open(segment: &'a Segment, from: Offset) -> io::Result<Self> {
        let file = segment.files.open(FileKind::TransactionIndex)?;
        let len = usize::try_from(file.len()?).unwrap_or(usize::MAX);
        if !len.is_multiple_of(ENTRY_LEN) {
            return Err(invalid(aborted_index::AbortedIndexDamage::Length(len)));
        }
        let mut reader = Self { segment, file, next: 0, count: len / ENTRY_LEN, last: None };
        if let Some(last) = reader.count.checked_sub(1) {
            segment.note_last_aborted(reader.read(last, 1)?[0].last_offset);
        }
        reader.next =
            partition_point(reader.count, |at| Ok(reader.read(at, 1)?[0].last_offset < from))?;
        Ok(reader)
    }

    fn next_block(&mut self) -> io::Result<Option<Vec<AbortedEntry>>> {
        let entries = BLOCK_ENTRIES.min(self.count - self.next);
        if entries == 0 {
            return Ok(None);
        }
        let block = self.read(self.next, entries)?;
        let before = self.last.replace(block[entries - 1].last_offset);
        if let Some(before) = before.filter(|before| block[0].last_offset <= *before) {
            let (at, last_offset) = (self.next, block[0].last_offset);
            return Err(invalid(aborted_index::AbortedIndexDamage::Order {
                at,
                last_offset,
                before,
            }));
        }
        self.next += entries;
        Ok(Some(block))
    }

    /// So many entries from number `at` on.
    fn read(&self, at: usize, entries: usize) -> io::Result<Vec<AbortedEntry>> {
        let mut bytes = vec![0; entries * ENTRY_LEN];
        if self.file.read_at(&mut bytes, (at * ENTRY_LEN) as u64)? < bytes.len() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        aborted_index::decode(&bytes, self.segment.base).map_err(invalid)
    }
}

fn invalid(damage: aborted_index::AbortedIndexDamage) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, damage)
}
