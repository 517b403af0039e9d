//! One log directory: its lock, its identity, its checkpoints, the mark of a clean stop and the directories in it.
//!
//! The lock is held from [`LogDirectory::open`] until the value is dropped. All methods block on the disk. Checkpoints are
//! replaced atomically and may be written from any thread, but by one writer per kind.

use std::io;
use std::path::{Path, PathBuf};

use super::checkpoint_file::{self, OffsetCheckpoint};
use super::clean_shutdown::CleanShutdown;
use super::directory_name::DirectoryName;
use super::meta_properties::MetaProperties;
use crate::env::{EntryKind, Env, FileLock, FileSystem, LockError, OpenMode, write_atomically};
use crate::types::{BrokerId, DirectoryId, TopicPartition};

const LOCK_FILE: &str = ".lock";

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
    _lock: Box<dyn FileLock>,
}

impl LogDirectory {
    /// Opens a directory for `node_id`, formatting it if it is missing or empty; `cluster_id` is what the directory must
    /// belong to, where the caller knows. Takes the mark of a clean stop: whoever opens it next finds an unclean one until
    /// [`LogDirectory::close_cleanly`].
    ///
    /// Formatting syncs `meta.properties` but not yet its name: [`LogDirectory::sync_names`] must follow before anything is
    /// acknowledged. Formatting the metadata log syncs the same directory, so one sync serves both.
    pub fn open(
        env: &Env,
        path: &Path,
        node_id: BrokerId,
        cluster_id: Option<&str>,
    ) -> Result<Self, OpenDirectoryError> {
        create_durably(env.files.as_ref(), path)?;
        let lock = env
            .files
            .lock(&path.join(LOCK_FILE))
            .map_err(|source| OpenDirectoryError::Lock { directory: path.to_owned(), source })?;
        let names = list_directories(env.files.as_ref(), path)?;
        let (meta, made) =
            Identity { env, directory: path, node_id, cluster_id }.read_or_make(&names)?;
        let last_stop = if made { LastStop::Fresh } else { take_clean_shutdown(env, path)? };
        let mut partitions = Vec::new();
        let mut being_deleted = Vec::new();
        for (name, meaning) in names {
            match meaning {
                DirectoryName::Partition(partition) => partitions.push(partition),
                DirectoryName::Delete => being_deleted.push(name),
                DirectoryName::Alien => warn_alien(path, &name),
                DirectoryName::Metadata
                | DirectoryName::Future
                | DirectoryName::Stray
                | DirectoryName::RemoteIndexCache => {}
            }
        }
        Ok(Self {
            env: env.clone(),
            path: path.to_owned(),
            cluster_id: meta.cluster_id,
            // `read_or_make` gives every directory an id.
            directory_id: meta.directory_id.unwrap_or_default(),
            last_stop,
            partitions,
            being_deleted,
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

/// Creates the directory and makes its own name durable if it was not there.
fn create_durably(files: &dyn FileSystem, path: &Path) -> Result<(), OpenDirectoryError> {
    let failed = |source| OpenDirectoryError::Io { path: path.to_owned(), source };
    if files.stat(path).map_err(failed)?.is_some() {
        return Ok(());
    }
    let mut missing = vec![path];
    for parent in path.ancestors().skip(1) {
        if parent.as_os_str().is_empty() || files.stat(parent).map_err(failed)?.is_some() {
            break;
        }
        missing.push(parent);
    }
    files.create_dir_all(path).map_err(failed)?;
    for created in missing.into_iter().rev() {
        files.sync_dir(parent_of(created)).map_err(failed)?;
    }
    Ok(())
}

/// The directory that holds a name; the working directory for a bare one.
fn parent_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        Some(_) => Path::new("."),
        None => path,
    }
}

fn list_directories(
    files: &dyn FileSystem,
    path: &Path,
) -> Result<Vec<(String, DirectoryName)>, OpenDirectoryError> {
    let entries = files
        .list(path)
        .map_err(|source| OpenDirectoryError::Io { path: path.to_owned(), source })?;
    let directories = entries.into_iter().filter(|entry| entry.kind == EntryKind::Directory);
    let parsed = directories.map(|entry| {
        let meaning = DirectoryName::parse(&entry.name);
        (entry.name, meaning)
    });
    Ok(parsed.collect())
}

fn warn_alien(directory: &Path, name: &str) {
    tracing::warn!(
        directory = %directory.display(),
        name,
        "ignoring a directory that is no partition; kafka would refuse to start here"
    );
}

/// Who the directory must belong to.
struct Identity<'a> {
    env: &'a Env,
    directory: &'a Path,
    node_id: BrokerId,
    cluster_id: Option<&'a str>,
}

impl Identity<'_> {
    /// The identity found or made, and whether it was made.
    fn read_or_make(
        &self,
        names: &[(String, DirectoryName)],
    ) -> Result<(MetaProperties, bool), OpenDirectoryError> {
        let path = self.directory.join(MetaProperties::FILE_NAME);
        let Some(bytes) = read(self.env.files.as_ref(), &path)? else {
            self.refuse_orphans(names)?;
            return Ok((self.make(&path)?, true));
        };
        let mut meta = MetaProperties::decode(&bytes).map_err(|e| OpenDirectoryError::Damaged {
            path: path.clone(),
            reason: e.to_string(),
        })?;
        self.check(&meta, &path)?;
        if meta.directory_id.is_none() {
            meta.directory_id = Some(self.env.random.uuid());
            self.write(&meta, &path)?;
            let synced = self.env.files.sync_dir(self.directory);
            synced.map_err(|source| OpenDirectoryError::Io { path, source })?;
        }
        Ok((meta, false))
    }

    fn check(&self, meta: &MetaProperties, path: &Path) -> Result<(), OpenDirectoryError> {
        if meta.node_id != self.node_id {
            return Err(OpenDirectoryError::OtherNode {
                path: path.to_owned(),
                found: meta.node_id,
                configured: self.node_id,
            });
        }
        match self.cluster_id {
            Some(expected) if expected != meta.cluster_id => {
                Err(OpenDirectoryError::OtherCluster {
                    path: path.to_owned(),
                    found: meta.cluster_id.clone(),
                    expected: expected.to_owned(),
                })
            }
            _ => Ok(()),
        }
    }

    /// Formatting a directory full of data would disown the data.
    fn refuse_orphans(&self, names: &[(String, DirectoryName)]) -> Result<(), OpenDirectoryError> {
        let data = names.iter().find(|(_, meaning)| {
            matches!(meaning, DirectoryName::Partition(_) | DirectoryName::Metadata)
        });
        match data {
            Some((name, _)) => Err(OpenDirectoryError::NotFormatted {
                directory: self.directory.to_owned(),
                partition: name.clone(),
            }),
            None => Ok(()),
        }
    }

    fn make(&self, path: &Path) -> Result<MetaProperties, OpenDirectoryError> {
        let random = self.env.random.as_ref();
        let meta = MetaProperties {
            cluster_id: self.cluster_id.map_or_else(|| random.uuid().to_string(), str::to_owned),
            node_id: self.node_id,
            directory_id: Some(random.uuid()),
        };
        self.write(&meta, path)?;
        Ok(meta)
    }

    /// Content synced and renamed into place; the directory itself is left to the caller.
    fn write(&self, meta: &MetaProperties, path: &Path) -> Result<(), OpenDirectoryError> {
        let files = self.env.files.as_ref();
        let temporary = path.with_extension("properties.tmp");
        let bytes = meta.encode(self.env.clock.wall());
        let write = || {
            let file = files.open(&temporary, OpenMode::CreateOrTruncate)?;
            file.write_all_at(&bytes, 0)?;
            file.sync()?;
            files.rename(&temporary, path)
        };
        write().map_err(|source| OpenDirectoryError::Io { path: path.to_owned(), source })
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

fn read(files: &dyn FileSystem, path: &Path) -> Result<Option<Vec<u8>>, OpenDirectoryError> {
    files.read(path).map_err(|source| OpenDirectoryError::Io { path: path.to_owned(), source })
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test plays the other owner of the files")]
mod tests;
