//! Sizes of partitions on disk, for DescribeLogDirs.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::data_directory::DataDirectory;
use super::{Broker, Lookup};
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
    /// Its partitions by name, then the copies that are made in it.
    pub partitions: Vec<PartitionUsage>,
}

/// One partition in a log directory, or the copy of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionUsage {
    /// Which.
    pub name: TopicPartition,
    /// Bytes of all segments.
    pub bytes: u64,
    /// For a copy, how many offsets of the log it lacks; `None` if nobody knows.
    pub copy_lag: Option<i64>,
    /// Which of both it is.
    pub is_future: bool,
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
            .filter(|partition| Arc::ptr_eq(&partition.directory(), directory))
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
            partitions: sizes.into_iter().map(whole).chain(self.futures_in(directory)).collect(),
        }
    }

    fn futures_in(&self, directory: &Arc<DataDirectory>) -> Vec<PartitionUsage> {
        let here = self.moves.all().into_iter().filter(|job| Arc::ptr_eq(job.to(), directory));
        let usage = here.map(|job| {
            let name = job.name().clone();
            let end = match self.find_by_name(name.topic.as_str(), name.partition) {
                Lookup::Open(partition) => Some(partition.ends().view.log_end),
                Lookup::Closed(_) | Lookup::Unknown => None,
            };
            let copy_lag = end.map(|end| (end.get() - job.copied_to().get()).max(0));
            PartitionUsage { name, bytes: job.copied_bytes(), copy_lag, is_future: true }
        });
        usage.collect()
    }
}

fn whole((name, bytes): (TopicPartition, u64)) -> PartitionUsage {
    PartitionUsage { name, bytes, copy_lag: Some(0), is_future: false }
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
