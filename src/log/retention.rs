//! Deleting old segments: a pure plan, a thin execution, and the removal of the files after `file.delete.delay.ms`.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use super::log::Log;
use super::segment::{FileKind, Segment, SegmentFilesRef, SegmentList, Suffix};
use crate::config::TopicSettings;
use crate::types::{Offset, Timestamp};

/// After so long files that are due are looked at again, if somebody read them.
const LOOK_AGAIN_MS: i64 = 100;

/// Renamed files of a segment that are still there for readers with an old view.
#[derive(Debug)]
pub(super) struct WaitingFiles {
    /// Every view that has the segment shares this.
    segment: SegmentFilesRef,
    paths: Vec<PathBuf>,
    /// Earliest time of removal.
    due: Timestamp,
}

impl WaitingFiles {
    /// Of which segment they are.
    pub(super) fn segment(&self) -> &SegmentFilesRef {
        &self.segment
    }

    /// The delay is over, and whoever had the segment in its view has gone.
    fn can_go(&self, now: Timestamp) -> bool {
        self.due <= now && Arc::strong_count(&self.segment) == 1
    }
}

/// A segment as retention sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SegmentAge {
    pub(super) len: u64,
    /// Base of the next segment, or the log end for the last one.
    pub(super) end: Offset,
    /// Largest record timestamp, or the time of the last change where records have none.
    pub(super) newest: Timestamp,
}

/// Where the log stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) now: Timestamp,
    pub(super) log_start: Offset,
    pub(super) high_watermark: Offset,
}

/// How many of the oldest segments go (Kafka's `deleteOldSegments`): below the log start, then by size, then by time. The last
/// segment may be among them unless it is empty.
pub(super) fn plan(segments: &[SegmentAge], settings: &TopicSettings, bounds: &Bounds) -> usize {
    let deletable = segments.iter().enumerate().take_while(|(number, segment)| {
        let is_empty_last = *number + 1 == segments.len() && segment.len == 0;
        segment.end <= bounds.high_watermark && !is_empty_last
    });
    let deletable = deletable.count();
    let below_start = |segment: &&SegmentAge| segment.end <= bounds.log_start;
    // The last segment never lies below the log start: what comes next in it is above.
    let not_last = &segments[..segments.len().saturating_sub(1)];
    let mut gone = not_last.iter().take(deletable).take_while(below_start).count();
    if !settings.cleanup_policy.delete {
        return gone;
    }
    if let Ok(keep) = u64::try_from(settings.retention_bytes) {
        let total: u64 = segments[gone..].iter().map(|segment| segment.len).sum();
        let mut excess = total.saturating_sub(keep);
        while gone < deletable && segments[gone].len <= excess && excess > 0 {
            excess -= segments[gone].len;
            gone += 1;
        }
    }
    if settings.retention_ms >= 0 {
        let too_old = |segment: &&SegmentAge| {
            bounds.now.get().saturating_sub(segment.newest.get()) > settings.retention_ms
        };
        gone += segments[gone..deletable.max(gone)].iter().take_while(too_old).count();
    }
    gone
}

/// What a pass of retention did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Deleted {
    /// Segments that are gone.
    pub segments: usize,
    /// Others are to go once everything written so far has been synced.
    pub more_after_sync: bool,
}

impl Log {
    /// Deletes what retention allows (plan and execution; files are renamed to `.deleted`). Blocks.
    ///
    /// A segment goes only after the producer state behind it has been synced: the two lie in different files, and a power cut
    /// that kept the renames and lost the state would make the broker forget producers whose records are all gone.
    pub fn apply_retention(
        &mut self,
        now: Timestamp,
        high_watermark: Offset,
    ) -> io::Result<Deleted> {
        // What readers that have gone left open.
        self.segments.sealed.iter().for_each(|segment| segment.files.close());
        let bounds = Bounds { now, log_start: self.log_start, high_watermark };
        let due = plan(&self.ages()?, &self.settings, &bounds);
        if due > self.segments.sealed.len() {
            self.roll(now)?;
        }
        let count = self.count_settled(due);
        let deleted = Deleted { segments: count, more_after_sync: count < due };
        if count == 0 {
            return Ok(deleted);
        }
        let (gone, kept) = self.segments.sealed.split_at(count);
        let gone = gone.to_vec();
        let active = Arc::clone(&self.segments.active);
        let list = Arc::new(SegmentList::new(kept.to_vec(), active));
        let new_start = list.get(0).map_or(self.log_end, |first| first.base);
        // Readers first: nobody finds a segment by a new view once its files are renamed.
        self.segments = list;
        if !self.raise_log_start(new_start) {
            self.publish();
        }
        for segment in &gone {
            self.delete_later(segment, &FileKind::ALL, now)?;
        }
        self.unsynced.directories.push(self.directory.to_path_buf());
        Ok(deleted)
    }

    /// How many of the first `due` segments have all that sealing them wrote on disk.
    fn count_settled(&self, due: usize) -> usize {
        let ends = (1..=due).filter_map(|next| Some(self.segments.get(next)?.base));
        ends.take_while(|end| *end <= self.settled).count()
    }

    /// Removes files renamed to `.deleted` at least `file.delete.delay.ms` ago that nobody reads any more; when to look for the
    /// next ones that wait. Blocks.
    pub fn remove_deleted(&mut self, now: Timestamp) -> io::Result<Option<Timestamp>> {
        let waiting = std::mem::take(&mut self.waiting);
        let (mut going, staying): (Vec<_>, _) = waiting.into_iter().partition(|w| w.can_go(now));
        self.waiting = staying;
        let files = self.env.files.as_ref();
        while let Some(next) = going.pop() {
            if let Err(error) = next.paths.iter().try_for_each(|path| files.remove_if_there(path)) {
                self.waiting.extend(going);
                self.waiting.push(next);
                return Err(error);
            }
        }
        let again = Timestamp::new(now.get().saturating_add(LOOK_AGAIN_MS));
        let due = self.waiting.iter().map(|waiting| waiting.due).min();
        Ok(due.map(|due| if due <= now { again } else { due }))
    }

    /// Renames files of a segment that is in no view any more, and remembers to remove them.
    pub(super) fn delete_later(
        &mut self,
        segment: &Segment,
        kinds: &[FileKind],
        now: Timestamp,
    ) -> io::Result<()> {
        let delay_ms = self.settings.file_delete_delay_ms;
        let due = Timestamp::new(now.get().saturating_add(delay_ms));
        let paths = segment.files.rename(kinds, Suffix::Deleted)?;
        // Readers that are left open them again.
        segment.files.close();
        self.waiting.push(WaitingFiles { segment: Arc::clone(&segment.files), paths, due });
        Ok(())
    }

    fn ages(&self) -> io::Result<Vec<SegmentAge>> {
        let mut ages = Vec::with_capacity(self.segments.sealed.len() + 1);
        for (number, segment) in self.segments.sealed.iter().enumerate() {
            let end = self.segments.get(number + 1).map_or(self.log_end, |next| next.base);
            let largest = segment.largest_timestamp()?.timestamp;
            ages.push(SegmentAge {
                len: segment.sealed_len,
                end,
                newest: self.newest(segment, largest)?,
            });
        }
        ages.push(SegmentAge {
            len: self.active.position,
            end: self.log_end,
            newest: self.newest(&self.active.segment, self.active.largest.timestamp)?,
        });
        Ok(ages)
    }

    fn newest(&self, segment: &Segment, largest: Timestamp) -> io::Result<Timestamp> {
        if largest > Timestamp::NONE {
            return Ok(largest);
        }
        let path = segment.files.path(FileKind::Log);
        let stat = self.env.files.stat(&path)?;
        Ok(stat.map_or(Timestamp::new(i64::MAX), |stat| stat.modified))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::CleanupPolicy;

    /// Segments of 100 bytes and 10 offsets each; the newest timestamps are given.
    fn segments(newest: &[i64]) -> Vec<SegmentAge> {
        let ends = (1..).map(|n| Offset::new(n * 10));
        let segments = newest.iter().zip(ends);
        segments
            .map(|(&ms, end)| SegmentAge { len: 100, end, newest: Timestamp::new(ms) })
            .collect()
    }

    fn settings(retention_bytes: i64, retention_ms: i64) -> TopicSettings {
        TopicSettings { retention_bytes, retention_ms, ..TopicSettings::default() }
    }

    fn bounds(log_start: i64, high_watermark: i64) -> Bounds {
        Bounds {
            now: Timestamp::new(1_000),
            log_start: Offset::new(log_start),
            high_watermark: Offset::new(high_watermark),
        }
    }

    #[test]
    fn segments_below_the_log_start_go_whatever_the_policy() {
        let compact = TopicSettings {
            cleanup_policy: CleanupPolicy { delete: false, compact: true },
            ..settings(0, 0)
        };
        let segments = segments(&[0, 0, 0]);
        assert_eq!(plan(&segments, &compact, &bounds(19, 30)), 1);
        assert_eq!(plan(&segments, &compact, &bounds(20, 30)), 2);
        assert_eq!(plan(&segments, &compact, &bounds(30, 30)), 2, "the last one stays");
    }

    #[test]
    fn size_keeps_at_least_what_is_asked_for() {
        let segments = segments(&[0, 0, 0]);
        for (keep, gone) in [(-1, 0), (300, 0), (250, 0), (200, 1), (199, 1), (100, 2), (0, 3)] {
            assert_eq!(plan(&segments, &settings(keep, -1), &bounds(0, 30)), gone, "{keep}");
        }
    }

    #[test]
    fn time_stops_at_the_first_young_segment() {
        let segments = segments(&[100, 950, 100]);
        assert_eq!(plan(&segments, &settings(-1, 500), &bounds(0, 30)), 1);
        assert_eq!(plan(&segments, &settings(-1, 900), &bounds(0, 30)), 0, "exactly so old stays");
        assert_eq!(plan(&segments, &settings(-1, 10), &bounds(0, 30)), 3);
    }

    #[test]
    fn nothing_above_the_high_watermark_goes() {
        assert_eq!(plan(&segments(&[0, 0, 0]), &settings(0, 0), &bounds(0, 25)), 2);
    }

    #[test]
    fn an_empty_last_segment_stays() {
        let mut segments = segments(&[0, 0]);
        segments[1] = SegmentAge { len: 0, end: Offset::new(10), ..segments[1] };
        assert_eq!(plan(&segments, &settings(0, 0), &bounds(0, 10)), 1);
    }
}
