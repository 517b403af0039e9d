//! The segment that takes the place of others, while it is written: `.cleaned` files with indexes at Kafka's cadence, synced,
//! then renamed to `.swap`. Until a `.swap` is taken into the log, removing the files undoes it all.

use std::io;
use std::sync::Arc;

use super::CleanError;
use super::source::CleaningSource;
use crate::config::Durability;
use crate::env::File;
use crate::log::active::{ActiveSegment, ActiveState, Incoming};
use crate::log::batch_start::BatchStart;
use crate::log::format::aborted_index::AbortedEntry;
use crate::log::index::{EntryCounts, SegmentIndex};
use crate::log::segment::{FileKind, Segment, SegmentFiles, Suffix};
use crate::types::{Offset, Timestamp};

/// The output goes to the disk in such pieces. Producers whose syncs come behind them wait for one at most; a sync of all of it at the end
/// would hold them up for as long as it takes.
const WRITE_BACK_BYTES: u64 = 4 << 20;

/// Writes one segment, or more where it would get too large for one.
pub(super) struct Output<'s> {
    source: &'s CleaningSource,
    /// The last one is being written.
    segments: Vec<ActiveSegment>,
    /// Batches of it that are not in its file yet.
    waiting: Vec<u8>,
    write_bytes: usize,
    /// Bytes of the last segment that are through the disk's queue.
    written_back: u64,
    /// Files to be synced.
    unsynced: Vec<Arc<dyn File>>,
    /// The segment being written has a marker.
    has_marker: bool,
}

impl<'s> Output<'s> {
    /// A segment at `base`; batches are written in pieces of `write_bytes`.
    pub(super) fn begin(
        source: &'s CleaningSource,
        base: Offset,
        write_bytes: usize,
    ) -> Result<Self, CleanError> {
        let mut output = Self {
            source,
            segments: Vec::new(),
            waiting: Vec::new(),
            write_bytes,
            written_back: 0,
            unsynced: Vec::new(),
            has_marker: false,
        };
        match output.add_segment(base) {
            Ok(()) => Ok(output),
            Err(error) => Err(output.failed(error)),
        }
    }

    /// Adds a batch at the end. Blocks now and then.
    pub(super) fn append(&mut self, batch: &[u8]) -> Result<(), CleanError> {
        let start = BatchStart::parse(batch, 0).expect("the filter writes whole batches");
        let (incoming, base) = (to_incoming(&start), start.base_offset);
        self.append_parsed(batch, &incoming, base).map_err(|error| self.failed(error))?;
        self.has_marker |= start.header.is_some_and(|header| header.is_control());
        Ok(())
    }

    fn append_parsed(&mut self, batch: &[u8], incoming: &Incoming, base: Offset) -> io::Result<()> {
        if !self.fits(incoming) {
            self.finish_segment()?;
            self.add_segment(base)?;
        }
        self.waiting.extend_from_slice(batch);
        self.segments.last_mut().expect("one is begun").written(incoming, &self.source.settings);
        if self.waiting.len() >= self.write_bytes { self.write_waiting() } else { Ok(()) }
    }

    /// Adds an aborted transaction, whose marker was just appended, to the transaction index.
    pub(super) fn append_aborted(&mut self, entry: &AbortedEntry) -> Result<(), CleanError> {
        let segment = self.segments.last_mut().expect("one is begun");
        match segment.write_aborted(entry) {
            Ok(()) => {
                segment.keep_aborted(entry.last_offset);
                Ok(())
            }
            Err(error) => Err(self.failed(error)),
        }
    }

    /// Completes and syncs the files, gives them the age of `modified` and renames them to `.swap`, the last one first. Blocks.
    pub(super) fn finish(mut self, modified: Timestamp) -> Result<Vec<Arc<Segment>>, CleanError> {
        match self.complete(modified) {
            Ok(segments) => Ok(segments),
            Err(error) => Err(self.failed(error)),
        }
    }

    fn complete(&mut self, modified: Timestamp) -> io::Result<Vec<Arc<Segment>>> {
        self.finish_segment()?;
        for segment in &mut self.segments {
            if modified > Timestamp::NONE {
                segment.log()?.set_modified(modified)?;
            }
        }
        self.unsynced.iter().try_for_each(|file| file.sync())?;
        let files = &self.source.env.files;
        // The names of the `.cleaned` files must be there before those of any `.swap` can be.
        files.sync_dir(&self.source.directory)?;
        for segment in self.segments.iter_mut().rev() {
            segment.rest()?;
            segment.segment.files.rename(&FileKind::OF_A_SEGMENT, Suffix::Swap)?;
        }
        files.sync_dir(&self.source.directory)?;
        Ok(self.segments.iter().map(|segment| Arc::new(segment.sealed())).collect())
    }

    /// Removes everything written so far.
    pub(super) fn abandon(&self) {
        remove_all(self.segments.iter().map(|segment| segment.segment.as_ref()));
    }

    fn failed(&self, error: io::Error) -> CleanError {
        self.abandon();
        CleanError::of_write(error)
    }

    fn add_segment(&mut self, base: Offset) -> io::Result<()> {
        let env = &self.source.env;
        let directory = Arc::clone(&self.source.directory);
        let files = SegmentFiles::cleaned(Arc::clone(&env.files), directory, base);
        // What an earlier round could not remove.
        files.remove()?;
        let index = SegmentIndex::new(base, EntryCounts::default());
        let segment = Arc::new(Segment::new(base, Arc::new(files), Arc::new(index), 0));
        let state = ActiveState::empty(base, env.clock.wall());
        let mut active = ActiveSegment::new(segment, state, &self.source.settings, 0);
        active.log()?;
        self.segments.push(active);
        self.written_back = 0;
        self.has_marker = false;
        Ok(())
    }

    /// Positions and offsets of index entries have 31 bits.
    fn fits(&self, incoming: &Incoming) -> bool {
        let Some(segment) = self.segments.last() else { return false };
        let reach = incoming.last_offset.get() - segment.segment.base.get();
        let end = segment.position + incoming.size;
        segment.position == 0 || (end <= i32::MAX as u64 && reach <= i64::from(i32::MAX))
    }

    fn write_waiting(&mut self) -> io::Result<()> {
        let Some(segment) = self.segments.last_mut() else { return Ok(()) };
        let position = segment.position - self.waiting.len() as u64;
        segment.log()?.write_all_at(&self.waiting, position)?;
        self.waiting.clear();
        // Without syncs nobody waits behind it, and appends would pay for it.
        let has_syncs = self.source.settings.durability != Durability::Os;
        if has_syncs && segment.position >= self.written_back + WRITE_BACK_BYTES {
            let len = segment.position - self.written_back;
            segment.log()?.write_back(self.written_back, len)?;
            self.written_back = segment.position;
        }
        if segment.has_many_unsaved_entries() {
            segment.save_index()?;
        }
        Ok(())
    }

    fn finish_segment(&mut self) -> io::Result<()> {
        self.write_waiting()?;
        let Some(segment) = self.segments.last_mut() else { return Ok(()) };
        self.unsynced.extend(segment.finish()?);
        let segment = &segment.segment;
        if self.has_marker && !segment.has_aborted() {
            // Of an abort whose data is gone only the marker is left: the index says that it was not lost (see `lost`).
            self.unsynced.push(segment.files.open_or_create(FileKind::TransactionIndex)?);
            segment.set_has_aborted();
        }
        Ok(())
    }
}

/// Removes the files of segments that are in no log.
pub(super) fn remove_all<'s>(segments: impl Iterator<Item = &'s Segment>) {
    for segment in segments {
        if let Err(error) = segment.files.remove() {
            // The next start removes them.
            let path = segment.files.path(FileKind::Log);
            tracing::warn!(file = %path.display(), %error, "an abandoned segment could not be removed");
        }
    }
}

fn to_incoming(start: &BatchStart) -> Incoming {
    Incoming {
        size: start.size,
        last_offset: start.last_offset,
        max_timestamp: start.max_timestamp,
    }
}
