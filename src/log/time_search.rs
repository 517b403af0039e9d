//! Searching by time (ListOffsets; Kafka's `UnifiedLog.fetchOffsetByTimestamp`).

use std::io;

use super::segment::{LargestTimestamp, Segment};
use super::view::{LogView, OffsetAtTime, TimeQuery};
use crate::types::Offset;

impl LogView {
    /// Searches by time; nothing at or beyond `end` is found. Blocks.
    pub fn offset_at(&self, query: TimeQuery, end: Offset) -> io::Result<Option<OffsetAtTime>> {
        let found = match query {
            TimeQuery::At(_) => None,
            TimeQuery::Max => None,
        };
        Ok(found.filter(|hit: &OffsetAtTime| hit.offset < end))
    }

    /// Largest timestamp of segment number `number`.
    fn largest_of(&self, number: usize, segment: &Segment) -> io::Result<LargestTimestamp> {
        if number == self.segments.sealed.len() {
            return Ok(self.active_largest);
        }
        segment.largest_timestamp()
    }
}
