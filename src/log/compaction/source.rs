//! What a round reads: sealed segments of one view, batch by batch.
//!
//! A batch whose checksum is wrong ends the round: writing it anew would give it a right checksum, and a map of damaged keys would remove
//! what is good.

use std::path::Path;
use std::sync::Arc;

use super::CleanError;
use super::last_records::{LastRecord, LastRecords};
use crate::config::TopicSettings;
use crate::env::Env;
use crate::log::access::Access;
use crate::log::batch_reader::BatchReader;
use crate::log::log::Log;
use crate::log::scan::StoredBatch;
use crate::log::segment::{FileKind, Segment};
use crate::log::view::LogView;
use crate::types::{Offset, Timestamp};

/// A log as it was when its cleaning began. Whoever cleans it holds no lock of the appender's.
#[derive(Debug)]
pub struct CleaningSource {
    pub(super) env: Env,
    pub(super) directory: Arc<Path>,
    pub(super) settings: Arc<TopicSettings>,
    pub(super) view: Arc<LogView>,
    pub(super) producers: LastRecords,
}

impl Log {
    /// What a cleaning of this log reads. Costs a few words for each producer.
    pub fn cleaning_source(&self) -> CleaningSource {
        let producers = self.producers.sorted().into_iter().map(|(id, producer)| {
            let last = match producer.recent.last() {
                Some(batch) => LastRecord::Data(batch.last_offset),
                None => LastRecord::Marker(producer.epoch),
            };
            (id, last)
        });
        CleaningSource {
            env: self.env.clone(),
            directory: Arc::clone(&self.directory),
            settings: Arc::clone(&self.settings),
            view: Arc::clone(&self.view),
            producers: producers.collect(),
        }
    }
}

impl CleaningSource {
    /// The sealed segments with their ends that hold something in `from..to`.
    pub(super) fn segments_between(&self, from: Offset, to: Offset) -> Vec<(Arc<Segment>, Offset)> {
        let segments = &self.view.segments;
        let ends = segments.sealed.iter().skip(1).map(|next| next.base);
        let with_ends = segments.sealed.iter().zip(ends.chain([segments.active.base]));
        let overlapping = with_ends.filter(|(segment, end)| segment.base < to && *end > from);
        overlapping.map(|(segment, end)| (Arc::clone(segment), end)).collect()
    }

    /// When a segment was last written to; −1 if nobody knows.
    pub(super) fn modified(&self, segment: &Segment) -> Result<Timestamp, CleanError> {
        let path = segment.files.path(FileKind::Log);
        let stat = self.env.files.stat(&path).map_err(CleanError::of_read)?;
        Ok(stat.map_or(Timestamp::NONE, |stat| stat.modified))
    }
}

/// Reads a sealed segment to its end.
#[derive(Debug)]
pub(super) struct SegmentScan<'s> {
    segment: &'s Segment,
    end: Offset,
    reader: BatchReader,
    /// Behind the last batch that was read.
    next_offset: Offset,
}

impl<'s> SegmentScan<'s> {
    /// From the batch with `from` on, or one a little before it; `read_bytes` at a time. `end` is where the next segment begins.
    pub(super) fn begin(
        segment: &'s Segment,
        end: Offset,
        from: Offset,
        read_bytes: usize,
    ) -> Result<Self, CleanError> {
        let scan = if from > segment.base {
            segment.scan_from(from, segment.sealed_len, Access::Blocking)
        } else {
            segment.scan_from_start(segment.sealed_len)
        };
        let position = scan.map_err(CleanError::of_read)?.position();
        let file = segment.files.open(FileKind::Log).map_err(CleanError::of_read)?;
        let reader = BatchReader::new(file, position, segment.sealed_len).reading(read_bytes);
        Ok(Self { segment, end, reader, next_offset: segment.base })
    }

    /// The next batch; its offsets follow those before. Its checksum is for the caller to look at.
    pub(super) fn next(&mut self) -> Result<Option<StoredBatch<'_>>, CleanError> {
        let at = self.reader.position();
        let base = self.segment.base;
        let damaged = |reason: String| CleanError::Damaged { base, position: at, reason };
        let Some((_, batch)) = self.reader.next().map_err(CleanError::of_read)? else {
            if at < self.segment.sealed_len {
                return Err(damaged("no batch can begin there".to_owned()));
            }
            return Ok(None);
        };
        let first = batch.header().map_or(batch.last_offset(), |header| header.base_offset);
        let last = batch.last_offset();
        if first < self.next_offset || last >= self.end {
            let expected = format!("{}..{}", self.next_offset, self.end);
            return Err(damaged(format!("offsets {first}..={last} are not within {expected}")));
        }
        self.next_offset = last.plus(1);
        Ok(Some(batch))
    }

    /// What to say of the batch that was read last, where it cannot be read.
    pub(super) fn damaged(&self, batch_bytes: usize, reason: impl ToString) -> CleanError {
        CleanError::Damaged {
            base: self.segment.base,
            position: self.reader.position() - batch_bytes as u64,
            reason: reason.to_string(),
        }
    }
}
