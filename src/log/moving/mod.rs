//! Moving a log into another log directory while it is written and read (KIP-113; Kafka's `ReplicaAlterLogDirsThread` and
//! `LogManager.replaceCurrentWithFutureLog`).
//!
//! Kafka appends the records to a second log. Here the files are copied as they are: records, indexes, producer snapshots,
//! aborted transactions and epochs are equal because the bytes are, and what readers hold of the log stays valid.
//!
//! 1. [`LogCopy::begin`] makes the directory, `topic-partition.<id>-future`, with `partition.metadata` in it.
//! 2. [`LogCopy::catch_up`] copies what a view shows, again and again, while the log goes on. No lock is held. Retention and the
//!    cleaner may take segments away meanwhile: the next pass takes them out of the copy.
//! 3. [`Log::complete_copy`], with the log in one's hands, copies the rest and makes it durable.
//! 4. The caller commits to it in the metadata, gives the directories their names, and tells the log with
//!    [`Log::relocate`] and [`Log::moved`].
//!
//! A file that is being copied ends with `.cleaned` until it is whole, so that a Kafka that finds an unfinished copy removes it
//! and goes on from the last whole segment. An unfinished copy that is found again is compared and completed.
//!
//! What is copied from where:
//!
//! | file | when |
//! |---|---|
//! | `.log` of a sealed segment, its indexes | once; again if the cleaner replaced it |
//! | `.log` of the active segment | up to the end of the view, in each pass |
//! | indexes of the active segment | in step 3, what is in memory included |
//! | `.snapshot` | when it is there; those at the end in step 3 |
//! | `leader-epoch-checkpoint` | in step 3, from memory |

mod copy;
mod segment_copy;
mod switch;

use std::io;
use std::path::Path;
use std::sync::Arc;

pub use self::copy::LogCopy;
pub use super::append::PARTITION_METADATA;
use super::log::Log;
use super::view::LogView;
use crate::env::is_no_room;

/// What a pass copies.
#[derive(Clone, Debug)]
pub struct CopySource {
    view: Arc<LogView>,
    directory: Arc<Path>,
}

impl Log {
    /// The log as it is now, for [`LogCopy::catch_up`].
    pub fn copy_source(&self) -> CopySource {
        CopySource { view: Arc::clone(&self.view), directory: Arc::clone(&self.directory) }
    }
}

impl CopySource {
    /// First offset there is.
    pub fn log_start(&self) -> crate::types::Offset {
        self.view.log_start
    }
}

/// Why a copy did not get on. The log is as before.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// The pace said so.
    #[error("the copy was stopped")]
    Stopped,
    /// Files went away under it; the next pass begins with what is there by then.
    #[error("segments were deleted while they were copied")]
    Changed,
    /// The target has no room, or no further file may be opened.
    #[error("the target disk is full, or no further file may be opened")]
    NoRoom,
    /// The log cannot be read.
    #[error("reading the log failed: {0}")]
    Source(io::Error),
    /// The copy cannot be written or synced: final for the target directory.
    #[error("writing the copy failed: {0}")]
    Target(io::Error),
}

impl CopyError {
    /// Of an operation on the copy.
    pub(super) fn of_target(error: io::Error) -> Self {
        if is_no_room(&error) { Self::NoRoom } else { Self::Target(error) }
    }

    /// Of a file of the log that must be there.
    pub(super) fn of_source(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::Changed,
            _ if is_no_room(&error) => Self::NoRoom,
            _ => Self::Source(error),
        }
    }
}
