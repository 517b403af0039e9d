//! One partition's log as its appender holds it.
//!
//! A [`Log`] has one owner at a time, who holds it under the partition's lock; readers hold a [`LogView`]. What a method does
//! lies in the file named after it: opening in `open`, appending and rolling in `append`, deleting in `retention`.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::active::ActiveSegment;
use super::append::AppendError;
use super::epochs::Epochs;
use super::joins::JoinGuard;
use super::lost::{have_seen_markers, put_empty_index};
use super::producers::Producers;
use super::retention::WaitingFiles;
use super::segment::{FileKind, SegmentFiles, SegmentList};
use super::snapshots;
use super::tail::TailWriter;
use super::unseen::Unseen;
use super::view::LogView;
use crate::config::{Durability, TopicSettings};
use crate::env::{Env, File, FileSystem};
use crate::types::{
    Offset, ProducerEpoch, ProducerId, ProducerIdAndEpoch, Timestamp, TopicId, TransactionVersion,
};

/// One partition's log; the appender owns it.
#[derive(Debug)]
pub struct Log {
    pub(super) env: Env,
    pub(super) directory: Arc<Path>,
    pub(super) topic_id: TopicId,
    pub(super) settings: Arc<TopicSettings>,
    pub(super) segments: Arc<SegmentList>,
    pub(super) active: ActiveSegment,
    pub(super) tail: TailWriter,
    pub(super) log_start: Offset,
    pub(super) log_end: Offset,
    pub(super) epochs: Arc<Epochs>,
    /// As in `leader-epoch-checkpoint`.
    pub(super) saved_epochs: Arc<Epochs>,
    pub(super) producers: Producers,
    pub(super) unseen: Unseen,
    pub(super) recovery_point: Offset,
    /// Segments that end at or below it are sealed, and all that sealing wrote is on disk: the producer state behind them too.
    pub(super) settled: Offset,
    pub(super) unsynced: Unsynced,
    /// `partition.metadata` is on disk.
    pub(super) has_metadata: bool,
    /// The directory was created and its name may not be on disk yet.
    pub(super) directory_is_new: bool,
    /// A producer snapshot at this offset is on disk.
    pub(super) snapshot_at: Option<Offset>,
    /// Files that end with `.deleted` and wait for their removal.
    pub(super) waiting: Vec<WaitingFiles>,
    /// Set when a write failed for good; nothing is appended any more.
    pub(super) failure: Option<Failure>,
    pub(super) view: Arc<LogView>,
}

/// What was written since the last sync.
#[derive(Debug, Default)]
pub(super) struct Unsynced {
    /// The active `.log`.
    pub(super) active: bool,
    /// Everything else.
    pub(super) files: Vec<Arc<dyn File>>,
    /// Directories with new names.
    pub(super) directories: Vec<PathBuf>,
}

impl Unsynced {
    pub(super) fn is_empty(&self) -> bool {
        !self.active && self.files.is_empty() && self.directories.is_empty()
    }
}

/// Why nothing is appended any more.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    kind: io::ErrorKind,
    text: String,
}

impl Failure {
    pub(super) fn of(error: &io::Error) -> Self {
        Self { kind: error.kind(), text: error.to_string() }
    }

    pub(super) fn to_error(&self) -> io::Error {
        io::Error::new(self.kind, self.text.clone())
    }
}

/// Files written since the last sync, and the end of the log at that moment.
#[derive(Debug)]
pub struct SyncWork {
    /// To be synced, in order; each is a file or (for new names) nothing but its directory.
    pub files: Vec<Arc<dyn File>>,
    /// Directories with new names, to be synced after the files.
    pub directories: Vec<PathBuf>,
    /// Everything below it is durable once all of the above is synced.
    pub end: Offset,
    /// Segments below it are sealed, and what sealed them is among all that.
    pub sealed_to: Offset,
}

/// What DescribeProducers tells of a producer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "fields are named as in Kafka's DescribeProducers")]
pub struct ActiveProducer {
    pub id: ProducerId,
    pub epoch: ProducerEpoch,
    /// −1 if only a marker of this epoch was seen.
    pub last_sequence: i32,
    pub last_timestamp: Timestamp,
    /// −1 before the first marker.
    pub coordinator_epoch: i32,
    pub transaction_start: Option<Offset>,
}

impl Log {
    /// The newest view.
    pub fn view(&self) -> &Arc<LogView> {
        &self.view
    }

    /// Base of the segment that is appended to; it changes when a segment is sealed.
    pub fn active_base(&self) -> Offset {
        self.segments.active.base
    }

    /// Takes what must be synced to make everything up to the log end durable; `None` if nothing was written since the
    /// last call. Does not block.
    pub fn take_sync_work(&mut self) -> Option<SyncWork> {
        let Unsynced { active, mut files, mut directories } = std::mem::take(&mut self.unsynced);
        if let Some(aborted) = self.active.aborted.take_unsynced() {
            files.push(aborted.file);
            directories.extend(aborted.is_new.then(|| self.directory.to_path_buf()));
        }
        if active && let Ok(log) = self.active.log() {
            files.push(Arc::clone(log));
        }
        if files.is_empty() && directories.is_empty() {
            return None;
        }
        Some(SyncWork { files, directories, end: self.log_end, sealed_to: self.active_base() })
    }

    /// Remembers that all of `work` is durable, and with it everything below its end (the recovery point).
    pub fn synced(&mut self, work: &SyncWork) {
        self.recovery_point = self.recovery_point.max(work.end.min(self.log_end));
        self.settled = self.settled.max(work.sealed_to);
    }

    /// First offset not known to be durable.
    pub fn recovery_point(&self) -> Offset {
        self.recovery_point
    }

    /// Puts other settings in force.
    pub fn set_settings(&mut self, settings: Arc<TopicSettings>) {
        self.settings = settings;
    }

    /// DeleteRecords: raises the log start (no further than the log end). True if it moved. The segments below go at the next
    /// [`Log::apply_retention`].
    pub fn raise_log_start(&mut self, to: Offset) -> bool {
        let to = to.min(self.log_end);
        if to <= self.log_start {
            return false;
        }
        self.log_start = to;
        self.epochs = Arc::new(self.epochs.cut(to, Offset::new(i64::MAX)));
        self.publish();
        true
    }

    /// A producer wants to write here in a transaction, beginning with this sequence number: what its first batch must show
    /// once the coordinator has agreed; `None` if its transaction is open here (Kafka's `maybeStartTransactionVerification`).
    pub fn begin_join(
        &mut self,
        producer: ProducerIdAndEpoch,
        sequence: i32,
        version: TransactionVersion,
        now: Timestamp,
    ) -> Option<JoinGuard> {
        self.producers.begin_join(producer, sequence, version, now)
    }

    /// The coordinator does not let the producer in that was given this guard.
    pub fn give_up_join(&mut self, producer: ProducerId, guard: JoinGuard) {
        self.producers.give_up_join(producer, guard);
    }

    /// First offset that read_committed consumers do not see while they see everything up to `high_watermark`: of the oldest
    /// transaction that is open or whose marker is not visible yet. It never goes back, and is never below the log start, even
    /// if the transaction began there. `None` if there is no such transaction.
    pub fn first_unstable(&mut self, high_watermark: Offset) -> Option<Offset> {
        let unseen = self.unseen.first(high_watermark);
        let first = self.producers.first_unstable().into_iter().chain(unseen).min();
        first.map(|first| first.max(self.log_start))
    }

    /// When the producer of the oldest open transaction has last written; `None` without one.
    pub fn oldest_open_written(&self) -> Option<Timestamp> {
        self.producers.oldest_open_written()
    }

    /// Forgets producers that have been idle for `idle_ms`.
    pub fn expire_producers(&mut self, now: Timestamp, idle_ms: i64) {
        self.producers.expire(now, idle_ms);
    }

    /// The disk that it lies on.
    pub fn file_system(&self) -> Arc<dyn FileSystem> {
        Arc::clone(&self.env.files)
    }

    /// All producers that are remembered, in the order of their ids.
    pub fn active_producers(&self) -> Vec<ActiveProducer> {
        let producers = self.producers.sorted().into_iter();
        producers
            .map(|(id, producer)| ActiveProducer {
                id,
                epoch: producer.epoch,
                last_sequence: producer.recent.last().map_or(-1, |batch| batch.last_sequence),
                last_timestamp: producer.last_timestamp,
                coordinator_epoch: producer.coordinator_epoch,
                transaction_start: producer.transaction_start,
            })
            .collect()
    }

    /// For a log that nobody writes to: gives the memory of the tail back and, once everything is durable, closes its files.
    /// Reads then come from files, which are opened again. True if nothing is held any more. Costs a few system calls.
    pub fn rest(&mut self) -> bool {
        self.tail.give_back();
        for segment in &self.segments.sealed {
            segment.files.close();
        }
        // Before that a sync must see the descriptor that was written through; nobody waits for one where the system is left to
        // write when it likes.
        let is_settled =
            self.recovery_point == self.log_end || self.settings.durability == Durability::Os;
        if is_settled && let Err(error) = self.active.rest() {
            tracing::warn!(directory = %self.directory.display(), %error, "reserved room is kept");
        }
        self.publish();
        is_settled
    }

    /// Closing index entry, producer snapshot at the end, everything synced. Blocks. Reads go on, and so may appends.
    pub fn close(&mut self) -> io::Result<()> {
        if let Some(failure) = &self.failure {
            return Err(failure.to_error());
        }
        if self.active.is_dirty() {
            self.finish_aborted()?;
            let finished = self.active.finish()?;
            self.unsynced.files.extend(finished);
            self.unsynced.directories.push(self.directory.to_path_buf());
        }
        self.snapshot_producers()?;
        if self.epochs != self.saved_epochs {
            self.save_epochs()?;
        }
        if let Some(work) = self.take_sync_work() {
            for file in &work.files {
                file.sync()?;
            }
            for directory in &work.directories {
                self.env.files.sync_dir(directory)?;
            }
        }
        self.recovery_point = self.log_end;
        self.settled = self.active_base();
        Ok(())
    }

    /// In a log with transactions a closed segment has its transaction index, so that a lost one shows (see `lost`).
    fn finish_aborted(&mut self) -> io::Result<()> {
        let segment = &self.active.segment;
        if segment.has_aborted() || !have_seen_markers(&self.producers) {
            return Ok(());
        }
        put_empty_index(segment, &self.directory, &mut self.unsynced)
    }

    /// Writes the producer state at the end of the log beside it, unless it is there or the log is empty.
    pub(super) fn snapshot_producers(&mut self) -> io::Result<()> {
        let at = self.log_end;
        if self.snapshot_at == Some(at) || at == Offset::ZERO {
            return Ok(());
        }
        let files = SegmentFiles::new(Arc::clone(&self.env.files), Arc::clone(&self.directory), at);
        let file = files.create(FileKind::Snapshot)?;
        file.write_all_at(&snapshots::encode(&self.producers), 0)?;
        self.unsynced.files.push(file);
        self.unsynced.directories.push(self.directory.to_path_buf());
        self.snapshot_at = Some(at);
        Ok(())
    }

    /// Shows readers the state as it is now. One allocation; everything else in a view is shared.
    pub(super) fn publish(&mut self) {
        self.view = Arc::new(LogView {
            log_start: self.log_start,
            log_end: self.log_end,
            first_open: self.producers.first_unstable().map(|first| first.max(self.log_start)),
            segments: Arc::clone(&self.segments),
            active_end: self.active.position,
            active_largest: self.active.largest,
            tail: Arc::clone(self.tail.tail()),
            may_have_gaps: self.settings.cleanup_policy.compact,
            epochs: Arc::clone(&self.epochs),
        });
    }

    /// Is the file that is appended to still there, as long as it was written? Somebody may have removed or cut it. Costs a system
    /// call.
    pub fn is_there(&self) -> io::Result<bool> {
        if self.active.is_unborn() {
            return Ok(true);
        }
        let stat = self.env.files.stat(&self.segments.active.files.path(FileKind::Log))?;
        Ok(stat.is_some_and(|stat| stat.len_bytes >= self.active.position))
    }

    /// Nothing is appended any more: its files cannot be used.
    pub fn end(&mut self, error: &io::Error) {
        self.failure.get_or_insert(Failure::of(error));
    }

    /// Nothing is appended any more: the disk lies about what it holds.
    pub(super) fn fail(&mut self, error: io::Error) -> AppendError {
        self.failure.get_or_insert(Failure::of(&error));
        AppendError::Io(error)
    }
}
