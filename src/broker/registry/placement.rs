//! Which log directory holds which partition.
//!
//! The metadata says where a partition belongs; what was found on the disks at the start says where it is, and the metadata
//! is brought in line with that. A partition whose directory failed, or is not there, is offline and is never made anew
//! elsewhere: its records may come back.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;

use super::OpenPartitionError;
use crate::broker::data_directory::DataDirectory;
use crate::storage::OpenDirectoryError;
use crate::types::{DirectoryId, PartitionIndex, TopicName, TopicPartition};

/// A log directory that could not be used at the start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedDirectory {
    /// Which.
    pub path: PathBuf,
    /// What the system said.
    pub reason: String,
}

impl FailedDirectory {
    /// Says so in the log.
    pub fn of(path: PathBuf, error: &OpenDirectoryError) -> Self {
        let reason = error.to_string();
        tracing::error!(directory = %path.display(), reason, "the log directory cannot be used, its partitions are offline");
        Self { path, reason }
    }
}

/// The log directories and what was found in them.
#[derive(Debug)]
pub struct Placement {
    directories: Vec<Arc<DataDirectory>>,
    failed: Vec<FailedDirectory>,
    found: Mutex<HashMap<TopicPartition, Arc<DataDirectory>>>,
}

impl Placement {
    /// `found` are partitions by the directory that holds them; `failed` are the directories that nobody could look into.
    pub fn new(
        directories: Vec<Arc<DataDirectory>>,
        failed: Vec<FailedDirectory>,
        found: HashMap<TopicPartition, Arc<DataDirectory>>,
    ) -> Self {
        Self { directories, failed, found: Mutex::new(found) }
    }

    /// All directories that were usable at the start.
    pub fn directories(&self) -> &[Arc<DataDirectory>] {
        &self.directories
    }

    /// Those that were not.
    pub fn failed(&self) -> &[FailedDirectory] {
        &self.failed
    }

    /// How many directories do not work now.
    pub fn offline_count(&self) -> usize {
        let offline = self.directories.iter().filter(|directory| directory.is_offline());
        self.failed.len() + offline.count()
    }

    /// Takes note that the slot of a partition is being made; the directory that holds it already, if any.
    pub fn found(
        &self,
        topic: &TopicName,
        partition: PartitionIndex,
    ) -> Option<Arc<DataDirectory>> {
        let name = TopicPartition { topic: topic.clone(), partition };
        self.found.lock().get(&name).cloned()
    }

    /// True if a partition that the metadata puts into `assigned` can be served; `None` is one that has no place yet.
    pub fn serves(&self, assigned: Option<DirectoryId>) -> bool {
        let Some(id) = assigned else { return true };
        self.directories.iter().any(|directory| directory.id() == id && !directory.is_offline())
    }

    /// The directory for the new log of a partition: where the metadata puts it, else the one with the fewest.
    pub fn of_new(
        &self,
        assigned: Option<DirectoryId>,
    ) -> Result<Arc<DataDirectory>, OpenPartitionError> {
        let Some(id) = assigned else { return self.fewest().ok_or(OpenPartitionError::Offline) };
        let directory = self.directories.iter().find(|directory| directory.id() == id);
        let directory = directory.ok_or(OpenPartitionError::NoSuchDirectory(id))?;
        if directory.is_offline() {
            return Err(OpenPartitionError::Offline);
        }
        Ok(Arc::clone(directory))
    }

    /// The one that works and holds the fewest partitions (Kafka's `LogManager.nextLogDirs`).
    fn fewest(&self) -> Option<Arc<DataDirectory>> {
        let found = self.found.lock();
        let held = |directory: &Arc<DataDirectory>| {
            found.values().filter(|place| Arc::ptr_eq(place, directory)).count()
        };
        let online = self.directories.iter().filter(|directory| !directory.is_offline());
        online.min_by_key(|directory| held(directory)).cloned()
    }

    /// A partition has a directory in another place now.
    pub fn moved(&self, partition: &TopicPartition, to: &Arc<DataDirectory>) {
        self.found.lock().insert(partition.clone(), Arc::clone(to));
    }

    /// A partition's directory is gone or renamed: a partition of the same name made later starts anew.
    pub fn forget(&self, partition: &TopicPartition) {
        self.found.lock().remove(partition);
    }

    /// Partitions found at the start and not forgotten since.
    pub fn all_found(&self) -> Vec<(TopicPartition, Arc<DataDirectory>)> {
        let found = self.found.lock();
        found.iter().map(|(name, place)| (name.clone(), Arc::clone(place))).collect()
    }
}
