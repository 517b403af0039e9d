//! What is looked at after a clean stop: the end of the last segment.
//!
//! Kafka trusts it. With a torn or zero tail, an index entry behind the end or a lost time index it then refuses to start,
//! serves less than there is, appends behind garbage or answers timestamp questions wrongly. Here the last index entries and
//! the batches behind them must fit; if they do not, the segment is rebuilt, or cut behind its last whole batch. Checksums
//! are not looked at: a batch that was once whole on disk is not cut off for a flipped bit, its readers see the error.

use std::io;

use super::access::Access;
use super::found::FoundSegment;
use super::index::{read_offset_entry, read_time_entry};
use super::segment::{FileKind, LargestTimestamp, Segment};
use crate::types::{Offset, Timestamp};

/// Where a segment ends that was closed properly.
#[derive(Clone, Copy, Debug)]
pub(super) struct TailCheck {
    /// Behind the last whole batch.
    pub(super) end: u64,
    pub(super) log_end: Offset,
    pub(super) largest: LargestTimestamp,
    /// −1 for none.
    pub(super) last_time_entry: Timestamp,
}

/// Looks at the end of a segment; the inner error says why it must be rebuilt. Reads O(1).
pub(super) fn check_tail(found: &FoundSegment) -> io::Result<Result<TailCheck, &'static str>> {
    let segment = &found.segment;
    if found.len == 0 {
        return Ok(Ok(TailCheck {
            end: 0,
            log_end: segment.base,
            largest: LargestTimestamp::none(segment.base),
            last_time_entry: Timestamp::NONE,
        }));
    }
    if !last_offset_entry_fits(segment, found.len)? {
        return Ok(Err("the last entry of the offset index points at no batch"));
    }
    let mut largest = segment.largest_timestamp()?;
    let last_time_entry = largest.timestamp;
    let mut scan = segment.scan_from(Offset::new(i64::MAX), found.len, Access::Blocking)?;
    let mut end = scan.position();
    let mut log_end = segment.base;
    while let Some(start) = scan.next()? {
        if start.base_offset < log_end {
            break;
        }
        if !fits_segment(segment, start.last_offset) {
            // Whether it is good data is for those to say who read all of it.
            return Ok(Err("an offset is too far from the segment's own"));
        }
        if start.max_timestamp > largest.timestamp {
            largest =
                LargestTimestamp { timestamp: start.max_timestamp, offset: start.last_offset };
        }
        end = start.end();
        log_end = start.last_offset.plus(1);
    }
    if log_end == segment.base {
        return Ok(Err("it holds no batch where it should"));
    }
    if !time_index_fits(segment, log_end, largest.timestamp)? {
        return Ok(Err("the time index does not belong to it"));
    }
    Ok(Ok(TailCheck { end, log_end, largest, last_time_entry }))
}

/// The last entry must rise above the one before it and name the last offset of the batch that it points at.
fn last_offset_entry_fits(segment: &Segment, len: u64) -> io::Result<bool> {
    let count = segment.index.counts().offsets;
    let Some(last) = count.checked_sub(1) else { return Ok(true) };
    let file = segment.files.open(FileKind::OffsetIndex)?;
    let entry = read_offset_entry(file.as_ref(), Access::Blocking, segment.base, last)?;
    if entry.position == 0 || u64::from(entry.position) >= len {
        return Ok(false);
    }
    if let Some(before) = last.checked_sub(1) {
        let before = read_offset_entry(file.as_ref(), Access::Blocking, segment.base, before)?;
        if before.offset >= entry.offset || before.position >= entry.position {
            return Ok(false);
        }
    }
    let batch = segment.scan_from(Offset::new(i64::MAX), len, Access::Blocking)?.next()?;
    Ok(batch.is_some_and(|batch| batch.last_offset == entry.offset))
}

/// A closed segment with timestamps has a closing entry, which lies in it.
fn time_index_fits(segment: &Segment, log_end: Offset, largest: Timestamp) -> io::Result<bool> {
    let Some(last) = segment.index.counts().times.checked_sub(1) else {
        return Ok(largest == Timestamp::NONE);
    };
    let file = segment.files.open(FileKind::TimeIndex)?;
    let entry = read_time_entry(file.as_ref(), segment.base, last)?;
    if let Some(before) = last.checked_sub(1) {
        let before = read_time_entry(file.as_ref(), segment.base, before)?;
        if before.timestamp >= entry.timestamp || before.offset > entry.offset {
            return Ok(false);
        }
    }
    Ok(entry.offset >= segment.base && entry.offset < log_end)
}

fn fits_segment(segment: &Segment, last_offset: Offset) -> bool {
    last_offset.get().saturating_sub(segment.base.get()) <= i64::from(i32::MAX)
}
