//! Searching by time (ListOffsets; Kafka's `UnifiedLog.fetchOffsetByTimestamp`).

use std::io;

use super::access::Access;
use super::batch_start::BatchStart;
use super::segment::{FileKind, LargestTimestamp, Segment};
use super::stored_records::first_record;
use super::view::{LogView, OffsetAtTime, TimeQuery};
use crate::types::{Offset, Timestamp};

impl LogView {
    /// Searches by time; nothing at or beyond `end` is found. Blocks.
    pub fn offset_at(&self, query: TimeQuery, end: Offset) -> io::Result<Option<OffsetAtTime>> {
        let found = match query {
            TimeQuery::At(time) => self.first_at_or_after(time)?,
            TimeQuery::Max => self.latest()?,
        };
        Ok(found.filter(|hit| hit.offset < end))
    }

    fn first_at_or_after(&self, time: Timestamp) -> io::Result<Option<OffsetAtTime>> {
        let mut number = self.segments.number_of(self.log_start);
        while let Some(segment) = self.segments.get(number) {
            let largest = self.largest_of(number, segment)?.timestamp;
            if largest >= time && largest > Timestamp::NONE {
                let hit = self.search_segment(number, segment, time)?;
                if hit.is_some() {
                    return Ok(hit);
                }
            }
            number += 1;
        }
        Ok(None)
    }

    /// Time index, then offset index, then the batches from there on, then the records of those that may hold it.
    fn search_segment(
        &self,
        number: usize,
        segment: &Segment,
        time: Timestamp,
    ) -> io::Result<Option<OffsetAtTime>> {
        let floor =
            segment.index.time_floor(time, || segment.files.open_once(FileKind::TimeIndex))?;
        let from = floor.map_or(segment.base, |entry| entry.offset).max(self.log_start);
        let mut scan = segment.scan_from(from, self.len_of(number), Access::Blocking)?;
        while let Some(start) = scan.next()? {
            if start.max_timestamp < time {
                continue;
            }
            let is_hit = |offset, timestamp| timestamp >= time && offset >= self.log_start;
            let hit = find_record(segment, &start, is_hit)?;
            if hit.is_some() {
                return Ok(hit);
            }
        }
        Ok(None)
    }

    /// The first record with the largest timestamp of all.
    fn latest(&self) -> io::Result<Option<OffsetAtTime>> {
        let mut best: Option<(usize, LargestTimestamp)> = None;
        let mut number = 0;
        while let Some(segment) = self.segments.get(number) {
            let largest = self.largest_of(number, segment)?;
            if best.is_none_or(|(_, best)| largest.timestamp > best.timestamp) {
                best = Some((number, largest));
            }
            number += 1;
        }
        let Some((number, largest)) = best.filter(|(_, l)| l.timestamp > Timestamp::NONE) else {
            return Ok(None);
        };
        let Some(segment) = self.segments.get(number) else { return Ok(None) };
        let Some(start) = segment.find(largest.offset, self.len_of(number), Access::Blocking)?
        else {
            return Ok(None);
        };
        find_record(segment, &start, |_, timestamp| timestamp == largest.timestamp)
    }

    /// Largest timestamp of segment number `number`.
    fn largest_of(&self, number: usize, segment: &Segment) -> io::Result<LargestTimestamp> {
        if number == self.segments.sealed.len() {
            return Ok(self.active_largest);
        }
        segment.largest_timestamp()
    }
}

/// The first record of a batch for which `is_hit` holds.
fn find_record(
    segment: &Segment,
    start: &BatchStart,
    is_hit: impl Fn(Offset, Timestamp) -> bool,
) -> io::Result<Option<OffsetAtTime>> {
    let mut batch = vec![0; usize::try_from(start.size).map_err(io::Error::other)?];
    segment.files.open(FileKind::Log)?.read_at(&mut batch, start.position)?;
    let hit = first_record(&batch, is_hit)?;
    Ok(hit.map(|(offset, timestamp)| OffsetAtTime {
        offset,
        timestamp,
        leader_epoch: start.leader_epoch,
    }))
}
