//! Opening a partition's log on first use.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{ClosedPartition, Lookup};
use crate::broker::data_directory::DataDirectory;
use crate::broker::found_partitions::set_stray;
use crate::broker::partition::Partition;
use crate::broker::recovery_progress::LogRecovery;
use crate::env;
use crate::log::{Log, LogStartCheckpoint, OpenError, OpenLog, StartMode};
use crate::metadata::DirectoryAssignment;
use crate::storage::Checkpoint;
use crate::types::{DirectoryId, Offset, TopicPartition};

/// Why a partition cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OpenPartitionError {
    /// The topic was deleted meanwhile.
    #[error("the topic was deleted")]
    Removed,
    /// Its log directory, or every one for a new partition, is offline.
    #[error("the log directory is offline")]
    Offline,
    /// The metadata puts it into a log directory that this node does not have.
    #[error(
        "it belongs in the log directory with directory.id={0}, which is not among log.dirs or could not be used: bring it back, or delete the topic"
    )]
    NoSuchDirectory(DirectoryId),
    /// Its files cannot be used.
    #[error(transparent)]
    Log(#[from] OpenError),
    /// Its files could not be synced after recovery.
    #[error("syncing the recovered log in {} failed: {source}", .directory.display())]
    Sync {
        /// Where.
        directory: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl ClosedPartition {
    /// Opens the log, recovering it if its directory was not stopped cleanly. Blocks; a second caller waits for the first.
    pub fn open(&self) -> Result<Arc<Partition>, OpenPartitionError> {
        let mut state = self.slot.lock();
        if state.removed {
            return Err(OpenPartitionError::Removed);
        }
        if let Some(partition) = self.slot.partition() {
            return Ok(partition);
        }
        let opened = match state.directory.take() {
            Some(found) => self.open_found(found),
            None => self.open_new(),
        };
        // The place is kept when opening failed: the files are still there, and the next try may find them in order.
        let (place, result) = opened?;
        state.directory = Some(place);
        if let Err(error @ OpenPartitionError::Log(_)) = &result
            && !std::mem::replace(&mut state.told_of_failure, true)
        {
            tracing::error!(partition = %self.name(), %error, "the log cannot be opened: the partition is not served");
        }
        let partition = result?;
        self.slot.set_partition(Some(Arc::clone(&partition)));
        // Not earlier: the checkpoints that the cleaner writes are of the partitions that are found open.
        partition.consider_cleaning();
        Ok(partition)
    }

    /// Name and number.
    pub fn name(&self) -> TopicPartition {
        TopicPartition { topic: self.topic.name.clone(), partition: self.slot.index }
    }

    /// Where consumers of the log end, as the clean stop before this life wrote it down; `None` if the log must be recovered
    /// before that is known. Opens nothing.
    pub fn end_at_stop(&self) -> Option<Offset> {
        let Some(place) = self.registry.placement.found(&self.topic.name, self.slot.index) else {
            // Nobody has ever written to it.
            return self.is_in_reach().then_some(Offset::ZERO);
        };
        if place.needs_recovery() || place.is_offline() {
            return None;
        }
        place.checkpoint_at_start(Checkpoint::HighWatermark).get(&self.name()).copied()
    }

    /// The partition had a directory when the broker started.
    fn open_found(&self, place: Arc<DataDirectory>) -> Result<Opened, OpenPartitionError> {
        let name = self.name();
        let starts = place.checkpoint_at_start(Checkpoint::LogStart);
        let log_start = starts.get(&name).copied().unwrap_or(Offset::ZERO);
        let found = Found {
            start: place.start_mode(&name),
            log_start,
            log_start_checkpoint: place.log_start_checkpoint(),
            cleaned_to: place.checkpoint_at_start(Checkpoint::Cleaner).get(&name).copied(),
        };
        let result = self.open_in(&place, found);
        if let Err(OpenPartitionError::Log(OpenError::OtherTopic { .. })) = result {
            // Left by a topic of this name whose deletion was cut short.
            self.registry.placement.forget(&name);
            set_stray(place.env(), place.path(), &name);
            return self.open_new();
        }
        Ok((place, result))
    }

    fn open_new(&self) -> Result<Opened, OpenPartitionError> {
        let place = self.place_of_new()?;
        let new = Found {
            start: StartMode::Clean,
            log_start: Offset::ZERO,
            log_start_checkpoint: LogStartCheckpoint::Read,
            cleaned_to: None,
        };
        let result = self.open_in(&place, new);
        Ok((place, result))
    }

    /// Where the metadata puts the log; it is told where nobody has decided that yet.
    fn place_of_new(&self) -> Result<Arc<DataDirectory>, OpenPartitionError> {
        let image = self.registry.metadata.image();
        let topic = image.topic_by_id(self.topic.id).ok_or(OpenPartitionError::Removed)?;
        let state = topic.partition(self.slot.index).ok_or(OpenPartitionError::Removed)?;
        let assigned = state.directory_of(self.registry.settings.node_id);
        let place = self.registry.placement.of_new(assigned)?;
        if assigned.is_none() {
            self.registry.placement.moved(&self.name(), &place);
            let (topic, partition) = (self.topic.id, self.slot.index);
            let assignment = DirectoryAssignment { topic, partition, directory: place.id() };
            // Nothing is lost without it: the next start finds the log and tells then.
            if let Err(error) = self.registry.metadata.assign_directories(vec![assignment]) {
                tracing::warn!(partition = %self.name(), %error, "the metadata does not know the log directory");
            }
        }
        Ok(place)
    }

    fn open_in(
        &self,
        directory: &Arc<DataDirectory>,
        found: Found,
    ) -> Result<Arc<Partition>, OpenPartitionError> {
        if directory.is_offline() {
            return Err(OpenPartitionError::Offline);
        }
        let path = directory.path().join(self.name().to_string());
        let env = directory.env();
        let progress = LogRecovery::new(directory.metrics(), env.clock.as_ref(), &path);
        let args = OpenLog {
            env: env.clone(),
            directory: path.clone(),
            topic_id: self.topic.id,
            leader_epoch: Some(self.leader_epoch),
            settings: Arc::clone(&self.topic.policy().settings),
            tail_pool: Arc::clone(&self.registry.tail_pool),
            producer_id_expiration_ms: self.registry.in_force.get().producer_id_expiration_ms,
            start: found.start,
            log_start: found.log_start,
            log_start_checkpoint: found.log_start_checkpoint,
            cleaned_to: found.cleaned_to.unwrap_or(Offset::ZERO),
        };
        let mut log = Log::open_watched(args, &progress)?;
        self.look_for_lost_end(directory, log.view().log_end);
        // What recovery kept may be in the page cache alone, and consumers are about to see it.
        sync_whole(directory, &mut log, &path)?;
        let topic = Arc::clone(&self.topic);
        let directory = Arc::clone(directory);
        let (slot, epoch) = (Arc::clone(&self.slot), self.leader_epoch);
        Ok(Partition::new(topic, slot, directory, epoch, log, found.cleaned_to))
    }

    /// Everything below the recovery point was on disk when that was written: it does not get lost in a crash.
    fn look_for_lost_end(&self, directory: &DataDirectory, end: Offset) {
        let points = directory.checkpoint_at_start(Checkpoint::RecoveryPoint);
        if let Some(synced) = points.get(&self.name()).filter(|synced| **synced > end) {
            tracing::error!(partition = %self.name(), %end, %synced, "records are lost: the log ends before what was synced");
        }
    }
}

impl Lookup {
    /// The partition, opened if it was closed. Blocks. What fails is told by whoever opens it next.
    fn opened(&self) -> Option<Arc<Partition>> {
        match self {
            Self::Open(partition) => Some(Arc::clone(partition)),
            Self::Closed(closed) => closed.open().ok(),
            Self::Unknown => None,
        }
    }
}

/// Logs of one request that are opened at the same time. Opening and preparing wait for syncs of small files, most of all where
/// nobody has written before, and a disk does the syncs that come together as one.
const OPENING_TOGETHER: usize = 8;

/// Opens logs side by side and has `then` done with each that could be opened.
pub async fn open_together(lookups: Vec<Lookup>, then: fn(&Partition)) {
    let share = lookups.len().div_ceil(OPENING_TOGETHER).max(1);
    let open = |some: &[Lookup]| {
        let some = some.to_vec();
        env::spawn_blocking(move || {
            for opened in some.iter().filter_map(Lookup::opened) {
                then(&opened);
            }
        })
    };
    let tasks: Vec<_> = lookups.chunks(share).map(open).collect();
    for task in tasks {
        if let Err(failed) = task.await {
            // Blocking work is never cancelled.
            std::panic::resume_unwind(failed.into_panic());
        }
    }
}

/// What is known of a log before it is opened.
struct Found {
    start: StartMode,
    log_start: Offset,
    log_start_checkpoint: LogStartCheckpoint,
    cleaned_to: Option<Offset>,
}

/// Where a partition lies, and the partition if its files are in order.
type Opened = (Arc<DataDirectory>, Result<Arc<Partition>, OpenPartitionError>);

fn sync_whole(
    directory: &DataDirectory,
    log: &mut Log,
    path: &Path,
) -> Result<(), OpenPartitionError> {
    let Some(work) = log.take_sync_work() else { return Ok(()) };
    let files = directory.env().files.as_ref();
    let synced = work
        .files
        .iter()
        .try_for_each(|file| file.sync())
        .and_then(|()| work.directories.iter().try_for_each(|path| files.sync_dir(path)));
    if let Err(source) = synced {
        directory.fail(&format!("syncing {} failed: {source}", path.display()));
        return Err(OpenPartitionError::Sync { directory: path.to_owned(), source });
    }
    log.synced(&work);
    Ok(())
}
