//! Appending: preparation of a leader epoch, rolling, the write itself.
//!
//! Everything that can fail comes before the first change of the state, so after an error the log is as before.

use std::io;
use std::sync::Arc;

use super::active::{ActiveSegment, ActiveState, Incoming};
use super::batch::BatchHeader;
use super::check::CheckedBatch;
use super::format::{leader_epochs, partition_metadata};
use super::index::{EntryCounts, SegmentIndex};
use super::log::Log;
use super::marker::read_marker;
use super::producer_checks::Verdict;
use super::segment::{Segment, SegmentFiles, SegmentList};
use crate::env::{FileSystem, OpenMode, is_no_room};
use crate::types::{LeaderEpoch, Offset, Timestamp};

/// Name of the file that ties a partition's directory to its topic.
pub const PARTITION_METADATA: &str = "partition.metadata";
/// Name of the checkpoint of leader epochs.
pub(super) const LEADER_EPOCHS: &str = "leader-epoch-checkpoint";

/// What an append did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appended {
    /// Offset of the first record; of the original ones for a duplicate.
    pub base_offset: Offset,
    /// Exclusive end of the batch: what an acks=all reply waits for.
    pub end_offset: Offset,
    /// −1 for CreateTime topics; for a duplicate the largest time of the original, as Kafka has it.
    pub log_append_time: Timestamp,
    /// First offset of the log now.
    pub log_start: Offset,
    /// The batch was there already (idempotent producer); nothing was written.
    pub duplicate: bool,
}

/// Why a checked batch could not be appended. The log is as before.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// OUT_OF_ORDER_SEQUENCE_NUMBER.
    #[error("{0}")]
    OutOfOrderSequence(String),
    /// INVALID_PRODUCER_EPOCH.
    #[error("{0}")]
    InvalidProducerEpoch(String),
    /// INVALID_TXN_STATE.
    #[error("{0}")]
    InvalidTransactionState(String),
    /// TRANSACTION_COORDINATOR_FENCED.
    #[error("{0}")]
    CoordinatorFenced(String),
    /// KAFKA_STORAGE_ERROR; the disk is full, or no further file may be opened. Retried until there is room again.
    #[error("the log has no room to grow: {0}")]
    NoRoom(io::Error),
    /// KAFKA_STORAGE_ERROR, for good.
    #[error("writing the log failed: {0}")]
    Io(io::Error),
}

impl Log {
    /// True if an append in `epoch` needs no preparation: [`Log::prepare`] would write nothing.
    pub fn is_prepared(&self, epoch: LeaderEpoch) -> bool {
        self.has_metadata && !self.directory_is_new && !self.epochs.is_newer(epoch)
    }

    /// Writes and syncs what must be on disk before the first append of a log (its directory, `partition.metadata`) and of a leader
    /// epoch (`leader-epoch-checkpoint`). Blocks on the disk; [`Log::append`] does it itself when nobody has before.
    pub fn prepare(&mut self, epoch: LeaderEpoch) -> Result<(), AppendError> {
        if self.is_prepared(epoch) {
            return Ok(());
        }
        self.write_preparation(epoch).map_err(|error| self.failed(error))
    }

    fn write_preparation(&mut self, epoch: LeaderEpoch) -> io::Result<()> {
        let mut contents = Vec::new();
        if !self.has_metadata {
            contents.push((PARTITION_METADATA, partition_metadata::encode(self.topic_id)));
        }
        let mut epochs = Arc::clone(&self.epochs);
        if epochs.is_newer(epoch) {
            epochs = Arc::new(epochs.with(epoch, self.log_end));
            contents.push((LEADER_EPOCHS, leader_epochs::encode(epochs.entries())));
        }
        // First: epochs of what was written tell the next life that this was done.
        self.sync_new_directory()?;
        if !contents.is_empty() {
            self.write_together(&contents)?;
        }
        self.has_metadata = true;
        self.saved_epochs = Arc::clone(&epochs);
        self.epochs = epochs;
        self.publish();
        Ok(())
    }

    /// Makes the name of a new directory durable.
    pub(super) fn sync_new_directory(&mut self) -> io::Result<()> {
        if self.directory_is_new
            && let Some(parent) = self.directory.parent()
        {
            self.env.files.sync_dir(parent)?;
        }
        self.directory_is_new = false;
        Ok(())
    }

    /// Writes the epochs as they are now.
    pub(super) fn save_epochs(&mut self) -> io::Result<()> {
        self.write_together(&[(LEADER_EPOCHS, leader_epochs::encode(self.epochs.entries()))])?;
        self.saved_epochs = Arc::clone(&self.epochs);
        Ok(())
    }

    /// Replaces small files with one sync of their directory: temporary files, sync, rename, sync of the directory.
    pub(super) fn write_together(&self, contents: &[(&str, Vec<u8>)]) -> io::Result<()> {
        let files: &dyn FileSystem = self.env.files.as_ref();
        let temporary = |name: &str| self.directory.join(format!("{name}.tmp"));
        for (name, bytes) in contents {
            let file = files.open(&temporary(name), OpenMode::CreateOrTruncate)?;
            file.write_all_at(bytes, 0)?;
            file.sync()?;
        }
        for (name, _) in contents {
            files.rename(&temporary(name), &self.directory.join(name))?;
        }
        files.sync_dir(&self.directory)
    }

    /// Appends one batch: producer state, roll, offsets, write to the page cache, index entries, new view. Does not sync.
    pub fn append(
        &mut self,
        batch: &CheckedBatch<'_>,
        epoch: LeaderEpoch,
        now: Timestamp,
    ) -> Result<Appended, AppendError> {
        if let Some(failure) = &self.failure {
            return Err(AppendError::Io(failure.to_error()));
        }
        if batch.header.has_producer_id()
            && let Verdict::Duplicate(original) = self.producers.check(batch, self.log_end)?
        {
            return Ok(Appended {
                base_offset: original.base_offset(),
                end_offset: original.last_offset.plus(1),
                log_append_time: original.timestamp,
                log_start: self.log_start,
                duplicate: true,
            });
        }
        let header = self.final_header(batch, epoch);
        let incoming = Incoming {
            size: batch.bytes.len() as u64,
            last_offset: header.last_offset(),
            max_timestamp: header.max_timestamp,
        };
        self.prepare(epoch)?;
        self.roll_for(&incoming, now).map_err(|error| self.failed(error))?;
        self.index_aborted(batch, &header).map_err(|error| self.write_failed(error))?;
        self.write(batch, &header, now).map_err(|error| self.write_failed(error))?;
        self.written(batch, &header, &incoming);
        Ok(Appended {
            base_offset: header.base_offset,
            end_offset: header.last_offset().plus(1),
            log_append_time: batch.log_append_time.unwrap_or(Timestamp::NONE),
            log_start: self.log_start,
            duplicate: false,
        })
    }

    /// The header as it will be in the log, but for a renewed checksum.
    fn final_header(&self, batch: &CheckedBatch<'_>, epoch: LeaderEpoch) -> BatchHeader {
        BatchHeader {
            base_offset: self.log_end,
            partition_leader_epoch: epoch,
            max_timestamp: batch.log_append_time.unwrap_or(batch.header.max_timestamp),
            ..batch.header
        }
    }

    fn roll_for(&mut self, incoming: &Incoming, now: Timestamp) -> io::Result<()> {
        if self.active.must_roll(incoming, &self.settings, now)? {
            self.roll(now)?;
        }
        Ok(())
    }

    /// Seals the active segment and begins a new one at the log end.
    pub(super) fn roll(&mut self, now: Timestamp) -> io::Result<()> {
        let finished = self.active.finish()?;
        self.snapshot_producers()?;
        let files = Arc::clone(&self.env.files);
        let files = SegmentFiles::new(files, Arc::clone(&self.directory), self.log_end);
        let index = SegmentIndex::new(self.log_end, EntryCounts::default());
        let next = Arc::new(Segment::new(self.log_end, Arc::new(files), Arc::new(index), 0));
        let state = ActiveState::empty(self.log_end, now);
        let random = self.env.random.next_u64();
        let mut active = ActiveSegment::new(Arc::clone(&next), state, &self.settings, random);
        active.log()?;

        let mut sealed = self.segments.sealed.clone();
        sealed.push(Arc::new(self.active.sealed()));
        self.segments = Arc::new(SegmentList::new(sealed, next));
        self.active = active;
        self.tail.clear();
        self.unsynced.files.extend(finished);
        self.unsynced.directories.push(self.directory.to_path_buf());
        self.publish();
        Ok(())
    }

    /// The one copy of the batch, into the tail, is also what is written from: offset and epoch are set there.
    fn write(
        &mut self,
        batch: &CheckedBatch<'_>,
        header: &BatchHeader,
        now: Timestamp,
    ) -> io::Result<()> {
        if self.active.is_unborn() {
            self.unsynced.directories.push(self.directory.to_path_buf());
        }
        let position = self.active.position;
        let len = batch.bytes.len();
        let log = Arc::clone(self.active.log()?);
        self.active.reserve(len as u64, &self.settings);
        if let Some(room) = self.tail.room(len, position, header.base_offset, now) {
            batch.write_to(room, header.base_offset, header.partition_leader_epoch);
            return log.write_all_at(room, position);
        }
        let mut copy = vec![0; len];
        batch.write_to(&mut copy, header.base_offset, header.partition_leader_epoch);
        log.write_all_at(&copy, position)
    }

    /// The batch is in the file: everything from here on only counts it in.
    fn written(&mut self, batch: &CheckedBatch<'_>, header: &BatchHeader, incoming: &Incoming) {
        self.tail.publish(batch.bytes.len());
        self.active.written(incoming, &self.settings);
        self.unsynced.active = true;
        self.log_end = incoming.last_offset.plus(1);
        if header.has_producer_id() {
            let marker = read_marker(header, &batch.bytes);
            if let Some(ended) = self.producers.apply(header, marker) {
                self.unseen.push(ended.entry.first_offset, ended.entry.last_offset);
                if let Some(aborted) = ended.aborted() {
                    self.active.keep_aborted(aborted.last_offset);
                }
            }
        }
        if self.active.has_many_unsaved_entries() {
            // They are written again, with the rest, when the segment is sealed; a failure shows there.
            let _ = self.active.save_index();
        }
        self.publish();
    }

    /// Writes the entry that a marker calls for into the transaction index.
    fn index_aborted(&mut self, batch: &CheckedBatch<'_>, header: &BatchHeader) -> io::Result<()> {
        if !header.is_control() {
            return Ok(());
        }
        let marker = read_marker(header, &batch.bytes);
        let ended = marker.and_then(|marker| self.producers.ended_by(header, marker));
        match ended.and_then(|ended| ended.aborted()) {
            Some(aborted) => self.active.write_aborted(&aborted),
            None => Ok(()),
        }
    }

    fn write_failed(&mut self, error: io::Error) -> AppendError {
        match self.active.cut_failed_write() {
            Ok(()) => self.failed(error),
            Err(cut) => self.fail(cut),
        }
    }

    /// A full disk, or no descriptor for the next segment, is told to the producer, who tries again; anything else ends the log.
    fn failed(&mut self, error: io::Error) -> AppendError {
        if is_no_room(&error) { AppendError::NoRoom(error) } else { self.fail(error) }
    }
}
