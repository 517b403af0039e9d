//! One log directory: its lock, its identity, its checkpoints, the mark of a clean stop and the directories in it.
//!
//! The lock is held from [`LogDirectory::open`] until the value is dropped. All methods block on the disk. Checkpoints are
//! replaced atomically and may be written from any thread, but by one writer per kind.

use std::io;
use std::path::{Path, PathBuf};

use super::checkpoint_file::{self, OffsetCheckpoint};
use super::clean_shutdown::CleanShutdown;
use super::directory_name::DirectoryName;
use super::found_directory::{FoundDirectory, Identity, Origin};
use crate::env::{Env, FileLock, FileSystem, LockError, write_atomically};
use crate::types::{BrokerId, DirectoryId, TopicPartition};

/// Held while a directory is open, and removed by a clean stop.
pub(super) const LOCK_FILE: &str = ".lock";

/// The checkpoints that cover all partitions of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checkpoint {
    /// First offset not known to be synced.
    RecoveryPoint,
    /// First offset there is, where it lies above the first segment's base.
    LogStart,
    /// High watermarks.
    HighWatermark,
    /// First offsets that the cleaner has not cleaned, of compacted partitions.
    Cleaner,
}

impl Checkpoint {
    /// Name of the file in a log directory.
    pub const fn file_name(self) -> &'static str {
        match self {
            Self::RecoveryPoint => "recovery-point-offset-checkpoint",
            Self::LogStart => "log-start-offset-checkpoint",
            Self::HighWatermark => "replication-offset-checkpoint",
            Self::Cleaner => "cleaner-offset-checkpoint",
        }
    }
}

/// How the last owner of the directory left it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastStop {
    /// There was none: the directory was formatted just now.
    Fresh,
    /// Everything was synced and closed.
    Clean(CleanShutdown),
    /// What lies above the recovery points must be scanned.
    Unclean,
}

/// Why a directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OpenDirectoryError {
    /// Another process has it, or the lock file cannot be made.
    #[error("the log directory {} is in use or cannot be locked: {source}", .directory.display())]
    Lock {
        /// The directory.
        directory: PathBuf,
        /// Who holds it, or why not.
        source: LockError,
    },
    /// The disk failed, or permissions are missing.
    #[error("{} cannot be read or written: {source}", .path.display())]
    Io {
        /// File or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file that must be valid is not.
    #[error("{} is damaged: {reason}. Restore it from a backup, or move it away if this node's data may be recovered without it", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// In words.
        reason: String,
    },
    /// Something that this release does not serve, in good order.
    #[error("{}: {reason}", .path.display())]
    CannotServe {
        /// The file.
        path: PathBuf,
        /// What it is, and the way out.
        reason: String,
    },
    /// The directory belongs to another node.
    #[error("{} says node.id={found}, but this node is configured as {configured}: set node.id={found}, or choose another log directory", .path.display())]
    OtherNode {
        /// `meta.properties`.
        path: PathBuf,
        /// In the file.
        found: BrokerId,
        /// In the settings.
        configured: BrokerId,
    },
    /// The directory belongs to another cluster.
    #[error("{} says cluster.id={found}, but this node belongs to cluster {expected}: all log directories of a node must come from one cluster", .path.display())]
    OtherCluster {
        /// `meta.properties`.
        path: PathBuf,
        /// In the file.
        found: String,
        /// Asked for.
        expected: String,
    },
    /// Two entries of `log.dirs` are one directory, or copies of one.
    #[error("{} and {} have the same directory.id or are the same directory: name each log directory once in log.dirs; of a copy, remove meta.properties and what it holds", .first.display(), .second.display())]
    Twice {
        /// As configured.
        first: PathBuf,
        /// As configured.
        second: PathBuf,
    },
    /// There are partitions but nothing says whose.
    #[error("{} holds partitions such as {partition} but no meta.properties: restore that file, or choose an empty directory", .directory.display())]
    NotFormatted {
        /// The directory.
        directory: PathBuf,
        /// One of them.
        partition: String,
    },
}

/// A log directory that this process owns.
#[derive(Debug)]
pub struct LogDirectory {
    env: Env,
    path: PathBuf,
    cluster_id: String,
    directory_id: DirectoryId,
    last_stop: LastStop,
    partitions: Vec<TopicPartition>,
    being_deleted: Vec<String>,
    futures: Vec<(TopicPartition, String)>,
    _lock: Box<dyn FileLock>,
}

impl LogDirectory {
    /// Looks at a directory and claims it at once; see [`FoundDirectory`].
    pub fn open(
        env: &Env,
        path: &Path,
        node_id: BrokerId,
        cluster_id: Option<&str>,
    ) -> Result<Self, OpenDirectoryError> {
        let found = FoundDirectory::look(env, path, node_id)?;
        found.check_cluster(cluster_id)?;
        found.claim(cluster_id, None)
    }

    /// A directory that was just claimed: takes the mark of a clean stop, so that whoever opens it next finds an unclean one
    /// until [`LogDirectory::close_cleanly`].
    pub(super) fn claimed(
        env: &Env,
        path: &Path,
        lock: Box<dyn FileLock>,
        names: Vec<(String, DirectoryName)>,
        identity: &Identity,
    ) -> Result<Self, OpenDirectoryError> {
        let last_stop = match identity.origin {
            Origin::Made => LastStop::Fresh,
            Origin::Found => take_clean_shutdown(env, path)?,
        };
        let mut partitions = Vec::new();
        let mut being_deleted = Vec::new();
        let mut futures = Vec::new();
        for (name, meaning) in names {
            match meaning {
                DirectoryName::Partition(partition) => partitions.push(partition),
                DirectoryName::Delete => being_deleted.push(name),
                DirectoryName::Future(partition) => futures.push((partition, name)),
                DirectoryName::Alien => warn_alien(path, &name),
                DirectoryName::Metadata
                | DirectoryName::Stray
                | DirectoryName::RemoteIndexCache => {}
            }
        }
        Ok(Self {
            env: env.clone(),
            path: path.to_owned(),
            cluster_id: identity.cluster_id.clone(),
            directory_id: identity.directory_id,
            last_stop,
            partitions,
            being_deleted,
            futures,
            _lock: lock,
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// `cluster.id`.
    pub fn cluster_id(&self) -> &str {
        &self.cluster_id
    }

    /// `directory.id`.
    pub fn directory_id(&self) -> DirectoryId {
        self.directory_id
    }

    /// How the last owner left it.
    pub fn last_stop(&self) -> LastStop {
        self.last_stop
    }

    /// Partitions that had a directory here at the start, in no order.
    pub fn partitions(&self) -> &[TopicPartition] {
        &self.partitions
    }

    /// Copies of partitions that were on their way here, and the names of their directories.
    pub fn futures(&self) -> &[(TopicPartition, String)] {
        &self.futures
    }

    /// Names of directories whose deletion was not finished when it was opened.
    pub fn being_deleted(&self) -> &[String] {
        &self.being_deleted
    }

    /// Reads a checkpoint; a missing or empty file holds nothing.
    pub fn read_checkpoint(
        &self,
        kind: Checkpoint,
    ) -> Result<OffsetCheckpoint, OpenDirectoryError> {
        let path = self.path.join(kind.file_name());
        let bytes = read(self.env.files.as_ref(), &path)?.unwrap_or_default();
        checkpoint_file::decode_offsets(&bytes)
            .map_err(|e| OpenDirectoryError::Damaged { path, reason: e.to_string() })
    }

    /// Is the file of a checkpoint there?
    pub fn has_checkpoint(&self, kind: Checkpoint) -> Result<bool, OpenDirectoryError> {
        let path = self.path.join(kind.file_name());
        let stat = self.env.files.stat(&path);
        stat.map(|stat| stat.is_some()).map_err(|source| OpenDirectoryError::Io { path, source })
    }

    /// Takes away a checkpoint that is damaged.
    pub fn remove_checkpoint(&self, kind: Checkpoint) -> io::Result<()> {
        self.env.files.remove_file(&self.path.join(kind.file_name()))
    }

    /// Replaces a checkpoint durably.
    pub fn write_checkpoint(&self, kind: Checkpoint, offsets: &OffsetCheckpoint) -> io::Result<()> {
        let bytes = checkpoint_file::encode_offsets(offsets);
        write_atomically(self.env.files.as_ref(), &self.path.join(kind.file_name()), &bytes)
    }

    /// Makes creations, renames and removals in it durable.
    pub fn sync_names(&self) -> io::Result<()> {
        self.env.files.sync_dir(&self.path)
    }

    /// Marks a clean stop, once everything else is synced and closed, and removes the lock file. Not to be called after a
    /// failed write or sync: dropping the value releases the lock without the mark.
    pub fn close_cleanly(self, mark: CleanShutdown) -> io::Result<()> {
        let files = self.env.files.as_ref();
        write_atomically(files, &self.path.join(CleanShutdown::FILE_NAME), &mark.encode())?;
        files.remove_file(&self.path.join(LOCK_FILE))
    }
}

/// Reads and removes the mark, durably: were it still there after a crash, unsynced appends would pass for clean ones.
fn take_clean_shutdown(env: &Env, directory: &Path) -> Result<LastStop, OpenDirectoryError> {
    let files = env.files.as_ref();
    let path = directory.join(CleanShutdown::FILE_NAME);
    let Some(bytes) = read(files, &path)? else {
        return Ok(LastStop::Unclean);
    };
    let removed = files.remove_file(&path).and_then(|()| files.sync_dir(directory));
    removed.map_err(|source| OpenDirectoryError::Io { path, source })?;
    Ok(LastStop::Clean(CleanShutdown::decode(&bytes)))
}

fn warn_alien(directory: &Path, name: &str) {
    tracing::warn!(
        directory = %directory.display(),
        name,
        "ignoring a directory that is no partition; kafka would refuse to start here"
    );
}

pub(super) fn read(
    files: &dyn FileSystem,
    path: &Path,
) -> Result<Option<Vec<u8>>, OpenDirectoryError> {
    files.read(path).map_err(|source| OpenDirectoryError::Io { path: path.to_owned(), source })
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test plays the other owner of the files")]
mod tests;
