//! The log directory of a new partition: the one with the fewest (Kafka's `LogManager.nextLogDirs`).
//!
//! Kafka's controller leaves the choice to the broker, which tells it with `AssignReplicasToDirs`; here they are one, so the
//! record of the partition names the directory at once, and the log is made there when it is first used.

use std::collections::HashMap;
use std::sync::Arc;

use super::changes::UNASSIGNED;
use super::image::{Image, Topic};
use crate::types::{BrokerId, DirectoryId, TopicName};

/// Chooses for the partitions of one group of changes.
#[derive(Debug)]
pub struct DirectoryChoice {
    node: BrokerId,
    topics: Arc<HashMap<TopicName, Arc<Topic>>>,
    directories: Vec<DirectoryId>,
    /// Partitions of each directory, once somebody asked.
    counts: Vec<usize>,
}

impl DirectoryChoice {
    /// Among `directories`, which hold what the image says.
    pub fn new(node: BrokerId, image: &Image, directories: Vec<DirectoryId>) -> Self {
        Self { node, topics: Arc::clone(&image.topics), directories, counts: Vec::new() }
    }

    /// The directory for one more partition; of equals the first.
    pub fn choose(&mut self) -> DirectoryId {
        if let [only] = self.directories[..] {
            return only;
        }
        if self.counts.is_empty() {
            self.count();
        }
        let fewest = self.counts.iter_mut().zip(&self.directories).min_by_key(|(count, _)| **count);
        // Without a directory the broker is about to end.
        let Some((count, directory)) = fewest else { return UNASSIGNED };
        *count += 1;
        *directory
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
