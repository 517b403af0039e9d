//! Reading by offset: from the tail in memory, or through index and files.

use std::io;
use std::sync::Arc;

use smallvec::{SmallVec, smallvec};

use super::access::Access;
use super::batch_start::BatchStart;
use super::segment::Segment;
use super::slice::{Part, Slice};
use super::view::{LogView, ReadError, ReadLimit};
use crate::env::{Cached, File};
use crate::types::Offset;

/// Step in which a range is brought into the page cache.
const TOUCH_BYTES: usize = 64 << 10;

impl LogView {
    /// Reads from memory alone: `Ok(None)` if files must be asked. Never blocks.
    pub fn read_tail(&self, from: Offset, limit: ReadLimit) -> Result<Option<Slice>, ReadError> {
        self.check_range(from)?;
        let end = limit.end.min(self.log_end);
        if from >= end {
            return Ok(Some(Slice::default()));
        }
        let Some(first) = self.find_in_tail(from) else { return Ok(None) };
        let Some(end) = self.end_in_tail(end) else { return Ok(None) };
        let range = cut(&first, end, &limit);
        let mut parts = SmallVec::new();
        if !self.tail.share(range.0, range.1, &mut parts) {
            return Ok(None);
        }
        Ok(Some(Slice { parts, len: (range.1 - range.0) as usize }))
    }

    /// Reads through index and files. Blocks; also warms the page cache for what it returns.
    pub fn read_files(&self, from: Offset, limit: ReadLimit) -> Result<Slice, ReadError> {
        self.read_with(Access::Blocking, from, limit)
    }

    /// Reads through index and files as far as the page cache has them: `Ok(None)` if the disk must be asked, or the system
    /// does not tell. Never blocks.
    pub fn read_cached(&self, from: Offset, limit: ReadLimit) -> Result<Option<Slice>, ReadError> {
        match self.read_with(Access::Cached, from, limit) {
            Err(ReadError::Io(error)) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            read => read.map(Some),
        }
    }

    fn read_with(
        &self,
        access: Access,
        from: Offset,
        limit: ReadLimit,
    ) -> Result<Slice, ReadError> {
        self.check_range(from)?;
        let end = limit.end.min(self.log_end);
        if from >= end {
            return Ok(Slice::default());
        }
        let mut number = self.segments.number_of(from);
        while let Some(segment) = self.segments.get(number) {
            let segment_end = self.len_of(number);
            if let Some(first) = segment.find(from, segment_end, access)? {
                self.close_before(number, access)?;
                let last = self.end_in_file(number, segment, end, access)?;
                return Ok(read_segment(segment, cut(&first, last, &limit), access)?);
            }
            // Compaction may have left nothing at or above `from` in this one.
            if !self.may_have_gaps {
                segment.tell_of_gap(from);
            }
            number += 1;
        }
        Ok(Slice::default())
    }

    /// Bytes from `from` to `end`, counting no further than `enough`; without I/O, so an estimate for older segments: a
    /// reader there has enough to read.
    pub fn bytes_between(&self, from: Offset, end: Offset, enough: usize) -> usize {
        let end = end.min(self.log_end);
        if from >= end {
            return 0;
        }
        if from < self.segments.active.base {
            return enough;
        }
        let bytes = self.position_estimate(end).saturating_sub(self.position_estimate(from));
        usize::try_from(bytes).unwrap_or(usize::MAX).clamp(1, enough.max(1))
    }

    /// A reader that goes through many segments leaves no descriptors behind: those of the segment before the one it reads
    /// are closed. Another reader there opens them again.
    fn close_before(&self, number: usize, access: Access) -> io::Result<()> {
        let before = number.checked_sub(1).and_then(|before| self.segments.sealed.get(before));
        match (before, access) {
            (Some(before), Access::Blocking) => before.files.close(),
            // Closing may wait for the disk, if the file was deleted meanwhile.
            (Some(before), Access::Cached) if !before.files.are_closed() => {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            (_, Access::Cached) | (None, Access::Blocking) => {}
        }
        Ok(())
    }

    fn check_range(&self, offset: Offset) -> Result<(), ReadError> {
        if offset < self.log_start || offset > self.log_end {
            let (log_start, log_end) = (self.log_start, self.log_end);
            return Err(ReadError::OutOfRange { offset, log_start, log_end });
        }
        Ok(())
    }

    /// The first batch whose last offset is at or above `offset`, if the tail reaches back so far.
    fn find_in_tail(&self, offset: Offset) -> Option<BatchStart> {
        if offset < self.segments.active.base {
            return None;
        }
        let chunk = self.tail.chunk_of(offset)?;
        let entry = self.segments.active.index.offset_floor_in_memory(offset);
        let position = entry.map_or(0, |entry| u64::from(entry.position)).max(chunk.position);
        let mut rest = chunk.bytes().get((position - chunk.position) as usize..)?;
        let mut position = position;
        loop {
            let start = BatchStart::parse(rest, position)?;
            if start.last_offset >= offset {
                return Some(start);
            }
            position = start.end();
            rest = rest.get(start.size as usize..)?;
        }
    }

    /// Position of the batch that holds `end`, or the end of the segment.
    fn end_in_tail(&self, end: Offset) -> Option<u64> {
        if end >= self.log_end {
            return Some(self.active_end);
        }
        self.find_in_tail(end).map(|start| start.position)
    }

    /// Where a read that stops before the batch holding `end` stops in segment `number`.
    fn end_in_file(
        &self,
        number: usize,
        segment: &Segment,
        end: Offset,
        access: Access,
    ) -> io::Result<u64> {
        let segment_end = self.len_of(number);
        let next_base = self.segments.get(number + 1).map_or(self.log_end, |next| next.base);
        if end >= next_base {
            return Ok(segment_end);
        }
        let holder = segment.find(end, segment_end, access)?;
        Ok(holder.map_or(segment_end, |start| start.position))
    }

    /// Position of `offset` in the active segment as far as memory knows it.
    fn position_estimate(&self, offset: Offset) -> u64 {
        if offset >= self.log_end {
            return self.active_end;
        }
        let exact = self.find_in_tail(offset).map(|start| start.position);
        let floor = || self.segments.active.index.offset_floor_in_memory(offset);
        exact.or_else(|| floor().map(|entry| u64::from(entry.position))).unwrap_or(0)
    }
}

/// The positions to return: from the first batch on, within the limit. Only the first batch may exceed it, if at all.
fn cut(first: &BatchStart, end: u64, limit: &ReadLimit) -> (u64, u64) {
    let start = first.position;
    if first.end() > end {
        return (start, start);
    }
    if first.size > limit.bytes_max as u64 {
        let end = if limit.first_batch_whole { first.end() } else { start };
        return (start, end);
    }
    (start, end.min(start + limit.bytes_max as u64))
}

fn read_segment(segment: &Segment, (start, end): (u64, u64), access: Access) -> io::Result<Slice> {
    if start == end {
        return Ok(Slice::default());
    }
    let file = segment.open_log(access)?;
    let len = (end - start) as usize;
    match (file.cached(start, len)?, access) {
        (Cached::All, _) => {}
        (Cached::Part | Cached::Unknown, Access::Blocking) => touch(&file, start, end)?,
        (Cached::Part | Cached::Unknown, Access::Cached) => {
            return Err(io::ErrorKind::WouldBlock.into());
        }
    }
    Ok(Slice { parts: smallvec![Part::File { file, position: start, len }], len })
}

/// Brings a range into the page cache, so that sending it need not wait for the disk. What is cached and what is not comes
/// in runs, so one probe tells for a whole step; only steps that are not there are read.
fn touch(file: &Arc<dyn File>, start: u64, end: u64) -> io::Result<()> {
    let mut buffer = Vec::new();
    let mut position = start;
    while position < end {
        let len = TOUCH_BYTES.min((end - position) as usize);
        if file.read_resident_at(&mut [0], position + len as u64 - 1)?.is_none() {
            buffer.resize(TOUCH_BYTES, 0);
            file.read_at(&mut buffer[..len], position)?;
        }
        position += len as u64;
    }
    Ok(())
}
