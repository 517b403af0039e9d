//! One partition's log as its appender holds it.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use super::check::CheckedBatch;
use super::tail_pool::TailPool;
use super::view::LogView;
use crate::config::TopicSettings;
use crate::env::Env;
use crate::types::{LeaderEpoch, Offset, Timestamp, TopicId};

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

/// What opening a log needs.
#[derive(Clone, Debug)]
pub struct OpenLog {
    /// Clock, random numbers, files.
    pub env: Env,
    /// Directory of the partition; created if missing.
    pub directory: PathBuf,
    /// Goes into `partition.metadata`.
    pub topic_id: TopicId,
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
}

/// What an append did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appended {
    /// Offset of the first record; of the original ones for a duplicate.
    pub base_offset: Offset,
    /// Exclusive end of the batch: what an acks=all reply waits for.
    pub end_offset: Offset,
    /// −1 for CreateTime topics.
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
    /// KAFKA_STORAGE_ERROR; retried once space is there again.
    #[error("the disk is full")]
    DiskFull,
    /// KAFKA_STORAGE_ERROR, for good.
    #[error("writing the log failed: {0}")]
    Io(io::Error),
}

/// Files written since the last sync, and the end of the log at that moment.
#[derive(Debug)]
pub struct SyncWork {
    /// To be synced, in order; each is a file or (for new names) nothing but its directory.
    pub files: Vec<Arc<dyn crate::env::File>>,
    /// Directories with new names.
    pub directories: Vec<PathBuf>,
    /// Everything below it is durable once all of the above is synced.
    pub end: Offset,
}

/// One partition's log; the appender owns it.
#[derive(Debug)]
pub struct Log {
    view: Arc<LogView>,
}

impl Log {
    /// Opens the log in a directory, recovering it as `args.start` says. Blocks. A new log gets its directory here, its
    /// first file at the first append.
    pub fn open(_args: OpenLog) -> Result<Self, OpenError> {
        unimplemented!("engine")
    }

    /// True if an append in `epoch` needs no preparation: [`Log::prepare`] would write nothing.
    pub fn is_prepared(&self, _epoch: LeaderEpoch) -> bool {
        unimplemented!("engine")
    }

    /// Writes and syncs what must be on disk before the first append of a log (`partition.metadata`) and of a leader epoch
    /// (`leader-epoch-checkpoint`). Blocks on the disk; [`Log::append`] does it itself when nobody has before.
    pub fn prepare(&mut self, _epoch: LeaderEpoch) -> Result<(), AppendError> {
        unimplemented!("engine")
    }

    /// Appends one batch: producer state, roll, offsets, write to the page cache, index entries, new view. Does not sync.
    pub fn append(
        &mut self,
        _batch: &CheckedBatch<'_>,
        _epoch: LeaderEpoch,
        _now: Timestamp,
    ) -> Result<Appended, AppendError> {
        unimplemented!("engine")
    }

    /// The newest view.
    pub fn view(&self) -> &Arc<LogView> {
        &self.view
    }

    /// Takes what must be synced to make everything up to the log end durable; `None` if all is.
    pub fn take_sync_work(&mut self) -> Option<SyncWork> {
        unimplemented!("engine")
    }

    /// Remembers that everything below `end` is durable (the recovery point).
    pub fn synced(&mut self, _end: Offset) {
        unimplemented!("engine")
    }

    /// First offset not known to be durable.
    pub fn recovery_point(&self) -> Offset {
        unimplemented!("engine")
    }

    /// Puts other settings in force.
    pub fn set_settings(&mut self, _settings: Arc<TopicSettings>) {
        unimplemented!("engine")
    }

    /// DeleteRecords: raises the log start (no further than the log end). True if it moved.
    pub fn raise_log_start(&mut self, _to: Offset) -> bool {
        unimplemented!("engine")
    }

    /// Deletes what retention allows (plan and execution; files are renamed to `.deleted`); the number of segments. Blocks.
    pub fn apply_retention(
        &mut self,
        _now: Timestamp,
        _high_watermark: Offset,
    ) -> io::Result<usize> {
        unimplemented!("engine")
    }

    /// Removes files renamed to `.deleted` at least `file.delete.delay.ms` ago; the time of the next one that waits. Blocks.
    pub fn remove_deleted(&mut self, _now: Timestamp) -> io::Result<Option<Timestamp>> {
        unimplemented!("engine")
    }

    /// Gives the memory of the tail back, for a log that nobody writes to; reads then come from files.
    pub fn shed_tail(&mut self) {
        unimplemented!("engine")
    }

    /// Forgets idle producers.
    pub fn expire_producers(&mut self, _now: Timestamp) {
        unimplemented!("engine")
    }

    /// Closing index entry, producer snapshot at the end, everything synced. Blocks.
    pub fn close(&mut self) -> io::Result<()> {
        unimplemented!("engine")
    }
}
