//! Opening a log: what the directory holds, what must be recovered, and the state that comes out of it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::active::{ActiveSegment, ActiveState};
use super::append::LEADER_EPOCHS;
use super::epochs::Epochs;
use super::format::leader_epochs;
use super::index::{EntryCounts, SegmentIndex};
use super::log::{Log, Unsynced};
use super::partition_directory::PartitionDirectory;
use super::progress::{RecoveryProgress, Unwatched};
use super::recovery::{Loaded, Recovery};
use super::segment::{Segment, SegmentFiles, SegmentList};
use super::sweep;
use super::tail::TailWriter;
use super::tail_pool::TailPool;
use super::unseen::Unseen;
use super::view::LogView;
use crate::config::TopicSettings;
use crate::env::{Env, FileSystem};
use crate::types::{LeaderEpoch, Offset, TopicId};

/// How the last life of the log ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartMode {
    /// Stopped cleanly: nothing is scanned.
    Clean,
    /// Not stopped cleanly: everything from the recovery point on is scanned.
    Unclean {
        /// First offset not known to be synced.
        recovery_point: Offset,
    },
}

/// What is known of where a log starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogStartCheckpoint {
    /// The checkpoint was read; a log that it does not name starts with its first segment.
    Read,
    /// There is no such file, although the directory is not new.
    Lost,
}

/// What opening a log needs.
#[derive(Clone, Debug)]
pub struct OpenLog {
    /// Clock, random numbers, files.
    pub env: Env,
    /// Directory of the partition; created if missing.
    pub directory: PathBuf,
    /// Goes into `partition.metadata`.
    pub topic_id: TopicId,
    /// Of the leader, as far as it is known: a new log has it on disk before its first append asks for it.
    pub leader_epoch: Option<LeaderEpoch>,
    /// The settings in force.
    pub settings: Arc<TopicSettings>,
    /// Memory for the newest bytes; one pool for all logs of a broker.
    pub tail_pool: Arc<TailPool>,
    /// Producers idle for longer are forgotten.
    pub producer_id_expiration_ms: i64,
    /// How the last life ended.
    pub start: StartMode,
    /// From the log-start checkpoint.
    pub log_start: Offset,
    /// Whether that was there.
    pub log_start_checkpoint: LogStartCheckpoint,
    /// From the cleaner's checkpoint: below it there are gaps on purpose, whatever the policy is by now.
    pub cleaned_to: Offset,
}

/// Why a log could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The disk failed.
    #[error("opening the log in {} failed: {source}", .directory.display())]
    Io {
        /// Where.
        directory: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file that must be valid is not.
    #[error("{} is damaged: {reason}", .file.display())]
    Damaged {
        /// Which.
        file: PathBuf,
        /// In words.
        reason: String,
    },
    /// The directory was left by another topic, one of the same name that was deleted.
    #[error("{} belongs to topic {found}", .directory.display())]
    OtherTopic {
        /// Where.
        directory: PathBuf,
        /// The id in its `partition.metadata`.
        found: TopicId,
    },
}

impl Log {
    /// Opens the log in a directory, recovering it as `args.start` says. Blocks. A new log gets its directory here, its
    /// first file at the first append.
    pub fn open(args: OpenLog) -> Result<Self, OpenError> {
        Self::open_watched(args, &Unwatched)
    }

    /// As [`Log::open`]; `progress` hears how far a recovery is.
    pub fn open_watched(args: OpenLog, progress: &dyn RecoveryProgress) -> Result<Self, OpenError> {
        let directory: Arc<Path> = args.directory.clone().into();
        let failed = |source| OpenError::Io { directory: args.directory.clone(), source };
        let files = args.env.files.as_ref();
        let found = PartitionDirectory::find_or_make(&args)?;
        let names = sweep::finish_replacements(files, &directory, found.names).map_err(failed)?;
        let saved_epochs = Arc::new(read_epochs(files, &directory)?);

        let listed = (Arc::clone(&directory), names);
        let mut recovery = Recovery::new(&args, listed, &saved_epochs, progress);
        let loaded = recovery.run().map_err(failed)?;
        let log_end = loaded.log_end;
        let unsynced = recovery.take_unsynced();
        // The epoch that a new log was made with begins where nothing is yet.
        let cut = |epochs: &Epochs| match found.is_new {
            true => epochs.clone(),
            false => epochs.cut(loaded.log_start, log_end),
        };
        let epochs = Arc::new(cut(&recovery.into_epochs()));
        let recovery_point = match args.start {
            StartMode::Clean => log_end,
            StartMode::Unclean { recovery_point } => recovery_point.min(log_end),
        };
        let rewrite_epochs = epochs != saved_epochs && recovery_point < log_end;
        // What only lies outside the log need not be taken out of the file.
        let saved_epochs = Arc::new(cut(&saved_epochs));
        let mut log = Self::from_loaded(args, directory, loaded, epochs, unsynced);
        log.has_metadata = found.has_metadata;
        // One that an earlier life made and never wrote to is no older for the disk.
        log.directory_is_new = found.is_new || saved_epochs.entries().is_empty();
        log.recovery_point = recovery_point;
        if log.unsynced.is_empty() {
            log.settled = log.active_base();
        }
        log.saved_epochs = saved_epochs;
        let directory = log.directory.to_path_buf();
        log.mend_metadata().map_err(|source| OpenError::Io { directory, source })?;
        if rewrite_epochs {
            // Found above the recovery point, which moves on: the next recovery may not look at those batches again.
            let directory = log.directory.to_path_buf();
            log.save_epochs().map_err(|source| OpenError::Io { directory, source })?;
        }
        log.publish();
        Ok(log)
    }

    fn from_loaded(
        args: OpenLog,
        directory: Arc<Path>,
        loaded: Loaded,
        epochs: Arc<Epochs>,
        unsynced: Unsynced,
    ) -> Self {
        let active = Arc::clone(&loaded.active.segment);
        let segments = Arc::new(SegmentList::new(loaded.sealed, active));
        let tail = TailWriter::new(args.tail_pool);
        Self {
            view: Arc::new(LogView {
                log_start: loaded.log_start,
                log_end: loaded.log_end,
                first_open: None,
                segments: Arc::clone(&segments),
                active_end: loaded.active.position,
                active_largest: loaded.active.largest,
                tail: Arc::clone(tail.tail()),
                may_have_gaps: args.settings.cleanup_policy.compact,
                epochs: Arc::clone(&epochs),
            }),
            env: args.env,
            directory,
            topic_id: args.topic_id,
            settings: args.settings,
            segments,
            active: loaded.active,
            tail,
            log_start: loaded.log_start,
            log_end: loaded.log_end,
            saved_epochs: Arc::clone(&epochs),
            epochs,
            producers: loaded.producers,
            unseen: Unseen::default(),
            recovery_point: loaded.log_end,
            settled: Offset::ZERO,
            unsynced,
            has_metadata: false,
            directory_is_new: false,
            snapshot_at: loaded.snapshot_at,
            waiting: Vec::new(),
            failure: None,
        }
    }
}

/// An active segment at `base` without files.
pub(super) fn unborn_segment(args: &OpenLog, directory: &Arc<Path>, base: Offset) -> ActiveSegment {
    let files = SegmentFiles::new(Arc::clone(&args.env.files), Arc::clone(directory), base);
    let index = SegmentIndex::new(base, EntryCounts::default());
    let segment = Arc::new(Segment::new(base, Arc::new(files), Arc::new(index), 0));
    let state = ActiveState::empty(base, args.env.clock.wall());
    ActiveSegment::new(segment, state, &args.settings, args.env.random.next_u64())
}

fn read_epochs(files: &dyn FileSystem, directory: &Path) -> Result<Epochs, OpenError> {
    let file = directory.join(LEADER_EPOCHS);
    let io = |source| OpenError::Io { directory: directory.to_owned(), source };
    let Some(bytes) = files.read(&file).map_err(io)? else { return Ok(Epochs::default()) };
    leader_epochs::decode(&bytes).map(Epochs::new).or_else(|damage| {
        tracing::warn!(file = %file.display(), %damage, "a damaged checkpoint of leader epochs counts as lost");
        // Kafka takes the whole log directory offline for one, and starts without.
        if let Err(error) = files.remove_file(&file) {
            tracing::warn!(file = %file.display(), %error, "the damaged checkpoint stays");
        }
        Ok(Epochs::default())
    })
}
