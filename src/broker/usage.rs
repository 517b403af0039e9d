//! Sizes of partitions on disk, for DescribeLogDirs.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Broker;
use super::data_directory::DataDirectory;
use crate::env::{DiskSpace, FileSystem};
use crate::types::{DirectoryId, TopicPartition};

/// One log directory and what it holds.
#[derive(Clone, Debug)]
pub struct DirectoryUsage {
    /// Where it is.
    pub path: PathBuf,
    /// `directory.id`.
    pub id: DirectoryId,
    /// It failed and serves nothing.
    pub offline: bool,
    /// Room on its volume, if the system tells.
    pub space: Option<DiskSpace>,
    /// Its partitions, by name, with their sizes in bytes (all segments).
    pub partitions: Vec<(TopicPartition, u64)>,
}

impl Broker {
    /// Looks at every log directory. Blocks.
    pub fn directory_usage(&self) -> Vec<DirectoryUsage> {
        self.partitions.directories().iter().map(|directory| self.usage_of(directory)).collect()
    }

    fn usage_of(&self, directory: &Arc<DataDirectory>) -> DirectoryUsage {
        let mut sizes: std::collections::BTreeMap<TopicPartition, u64> = self
            .partitions
            .open_partitions()
            .into_iter()
            .filter(|partition| Arc::ptr_eq(partition.directory(), directory))
            .map(|partition| (partition.name(), partition.ends().view.size_bytes()))
            .collect();
        for name in self.partitions.found_in(directory) {
            sizes.entry(name).or_insert_with_key(|name| {
                let path = directory.path().join(name.to_string());
                // A directory that cannot be listed is shown as empty rather than hidden.
                size_on_disk(self.env.files.as_ref(), &path).unwrap_or(0)
            });
        }
        DirectoryUsage {
            // As Kafka shows it: tools compare it with absolute paths, and the working directory is not theirs.
            path: std::path::absolute(directory.path())
                .unwrap_or_else(|_| directory.path().to_owned()),
            id: directory.id(),
            offline: directory.is_offline(),
            space: self.env.files.space(directory.path()).ok(),
            partitions: sizes.into_iter().collect(),
        }
    }
}

/// Bytes of all segments of a log that is not open.
fn size_on_disk(files: &dyn FileSystem, directory: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in files.list(directory)? {
        if entry.name.ends_with(".log") {
            bytes += files.stat(&directory.join(&entry.name))?.map_or(0, |stat| stat.len_bytes);
        }
    }
    Ok(bytes)
}
