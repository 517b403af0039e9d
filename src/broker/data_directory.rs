//! One log directory as the broker runs it: its sync thread, its state, what its checkpoints said at the start.
//!
//! A failed write or sync takes the directory offline for the life of the process: nothing is appended to it any more, reads
//! answer KAFKA_STORAGE_ERROR, and it never gets the mark of a clean stop. If no directory is left the broker stops.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};

use super::agenda::{Agenda, Job};
use super::partition::Partition;
use super::registry::FailedDirectory;
use super::room::Room;
use super::sync::SyncQueues;
use crate::config::{Durability, TopicSettings};
use crate::env::{Env, Shutdown, is_no_room};
use crate::log::{LogStartCheckpoint, StartMode};
use crate::metadata::MetadataStore;
use crate::observe::{Health, Metrics};
use crate::storage::{
    Checkpoint, CleanShutdown, LastStop, LogDirectory, OffsetCheckpoint, OpenDirectoryError,
};
use crate::types::{DirectoryId, Offset, TopicPartition};

/// How long a slow append is remembered.
const STALL_MEMORY: Duration = Duration::from_millis(100);

/// A log that nobody has written to for as long, or up to twice as long, is put to rest: an idle partition holds no descriptor and
/// no memory for its newest bytes.
const REST_INTERVAL_MS: i64 = 10_000;

/// One log directory in use.
#[derive(Debug)]
pub struct DataDirectory {
    env: Env,
    path: PathBuf,
    id: DirectoryId,
    last_stop: LastStop,
    /// As found at the start; what was not opened in this life is written back unchanged.
    recovery_points: OffsetCheckpoint,
    log_starts: OffsetCheckpoint,
    log_start_checkpoint: LogStartCheckpoint,
    high_watermarks: OffsetCheckpoint,
    cleaned: OffsetCheckpoint,
    /// Copies that are about to become logs here: what the checkpoints say of them.
    incoming: Mutex<BTreeMap<TopicPartition, Incoming>>,
    /// Held from collecting the values of a checkpoint until they are written, so that older ones never come last.
    checkpointing: Mutex<()>,
    /// Taken out by the clean stop, which consumes it.
    files: Mutex<Option<LogDirectory>>,
    sync_queues: SyncQueues,
    agenda: Arc<Agenda>,
    offline: OnceLock<String>,
    failures: Arc<DirectoryFailures>,
    /// Something that a checkpoint holds has moved since the last one.
    changed: AtomicBool,
    /// Some of its logs were written to and have not been put to rest since; a look at them is planned.
    awake: AtomicBool,
    /// Monotonic milliseconds until which appends keep off the async threads.
    stalled_until_ms: AtomicU64,
    room: Room,
}

/// What the checkpoints of a directory say of a copy that is made in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Incoming {
    pub recovery_point: Offset,
    pub log_start: Offset,
    pub high_watermark: Offset,
    pub cleaned_to: Option<Offset>,
}

impl Incoming {
    /// Its value in a checkpoint; `None` where the file has no entry for it.
    pub fn value(&self, kind: Checkpoint) -> Option<Offset> {
        match kind {
            Checkpoint::RecoveryPoint => Some(self.recovery_point),
            Checkpoint::LogStart => Some(self.log_start).filter(|start| *start > Offset::ZERO),
            Checkpoint::HighWatermark => Some(self.high_watermark),
            Checkpoint::Cleaner => self.cleaned_to,
        }
    }
}

/// How many directories are left, and who is told.
#[derive(Debug)]
pub struct DirectoryFailures {
    online: AtomicUsize,
    metadata: Arc<MetadataStore>,
    shutdown: Shutdown,
    health: Arc<Health>,
    metrics: Arc<Metrics>,
}

impl DirectoryFailures {
    /// `directories` are online; when the last one fails, or the one with the metadata, `shutdown` is requested.
    pub fn new(
        directories: usize,
        metadata: Arc<MetadataStore>,
        shutdown: Shutdown,
        health: Arc<Health>,
        metrics: Arc<Metrics>,
    ) -> Arc<Self> {
        let online = AtomicUsize::new(directories);
        Arc::new(Self { online, metadata, shutdown, health, metrics })
    }

    /// A directory that was counted could not be taken in.
    pub fn start_failed(&self, failed: &FailedDirectory) {
        self.online.fetch_sub(1, Ordering::AcqRel);
        self.health.directory_failed(failed.path.clone(), failed.reason.clone());
    }

    fn one_failed(&self, directory: &DataDirectory, reason: &str) {
        let path = directory.path();
        self.health.directory_failed(path.to_owned(), reason.to_owned());
        self.metadata.directory_failed(directory.id);
        let left = self.online.fetch_sub(1, Ordering::AcqRel) - 1;
        if left == 0 {
            tracing::error!("no log directory is left online, the broker stops");
            self.shutdown.request();
        } else if self.metadata.directory() == path {
            tracing::error!("the log directory with the metadata is offline, the broker stops");
            self.shutdown.request();
        } else {
            tracing::error!(directory = %path.display(), left, "its partitions are offline until the next start finds it in order");
        }
    }
}

impl DataDirectory {
    /// Reads the checkpoints and starts the sync threads. Blocks.
    pub fn start(
        env: &Env,
        directory: LogDirectory,
        agenda: Arc<Agenda>,
        failures: Arc<DirectoryFailures>,
    ) -> Result<Arc<Self>, OpenDirectoryError> {
        let path = directory.path().to_owned();
        let sync_queues = SyncQueues::start(env, directory.directory_id(), &failures.metrics)
            .map_err(|source| OpenDirectoryError::Io { path: path.clone(), source })?;
        let read = |kind| read_checkpoint(&directory, kind);
        let [recovery_points, log_starts, high_watermarks, cleaned] = [
            read(Checkpoint::RecoveryPoint)?,
            read(Checkpoint::LogStart)?,
            read(Checkpoint::HighWatermark)?,
            read(Checkpoint::Cleaner)?,
        ];
        let all = [&recovery_points, &log_starts, &high_watermarks, &cleaned];
        let some_are_lost = all.iter().any(|checkpoint| checkpoint.is_none());
        let directory = Arc::new(Self {
            env: env.clone(),
            id: directory.directory_id(),
            last_stop: directory.last_stop(),
            recovery_points: recovery_points.unwrap_or_default(),
            log_start_checkpoint: match log_starts {
                Some(_) => LogStartCheckpoint::Read,
                None => LogStartCheckpoint::Lost,
            },
            log_starts: log_starts.unwrap_or_default(),
            high_watermarks: high_watermarks.unwrap_or_default(),
            cleaned: cleaned.unwrap_or_default(),
            incoming: Mutex::default(),
            checkpointing: Mutex::new(()),
            files: Mutex::new(Some(directory)),
            path,
            sync_queues,
            agenda,
            offline: OnceLock::new(),
            failures,
            changed: AtomicBool::new(false),
            awake: AtomicBool::new(false),
            stalled_until_ms: AtomicU64::new(0),
            room: Room::default(),
        });
        if some_are_lost {
            // They are written also where nothing happens.
            directory.mark_changed();
        }
        Ok(directory)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// `directory.id`.
    pub fn id(&self) -> DirectoryId {
        self.id
    }

    /// Clock, randomness, files.
    pub fn env(&self) -> &Env {
        &self.env
    }

    /// What the broker counts.
    pub fn metrics(&self) -> &Metrics {
        &self.failures.metrics
    }

    /// True once a write or sync failed.
    pub fn is_offline(&self) -> bool {
        self.offline.get().is_some()
    }

    /// True if the last owner did not stop cleanly, so that logs are recovered when they are opened.
    pub fn needs_recovery(&self) -> bool {
        self.last_stop == LastStop::Unclean
    }

    /// How the log of `partition` must be opened.
    pub fn start_mode(&self, partition: &TopicPartition) -> StartMode {
        if self.needs_recovery() {
            let recovery_point =
                self.recovery_points.get(partition).copied().unwrap_or(Offset::ZERO);
            StartMode::Unclean { recovery_point }
        } else {
            StartMode::Clean
        }
    }

    /// Was there one that says where logs start?
    pub fn log_start_checkpoint(&self) -> LogStartCheckpoint {
        self.log_start_checkpoint
    }

    /// What a checkpoint said at the start.
    pub fn checkpoint_at_start(&self, kind: Checkpoint) -> &OffsetCheckpoint {
        match kind {
            Checkpoint::RecoveryPoint => &self.recovery_points,
            Checkpoint::LogStart => &self.log_starts,
            Checkpoint::HighWatermark => &self.high_watermarks,
            Checkpoint::Cleaner => &self.cleaned,
        }
    }

    /// The queues of its sync threads.
    pub fn sync_queues(&self) -> &SyncQueues {
        &self.sync_queues
    }

    /// Takes it offline for good.
    pub fn fail(&self, reason: &str) {
        if self.offline.set(reason.to_owned()).is_ok() {
            tracing::error!(directory = %self.path.display(), reason, "log directory goes offline");
            self.failures.one_failed(self, reason);
        }
    }

    /// An append was refused because the disk is full or no further file may be opened.
    pub fn append_refused(&self, partition: &dyn Display, error: &io::Error) {
        self.failures.metrics.no_room.increment();
        if let Some(refused) = self.room.refused(self.env.clock.monotonic()) {
            tracing::error!(directory = %self.path.display(), %partition, %error, refused, "no room: producers are told to try again");
        }
    }

    /// An append was taken.
    pub fn appended(&self) {
        if self.room.appended() {
            tracing::info!(directory = %self.path.display(), "there is room again: producers are served");
        }
    }

    /// An append took long: for a while the next ones go by way of the blocking pool, so that they hold nobody else up.
    pub fn note_stall(&self, now: Duration) {
        self.stalled_until_ms
            .fetch_max(millis(now.saturating_add(STALL_MEMORY)), Ordering::Relaxed);
    }

    /// True shortly after an append took long.
    pub fn is_stalled(&self, now: Duration) -> bool {
        millis(now) < self.stalled_until_ms.load(Ordering::Relaxed)
    }

    /// Something that a checkpoint holds has moved: plans the next one.
    pub fn mark_changed(self: &Arc<Self>) {
        // The load first: appends come here millions of times between two checkpoints and must not write the line.
        if !self.changed.load(Ordering::Relaxed) && !self.changed.swap(true, Ordering::AcqRel) {
            self.agenda.plan_checkpoint(self);
        }
    }

    /// One of its logs was written to: plans a look at which of them are idle.
    pub fn mark_awake(self: &Arc<Self>) {
        // The load first, as in `mark_changed`.
        if !self.awake.load(Ordering::Relaxed) && !self.awake.swap(true, Ordering::AcqRel) {
            self.agenda.plan(REST_INTERVAL_MS, Job::Rest(Arc::downgrade(self)));
        }
    }

    /// Clears that mark before the look.
    pub fn begin_rest(&self) {
        self.awake.store(false, Ordering::Release);
    }

    /// Clears the mark before the values are collected; true if it was set.
    pub fn take_changed(&self) -> bool {
        self.changed.swap(false, Ordering::AcqRel)
    }

    /// Plans the sync that `flush.ms` or an interval asks for, counted from the first append that is not synced.
    pub fn schedule_sync(&self, partition: &Arc<Partition>, settings: &TopicSettings) {
        let interval_ms = match settings.durability {
            Durability::Interval { every, .. } => {
                i64::try_from(every.as_millis()).unwrap_or(i64::MAX)
            }
            Durability::Fsync | Durability::Os => i64::MAX,
        };
        let within_ms = settings.flush_ms.min(interval_ms);
        if within_ms < i64::MAX {
            self.agenda.plan(within_ms.max(0), Job::Sync(Arc::downgrade(partition)));
        }
    }

    /// Plans a job for at once.
    pub fn plan(&self, job: Job) {
        self.agenda.plan(0, job);
    }

    /// Plans a look of the cleaner.
    pub fn plan_cleaning(&self, partition: &Arc<Partition>) {
        self.agenda.plan(0, Job::ConsiderCleaning(Arc::downgrade(partition)));
    }

    /// The next checkpoints tell of a copy.
    pub fn expect_incoming(&self, partition: &TopicPartition, incoming: Incoming) {
        self.incoming.lock().insert(partition.clone(), incoming);
    }

    /// The copy is the log by now, or is none any more.
    pub fn forget_incoming(&self, partition: &TopicPartition) {
        self.incoming.lock().remove(partition);
    }

    /// What a checkpoint says of all copies.
    pub fn incoming(&self, kind: Checkpoint) -> Vec<(TopicPartition, Offset)> {
        let incoming = self.incoming.lock();
        let values = incoming.iter().map(|(name, copy)| Some((name.clone(), copy.value(kind)?)));
        values.flatten().collect()
    }

    /// Held while the values of a checkpoint are collected and written.
    pub fn lock_checkpoints(&self) -> MutexGuard<'_, ()> {
        self.checkpointing.lock()
    }

    /// Writes a checkpoint durably, unless the directory is offline or closed. Blocks.
    pub fn write_checkpoint(&self, kind: Checkpoint, offsets: &OffsetCheckpoint) -> io::Result<()> {
        let files = self.files.lock();
        let Some(directory) = files.as_ref() else { return Ok(()) };
        let written = directory.write_checkpoint(kind, offsets);
        if let Err(error) = &written {
            // No room is no damage: the old checkpoint is still valid and only makes recovery longer.
            if !is_no_room(error) {
                self.fail(&format!("writing {} failed: {error}", kind.file_name()));
            }
        }
        written
    }

    /// Makes creations, renames and removals in it durable. Blocks.
    pub fn sync_names(&self) -> io::Result<()> {
        self.env.files.sync_dir(&self.path)
    }

    /// Ends the sync thread and, if `mark` is given and nothing failed, marks the clean stop. Blocks.
    pub fn close(&self, mark: Option<CleanShutdown>) {
        self.sync_queues.close();
        let Some(directory) = self.files.lock().take() else { return };
        let Some(mark) = mark.filter(|_| !self.is_offline()) else { return };
        if let Err(error) = directory.close_cleanly(mark) {
            tracing::error!(directory = %self.path.display(), %error, "the clean stop could not be marked");
        }
    }
}

/// What a checkpoint says; `None` if it is lost. One that is damaged counts as lost, as in Kafka: logs are then recovered and
/// cleaned from their beginning, and logs that records were deleted from tell where they start.
fn read_checkpoint(
    directory: &LogDirectory,
    kind: Checkpoint,
) -> Result<Option<OffsetCheckpoint>, OpenDirectoryError> {
    if !directory.has_checkpoint(kind)? {
        return Ok(None);
    }
    match directory.read_checkpoint(kind) {
        Err(error @ OpenDirectoryError::Damaged { .. }) => {
            tracing::error!(%error, "a damaged checkpoint counts as lost");
            // Kafka does not start with one, and starts without.
            if let Err(error) = directory.remove_checkpoint(kind) {
                tracing::warn!(checkpoint = kind.file_name(), %error, "the damaged checkpoint stays");
            }
            Ok(None)
        }
        read => read.map(Some),
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

impl Drop for DataDirectory {
    /// Without a stop before it: the thread must not stay. It may be this very one, so nobody waits for it.
    fn drop(&mut self) {
        self.sync_queues.end();
    }
}
