//! The time of a record, by its offset: how long a consumer that has read up to there has been waiting for it.

use std::io;

use super::access::Access;
use super::batch::BatchHeader;
use super::batch_start::{BatchStart, StartScan};
use super::segment::{FileKind, Segment};
use super::stored_records::first_record;
use super::view::LogView;
use crate::config::TimestampType;
use crate::types::{Offset, Timestamp};

/// Batches without a record that counts (ends of transactions, what compaction has left) that are passed before giving up.
const LOOKS_MAX: usize = 64;

/// Largest batch that is read for the time of a record inside it; of a larger one the time of its first record is taken.
const BATCH_BYTES_MAX: u64 = 1 << 20;

impl LogView {
    /// Timestamp of the first record at or after `offset`; `None` if there is none, or it has no time. Mostly an index
    /// look-up and the start of one batch; leaves no file open. Blocks.
    pub fn time_of(&self, offset: Offset) -> io::Result<Option<Timestamp>> {
        let from = offset.max(self.log_start);
        if from >= self.log_end {
            return Ok(None);
        }
        let mut number = self.segments.number_of(from);
        let mut looks = 0;
        while let Some(segment) = self.segments.get(number) {
            let end = self.len_of(number);
            number += 1;
            if end == 0 {
                // The active segment may have no file before its first batch.
                continue;
            }
            let mut scan = scan_once(segment, from, end)?;
            while let Some(start) = scan.next()? {
                if start.last_offset < from {
                    continue;
                }
                let time = time_in(segment, &start, from)?;
                looks += 1;
                if time.is_some() || looks == LOOKS_MAX {
                    return Ok(time.filter(|time| *time > Timestamp::NONE));
                }
            }
        }
        Ok(None)
    }
}

/// As [`Segment::scan_from`], with files that nobody else will need soon.
fn scan_once(segment: &Segment, offset: Offset, end: u64) -> io::Result<StartScan> {
    let open_index = || segment.files.open_once(FileKind::OffsetIndex);
    let floor = segment.index.offset_floor(offset, Access::Blocking, open_index)?;
    let position = floor.map_or(0, |entry| u64::from(entry.position));
    Ok(StartScan::new(segment.files.open_once(FileKind::Log)?, position, end))
}

/// Timestamp of the first record of a batch at or after `from`; `None` if it has no such record.
fn time_in(segment: &Segment, start: &BatchStart, from: Offset) -> io::Result<Option<Timestamp>> {
    if let Some(header) = &start.header {
        if header.is_control() {
            return Ok(None);
        }
        if let Some(time) = time_by_header(header, start.base_offset >= from) {
            return Ok(Some(time));
        }
        if start.size > BATCH_BYTES_MAX {
            return Ok(Some(header.base_timestamp));
        }
    }
    let mut batch = vec![0; usize::try_from(start.size).map_err(io::Error::other)?];
    segment.files.open_once(FileKind::Log)?.read_at(&mut batch, start.position)?;
    let hit = first_record(&batch, |offset, _| offset >= from)?;
    Ok(hit.map(|(_, timestamp)| timestamp))
}

/// What the header alone tells: everything under the broker's clock; else the time of the first record, if that is the one
/// and compaction has left it and its base time in place.
fn time_by_header(header: &BatchHeader, from_its_start: bool) -> Option<Timestamp> {
    if header.timestamp_type() == TimestampType::LogAppendTime {
        return Some(header.max_timestamp);
    }
    let whole = header.records_count.checked_sub(1) == Some(header.last_offset_delta);
    let is_first = from_its_start && whole && header.delete_horizon().is_none();
    is_first.then_some(header.base_timestamp)
}
