//! Which log directory holds which partition.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use crate::broker::data_directory::DataDirectory;
use crate::types::{PartitionIndex, TopicName, TopicPartition};

/// The log directories and what was found in them.
#[derive(Debug)]
pub struct Placement {
    directories: Vec<Arc<DataDirectory>>,
    /// Partitions each directory holds, as far as known: a new one goes where there are fewest.
    counts: Vec<AtomicUsize>,
    found: Mutex<HashMap<TopicPartition, usize>>,
}

impl Placement {
    /// `found` are partition directories by index into `directories`.
    pub fn new(
        directories: Vec<Arc<DataDirectory>>,
        found: HashMap<TopicPartition, usize>,
    ) -> Self {
        let counts: Vec<AtomicUsize> = directories.iter().map(|_| AtomicUsize::new(0)).collect();
        for &directory in found.values() {
            counts[directory].fetch_add(1, Ordering::Relaxed);
        }
        Self { directories, counts, found: Mutex::new(found) }
    }

    /// All directories.
    pub fn directories(&self) -> &[Arc<DataDirectory>] {
        &self.directories
    }

    /// Takes note that the slot of a partition is being made; the directory that holds it already, if any.
    pub fn found(
        &self,
        topic: &TopicName,
        partition: PartitionIndex,
    ) -> Option<Arc<DataDirectory>> {
        let name = TopicPartition { topic: topic.clone(), partition };
        let directory = *self.found.lock().get(&name)?;
        self.directories.get(directory).cloned()
    }

    /// The directory for a new partition: online, with the fewest partitions.
    pub fn choose(&self) -> Option<Arc<DataDirectory>> {
        let online = self.directories.iter().zip(&self.counts).filter(|(d, _)| !d.is_offline());
        let (directory, count) = online.min_by_key(|(_, count)| count.load(Ordering::Relaxed))?;
        count.fetch_add(1, Ordering::Relaxed);
        Some(Arc::clone(directory))
    }

    /// A partition's directory is gone or renamed: a partition of the same name made later starts anew.
    pub fn forget(&self, partition: &TopicPartition) {
        self.found.lock().remove(partition);
    }

    /// Partitions found at the start and not forgotten since.
    pub fn all_found(&self) -> Vec<(TopicPartition, Arc<DataDirectory>)> {
        let found = self.found.lock();
        let placed = |(name, &index): (&TopicPartition, &usize)| {
            Some((name.clone(), Arc::clone(self.directories.get(index)?)))
        };
        found.iter().filter_map(placed).collect()
    }
}
