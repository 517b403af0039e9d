//! A log directory as it is found: who it belongs to and what lies in it, before anything in it is changed.
//!
//! [`FoundDirectory::look`] takes the lock and reads. What refuses a directory can so be found out for all of them, and for
//! the metadata in one of them, first; [`FoundDirectory::claim`] then begins a new life of it. Dropped without that, nothing
//! is left behind: a lock file that was not there before goes again.

use std::io;
use std::path::{Path, PathBuf};

use super::directory_name::DirectoryName;
use super::log_directory::{LOCK_FILE, LogDirectory, OpenDirectoryError, read};
use super::meta_properties::{MetaProperties, MetaPropertiesError};
use super::{CleanShutdown, LastStop};
use crate::env::{EntryKind, Env, FileLock, FileSystem, OpenMode};
use crate::types::{BrokerId, DirectoryId, TopicPartition};

/// A directory that was looked at, and locked if it is there.
#[derive(Debug)]
pub struct FoundDirectory {
    env: Env,
    path: PathBuf,
    node_id: BrokerId,
    lock: Option<LockedFile>,
    names: Vec<(String, DirectoryName)>,
    meta: Option<MetaProperties>,
    mark: Option<CleanShutdown>,
}

/// Who a directory belongs to once it is claimed.
#[derive(Debug)]
pub(super) struct Identity {
    pub(super) cluster_id: String,
    pub(super) directory_id: DirectoryId,
    pub(super) origin: Origin,
}

/// Where an identity comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// `meta.properties` was there.
    Found,
    /// The directory was formatted just now.
    Made,
}

impl FoundDirectory {
    /// Locks the directory, if there is one, and reads what it says about itself. Changes nothing.
    pub fn look(env: &Env, path: &Path, node_id: BrokerId) -> Result<Self, OpenDirectoryError> {
        let files = env.files.as_ref();
        let mut found = Self {
            env: env.clone(),
            path: path.to_owned(),
            node_id,
            lock: None,
            names: Vec::new(),
            meta: None,
            mark: None,
        };
        if files.stat(path).map_err(|source| found.failed(source))?.is_none() {
            return Ok(found);
        }
        found.lock = Some(LockedFile::take(env, path)?);
        found.names = list_directories(files, path)?;
        found.meta = found.read_identity()?;
        let mark = read(files, &path.join(CleanShutdown::FILE_NAME))?;
        found.mark = mark.map(|bytes| CleanShutdown::decode(&bytes));
        Ok(found)
    }

    /// Refuses a directory of another cluster; `None` if the caller knows of none.
    pub fn check_cluster(&self, cluster_id: Option<&str>) -> Result<(), OpenDirectoryError> {
        match (&self.meta, cluster_id) {
            (Some(meta), Some(expected)) if expected != meta.cluster_id => {
                Err(OpenDirectoryError::OtherCluster {
                    path: self.path.join(MetaProperties::FILE_NAME),
                    found: meta.cluster_id.clone(),
                    expected: expected.to_owned(),
                })
            }
            _ => Ok(()),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// `cluster.id`; `None` for a directory that is to be formatted.
    pub fn cluster_id(&self) -> Option<&str> {
        self.meta.as_ref().map(|meta| meta.cluster_id.as_str())
    }

    /// `directory.id`, if `meta.properties` has one.
    pub fn directory_id(&self) -> Option<DirectoryId> {
        self.meta.as_ref().and_then(|meta| meta.directory_id)
    }

    /// How its last owner left it.
    pub fn last_stop(&self) -> LastStop {
        match (&self.meta, self.mark) {
            (None, _) => LastStop::Fresh,
            (Some(_), Some(mark)) => LastStop::Clean(mark),
            (Some(_), None) => LastStop::Unclean,
        }
    }

    /// Partitions that have a directory here, in no order.
    pub fn partitions(&self) -> impl Iterator<Item = &TopicPartition> {
        self.names.iter().filter_map(|(_, meaning)| match meaning {
            DirectoryName::Partition(partition) => Some(partition),
            _ => None,
        })
    }

    /// Begins a new life of the directory: makes it if it is missing, formats it if it is empty (for the cluster
    /// `cluster_id`, or a new one), takes the mark of a clean stop. `directory_id` is the id of a directory whose
    /// `meta.properties` has lost it.
    ///
    /// Formatting syncs `meta.properties` but not yet its name: [`LogDirectory::sync_names`] must follow before anything is
    /// acknowledged. Formatting the metadata log syncs the same directory, so one sync serves both.
    pub fn claim(
        mut self,
        cluster_id: Option<&str>,
        directory_id: Option<DirectoryId>,
    ) -> Result<LogDirectory, OpenDirectoryError> {
        let lock = match self.lock.take() {
            Some(lock) => lock.keep(),
            None => {
                create_durably(self.env.files.as_ref(), &self.path)?;
                LockedFile::take(&self.env, &self.path)?.keep()
            }
        };
        let identity = self.own(cluster_id, directory_id)?;
        let names = std::mem::take(&mut self.names);
        LogDirectory::claimed(&self.env, &self.path, lock, names, &identity)
    }

    /// What `meta.properties` says, completed or made.
    fn own(
        &self,
        cluster_id: Option<&str>,
        directory_id: Option<DirectoryId>,
    ) -> Result<Identity, OpenDirectoryError> {
        let random = self.env.random.as_ref();
        let found = self.meta.as_ref();
        let origin = if found.is_some() { Origin::Found } else { Origin::Made };
        let cluster_id = match (found, cluster_id) {
            (Some(meta), _) => meta.cluster_id.clone(),
            (None, Some(given)) => given.to_owned(),
            (None, None) => random.uuid().to_string(),
        };
        if let Some(directory_id) = self.directory_id() {
            return Ok(Identity { cluster_id, directory_id, origin });
        }
        let directory_id = directory_id.unwrap_or_else(|| random.uuid());
        let meta = MetaProperties {
            cluster_id: cluster_id.clone(),
            node_id: self.node_id,
            directory_id: Some(directory_id),
        };
        self.write(&meta)?;
        if origin == Origin::Found {
            let synced = self.env.files.sync_dir(&self.path);
            synced.map_err(|source| self.failed(source))?;
        }
        Ok(Identity { cluster_id, directory_id, origin })
    }

    /// Reads `meta.properties`, which must be of this node; `None` for a directory that may be formatted.
    fn read_identity(&self) -> Result<Option<MetaProperties>, OpenDirectoryError> {
        let path = self.path.join(MetaProperties::FILE_NAME);
        let Some(bytes) = read(self.env.files.as_ref(), &path)? else {
            self.refuse_orphans()?;
            return Ok(None);
        };
        let meta = MetaProperties::decode(&bytes).map_err(|e| refusal(path.clone(), &e))?;
        if meta.node_id != self.node_id {
            return Err(OpenDirectoryError::OtherNode {
                path,
                found: meta.node_id,
                configured: self.node_id,
            });
        }
        Ok(Some(meta))
    }

    /// Formatting a directory full of data would disown the data.
    fn refuse_orphans(&self) -> Result<(), OpenDirectoryError> {
        let data = self.names.iter().find(|(_, meaning)| {
            matches!(meaning, DirectoryName::Partition(_) | DirectoryName::Metadata)
        });
        match data {
            Some((name, _)) => Err(OpenDirectoryError::NotFormatted {
                directory: self.path.clone(),
                partition: name.clone(),
            }),
            None => Ok(()),
        }
    }

    /// Content synced and renamed into place; the directory itself is left to the caller.
    fn write(&self, meta: &MetaProperties) -> Result<(), OpenDirectoryError> {
        let files = self.env.files.as_ref();
        let path = self.path.join(MetaProperties::FILE_NAME);
        let temporary = path.with_extension("properties.tmp");
        let bytes = meta.encode(self.env.clock.wall());
        let write = || {
            let file = files.open(&temporary, OpenMode::CreateOrTruncate)?;
            file.write_all_at(&bytes, 0)?;
            file.sync()?;
            files.rename(&temporary, &path)
        };
        write().map_err(|source| OpenDirectoryError::Io { path: path.clone(), source })
    }

    fn failed(&self, source: io::Error) -> OpenDirectoryError {
        OpenDirectoryError::Io { path: self.path.clone(), source }
    }
}

fn refusal(path: PathBuf, error: &MetaPropertiesError) -> OpenDirectoryError {
    let reason = error.to_string();
    match error {
        MetaPropertiesError::ZooKeeper | MetaPropertiesError::Newer(_) => {
            OpenDirectoryError::CannotServe { path, reason }
        }
        MetaPropertiesError::NotProperties
        | MetaPropertiesError::Missing(_)
        | MetaPropertiesError::Malformed { .. } => OpenDirectoryError::Damaged { path, reason },
    }
}

/// The lock of a directory. Dropped before [`LockedFile::keep`], it leaves no file that was not there before.
#[derive(Debug)]
struct LockedFile {
    env: Env,
    /// `Some` if the file was made for this lock.
    made: Option<PathBuf>,
    lock: Option<Box<dyn FileLock>>,
}

impl LockedFile {
    fn take(env: &Env, directory: &Path) -> Result<Self, OpenDirectoryError> {
        let path = directory.join(LOCK_FILE);
        let stat = env.files.stat(&path);
        let stat = stat.map_err(|source| OpenDirectoryError::Io { path: path.clone(), source })?;
        let lock = env.files.lock(&path).map_err(|source| OpenDirectoryError::Lock {
            directory: directory.to_owned(),
            source,
        })?;
        let made = stat.is_none().then_some(path);
        Ok(Self { env: env.clone(), made, lock: Some(lock) })
    }

    fn keep(mut self) -> Box<dyn FileLock> {
        self.made = None;
        self.lock.take().expect("it is taken once, here")
    }
}

impl Drop for LockedFile {
    fn drop(&mut self) {
        if let Some(path) = self.made.take()
            // Before the lock is let go: whoever comes next makes a file of its own.
            && let Err(error) = self.env.files.remove_file(&path)
        {
            tracing::warn!(file = %path.display(), %error, "a lock file stays behind");
        }
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
