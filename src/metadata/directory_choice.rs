//! The log directory of a new partition: the one that was asked for beforehand, else the one with the fewest (Kafka's
//! `LogManager.preferredLogDirs` and `nextLogDirs`).
//!
//! Kafka's controller leaves the choice to the broker, which tells it with `AssignReplicasToDirs`; here they are one, so the
//! record of the partition names the directory at once, and the log is made there when it is first used.

use std::collections::HashMap;
use std::sync::Arc;

use super::changes::UNASSIGNED;
use super::image::{Image, Topic};
use crate::types::{BrokerId, DirectoryId, PartitionIndex, TopicName, TopicPartition};

/// Wishes that are kept; a wish above that is not. Kafka has no limit.
const WISHES_MAX: usize = 10_000;

/// The log directories that new partitions may go to.
#[derive(Clone, Debug)]
pub struct LogDirectories {
    usable: Vec<DirectoryId>,
    /// Where partitions go that are not there yet. Forgotten at a restart, as in Kafka.
    wishes: HashMap<TopicPartition, DirectoryId>,
}

impl LogDirectories {
    /// Nothing is wished for.
    pub fn new(usable: Vec<DirectoryId>) -> Self {
        Self { usable, wishes: HashMap::new() }
    }

    /// One has failed.
    pub fn remove(&mut self, directory: DirectoryId) {
        self.usable.retain(|known| *known != directory);
    }

    /// Takes note of where a partition is to go if it comes.
    pub fn prefer(&mut self, partition: &TopicPartition, directory: DirectoryId) {
        if self.wishes.len() < WISHES_MAX || self.wishes.contains_key(partition) {
            self.wishes.insert(partition.clone(), directory);
        } else {
            tracing::warn!(%partition, WISHES_MAX, "too many directories are wished for, this wish is not kept");
        }
    }

    /// Forgets the wishes for partitions that are there.
    pub fn fulfilled(&mut self, image: &Image) {
        let is_there = |name: &TopicPartition| {
            image.topic(name.topic.as_str()).is_some_and(|t| t.partition(name.partition).is_some())
        };
        self.wishes.retain(|name, _| !is_there(name));
    }
}

/// Chooses for the partitions of one group of changes.
#[derive(Debug)]
pub struct DirectoryChoice {
    node: BrokerId,
    topics: Arc<HashMap<TopicName, Arc<Topic>>>,
    directories: Vec<DirectoryId>,
    wishes: HashMap<TopicPartition, DirectoryId>,
    /// Partitions of each directory, once somebody asked.
    counts: Vec<usize>,
}

impl DirectoryChoice {
    /// Among `directories`, which hold what the image says.
    pub fn new(node: BrokerId, image: &Image, directories: LogDirectories) -> Self {
        let LogDirectories { usable: directories, wishes } = directories;
        let topics = Arc::clone(&image.topics);
        Self { node, topics, directories, wishes, counts: Vec::new() }
    }

    /// The directory for one more partition; of equals the first.
    pub fn choose(&mut self, topic: Option<&TopicName>, partition: PartitionIndex) -> DirectoryId {
        if let [only] = self.directories[..] {
            return only;
        }
        if self.counts.is_empty() {
            self.count();
        }
        if let Some(at) = self.wished(topic, partition) {
            self.counts[at] += 1;
            return self.directories[at];
        }
        let fewest = self.counts.iter_mut().zip(&self.directories).min_by_key(|(count, _)| **count);
        // Without a directory the broker is about to end.
        let Some((count, directory)) = fewest else { return UNASSIGNED };
        *count += 1;
        *directory
    }

    /// Where the wish for it leads, if there is one and its directory works.
    fn wished(&self, topic: Option<&TopicName>, partition: PartitionIndex) -> Option<usize> {
        if self.wishes.is_empty() {
            return None;
        }
        let wish = self.wishes.get(&TopicPartition { topic: topic?.clone(), partition })?;
        self.directories.iter().position(|known| known == wish)
    }

    /// Looks at every partition: a few microseconds for a thousand, and only where there are several directories.
    fn count(&mut self) {
        self.counts = vec![0; self.directories.len()];
        for state in self.topics.values().flat_map(|topic| &topic.partitions) {
            let directory = state.directory_of(self.node);
            let at = self.directories.iter().position(|known| directory == Some(*known));
            if let Some(at) = at {
                self.counts[at] += 1;
            }
        }
    }
}
