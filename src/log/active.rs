//! The segment that is appended to, as its appender holds it: where it ends, how far room is reserved, what of the indexes
//! is written.

use std::io;
use std::sync::Arc;

use super::aborted_writer::AbortedWriter;
use super::format::aborted_index::AbortedEntry;
use super::format::offset_index::{self, OffsetEntry};
use super::format::time_index::{self, TimeEntry};
use super::index::{EntryCounts, SegmentIndex};
use super::segment::{FileKind, LargestTimestamp, Segment};
use crate::config::TopicSettings;
use crate::env::File;
use crate::types::{Offset, Timestamp};

/// First reservation of disk space, made once a segment has grown to as much.
const RESERVE_BYTES_MIN: u64 = 64 << 10;
/// Largest reservation.
const RESERVE_BYTES_MAX: u64 = 32 << 20;
/// Index entries are written when so many wait; with the default interval that is every 4 MiB of log.
const UNSAVED_ENTRIES_MAX: usize = 1024;

/// The active segment; belongs to the appender.
#[derive(Debug)]
pub(super) struct ActiveSegment {
    pub(super) segment: Arc<Segment>,
    /// Bytes of whole batches in the `.log`.
    pub(super) position: u64,
    pub(super) largest: LargestTimestamp,
    /// Opened at the first append, so that an idle partition holds no descriptor.
    log: Option<Arc<dyn File>>,
    /// The `.log` exists on disk.
    created: bool,
    reserved_to: u64,
    reserve_step: u64,
    bytes_since_entry: u64,
    /// Timestamp of the newest time index entry, −1 for none.
    last_time_entry: Timestamp,
    /// Largest timestamp of the first batch, once known; rolling by time counts from it.
    first_timestamp: Option<Timestamp>,
    begun: Timestamp,
    jitter_ms: i64,
    saved: EntryCounts,
    /// Something was written since the files were complete.
    dirty: bool,
    /// The transaction index.
    pub(super) aborted: AbortedWriter,
}

/// What is known of a segment that becomes active.
#[derive(Debug)]
pub(super) struct ActiveState {
    pub(super) position: u64,
    pub(super) largest: LargestTimestamp,
    /// Timestamp of the newest time index entry, −1 for none.
    pub(super) last_time_entry: Timestamp,
    /// Entries that the index files hold.
    pub(super) saved: EntryCounts,
    /// The `.log` exists on disk.
    pub(super) created: bool,
    /// When it was begun, or opened.
    pub(super) begun: Timestamp,
}

impl ActiveState {
    /// Of a segment without batches or files.
    pub(super) fn empty(base: Offset, begun: Timestamp) -> Self {
        Self {
            position: 0,
            largest: LargestTimestamp::none(base),
            last_time_entry: Timestamp::NONE,
            saved: EntryCounts::default(),
            created: false,
            begun,
        }
    }
}

/// Index entries in memory alone.
#[derive(Debug)]
pub(super) struct UnsavedEntries {
    /// Those in the files, which they follow.
    pub(super) saved: EntryCounts,
    /// Encoded.
    pub(super) offsets: Vec<u8>,
    /// Encoded.
    pub(super) times: Vec<u8>,
}

/// The batch to be appended, as far as rolling and indexing look at it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Incoming {
    pub(super) size: u64,
    pub(super) last_offset: Offset,
    pub(super) max_timestamp: Timestamp,
}

impl ActiveSegment {
    /// `random` decides how much earlier than `segment.ms` it rolls.
    pub(super) fn new(
        segment: Arc<Segment>,
        state: ActiveState,
        settings: &TopicSettings,
        random: u64,
    ) -> Self {
        Self {
            segment,
            position: state.position,
            largest: state.largest,
            log: None,
            created: state.created,
            reserved_to: state.position,
            reserve_step: RESERVE_BYTES_MIN,
            bytes_since_entry: 0,
            last_time_entry: state.last_time_entry,
            first_timestamp: None,
            begun: state.begun,
            jitter_ms: jitter(settings, random),
            saved: state.saved,
            dirty: false,
            aborted: AbortedWriter::default(),
        }
    }

    /// True if the `.log` must be created before the next append.
    pub(super) fn is_unborn(&self) -> bool {
        !self.created
    }

    /// True if the files are not complete: see [`ActiveSegment::finish`].
    pub(super) fn is_dirty(&self) -> bool {
        self.dirty
    }

    /// The open `.log`, created if there is none.
    pub(super) fn log(&mut self) -> io::Result<&Arc<dyn File>> {
        if self.log.is_none() {
            let files = &self.segment.files;
            let file =
                if self.created { files.open(FileKind::Log) } else { files.create(FileKind::Log) };
            self.log = Some(file?);
            self.created = true;
        }
        Ok(self.log.as_ref().expect("just opened"))
    }

    /// Must a new segment begin before this batch (Kafka's `LogSegment.shouldRoll`)? May read the first batch.
    pub(super) fn must_roll(
        &mut self,
        incoming: &Incoming,
        settings: &TopicSettings,
        now: Timestamp,
    ) -> io::Result<bool> {
        if self.position == 0 {
            return Ok(false);
        }
        let segment_bytes = u64::try_from(settings.segment_bytes).unwrap_or(0);
        if self.position + incoming.size > segment_bytes {
            return Ok(true);
        }
        if incoming.last_offset.get() - self.segment.base.get() > i64::from(i32::MAX) {
            return Ok(true);
        }
        Ok(self.index_is_full(settings)
            || self.is_too_old(incoming.max_timestamp, settings, now)?)
    }

    fn is_too_old(
        &mut self,
        incoming: Timestamp,
        settings: &TopicSettings,
        now: Timestamp,
    ) -> io::Result<bool> {
        let first = self.first_timestamp()?;
        let waited_ms = if first.get() >= 0 {
            incoming.get().saturating_sub(first.get())
        } else {
            now.get().saturating_sub(self.begun.get())
        };
        Ok(waited_ms > segment_ms(settings) - self.jitter_ms)
    }

    fn index_is_full(&self, settings: &TopicSettings) -> bool {
        let bytes = usize::try_from(settings.segment_index_bytes).unwrap_or(0);
        let counts = self.segment.index.counts();
        // One slot of the time index is kept for the closing entry.
        counts.offsets >= bytes / offset_index::ENTRY_LEN
            || counts.times + 1 >= bytes / time_index::ENTRY_LEN
    }

    fn first_timestamp(&mut self) -> io::Result<Timestamp> {
        if let Some(known) = self.first_timestamp {
            return Ok(known);
        }
        let first = self.segment.scan_from_start(self.position)?.next()?;
        let timestamp = first.map_or(Timestamp::NONE, |start| start.max_timestamp);
        Ok(*self.first_timestamp.insert(timestamp))
    }

    /// Reserves room ahead of the next `size` bytes, in steps that grow with the segment: writes into reserved space are
    /// 1.4 times (64 KiB) to 20 times (1 MiB) cheaper. Best effort; what is missing shows when the bytes are written.
    pub(super) fn reserve(&mut self, size: u64, settings: &TopicSettings) {
        let end = self.position + size;
        if end <= self.reserved_to || end < RESERVE_BYTES_MIN {
            return;
        }
        let segment_bytes = u64::try_from(settings.segment_bytes).unwrap_or(0);
        let to = (end + self.reserve_step).min(segment_bytes.max(end));
        self.reserve_step = (self.reserve_step * 2).min(RESERVE_BYTES_MAX);
        if let Some(log) = &self.log {
            let from = self.reserved_to.max(self.position);
            // Failed or not, it is not tried again before the next step.
            let _ = log.reserve(from, to - from);
            self.reserved_to = to;
        }
    }

    /// Gives reserved room back, and with it whatever lies behind the last whole batch.
    pub(super) fn release_reserve(&mut self) -> io::Result<()> {
        if let Some(log) = &self.log
            && self.reserved_to > self.position
        {
            log.set_len(self.position)?;
            self.reserved_to = self.position;
        }
        Ok(())
    }

    /// Cuts off what a failed write may have left behind the last whole batch.
    pub(super) fn cut_failed_write(&mut self) -> io::Result<()> {
        self.reserved_to = self.position;
        self.reserve_step = RESERVE_BYTES_MIN;
        self.aborted.cut()?;
        match &self.log {
            Some(log) => log.set_len(self.position),
            None => Ok(()),
        }
    }

    /// Takes note of a batch that was written at the end: index entries at Kafka's cadence, then the end moves on.
    pub(super) fn written(&mut self, batch: &Incoming, settings: &TopicSettings) {
        if batch.max_timestamp > self.largest.timestamp {
            self.largest =
                LargestTimestamp { timestamp: batch.max_timestamp, offset: batch.last_offset };
        }
        if self.position == 0 {
            self.first_timestamp = Some(batch.max_timestamp);
        }
        let interval = u64::try_from(settings.index_interval_bytes).unwrap_or(0);
        if self.bytes_since_entry > interval {
            let position = u32::try_from(self.position).expect("a segment is shorter than 2^31");
            self.segment.index.push_offset(OffsetEntry { offset: batch.last_offset, position });
            self.push_time_entry();
            self.bytes_since_entry = 0;
        }
        self.dirty = true;
        self.bytes_since_entry += batch.size;
        self.position += batch.size;
    }

    /// The time entry that ends a segment: without it the largest timestamp would be lost.
    fn push_time_entry(&mut self) {
        let LargestTimestamp { timestamp, offset } = self.largest;
        if timestamp > self.last_time_entry {
            self.segment.index.push_time(TimeEntry { timestamp, offset });
            self.last_time_entry = timestamp;
        }
    }

    /// True if many index entries wait to be written.
    pub(super) fn has_many_unsaved_entries(&self) -> bool {
        self.segment.index.counts().offsets - self.saved.offsets >= UNSAVED_ENTRIES_MAX
    }

    /// Writes index entries that are not in the files yet. The files written to.
    pub(super) fn save_index(&mut self) -> io::Result<[Arc<dyn File>; 2]> {
        let counts = self.segment.index.counts();
        let index: &SegmentIndex = &self.segment.index;
        let offsets = self.open_index(FileKind::OffsetIndex, self.saved.offsets)?;
        let at = self.saved.offsets * offset_index::ENTRY_LEN;
        offsets.write_all_at(&index.encode_offsets_from(self.saved.offsets), at as u64)?;
        let times = self.open_index(FileKind::TimeIndex, self.saved.times)?;
        let at = self.saved.times * time_index::ENTRY_LEN;
        times.write_all_at(&index.encode_times_from(self.saved.times), at as u64)?;
        self.saved = counts;
        Ok([offsets, times])
    }

    /// Index entries that are not in the files yet.
    pub(super) fn unsaved_entries(&self) -> UnsavedEntries {
        let index: &SegmentIndex = &self.segment.index;
        UnsavedEntries {
            saved: self.saved,
            offsets: index.encode_offsets_from(self.saved.offsets),
            times: index.encode_times_from(self.saved.times),
        }
    }

    /// The files are those of a copy, which holds all index entries and no reserved room.
    pub(super) fn moved(&mut self) {
        self.log = None;
        self.aborted = AbortedWriter::default();
        self.reserved_to = self.position;
        self.reserve_step = RESERVE_BYTES_MIN;
        self.saved = self.segment.index.counts();
    }

    fn open_index(&self, kind: FileKind, saved: usize) -> io::Result<Arc<dyn File>> {
        if saved > 0 {
            return self.segment.files.open(kind);
        }
        self.segment.files.create(kind)
    }

    /// Writes the next entry of the transaction index, to be kept or cut off.
    pub(super) fn write_aborted(&mut self, entry: &AbortedEntry) -> io::Result<()> {
        self.aborted.write(&self.segment.files, entry)
    }

    /// The marker of that entry is in the log.
    pub(super) fn keep_aborted(&mut self, marker: Offset) {
        self.aborted.keep();
        self.segment.add_aborted(marker);
    }

    /// Closes the files until they are needed again, and gives reserved room back.
    pub(super) fn rest(&mut self) -> io::Result<()> {
        self.release_reserve()?;
        self.log = None;
        self.aborted = AbortedWriter::default();
        self.segment.files.close();
        Ok(())
    }

    /// Makes the files complete, as they stay once the segment is sealed or closed. The files to be synced.
    pub(super) fn finish(&mut self) -> io::Result<Vec<Arc<dyn File>>> {
        self.push_time_entry();
        self.release_reserve()?;
        let [offsets, times] = self.save_index()?;
        self.dirty = false;
        let mut files = vec![Arc::clone(self.log()?), offsets, times];
        files.extend(self.aborted.take_unsynced().map(|aborted| aborted.file));
        Ok(files)
    }

    /// The segment as it is once nothing is appended any more. Call [`ActiveSegment::finish`] first.
    pub(super) fn sealed(&self) -> Segment {
        let base = self.segment.base;
        let index = Arc::new(SegmentIndex::new(base, self.saved));
        let files = Arc::clone(&self.segment.files);
        let sealed = Segment::sealed(base, files, index, self.position, self.largest);
        sealed.inherit_aborted(&self.segment);
        sealed
    }
}

/// Age at which a segment is rolled.
fn segment_ms(settings: &TopicSettings) -> i64 {
    if settings.cleanup_policy.compact {
        settings.segment_ms.min(settings.max_compaction_lag_ms)
    } else {
        settings.segment_ms
    }
}

/// Spreads rolls by time, so that partitions created together do not roll together.
fn jitter(settings: &TopicSettings, random: u64) -> i64 {
    let range = settings.segment_jitter_ms.min(segment_ms(settings));
    if range <= 0 { 0 } else { (random % range.cast_unsigned()).cast_signed() }
}
