//! Taking away the directories of partitions that are not to be served: deleted topics, strays.
//!
//! As in Kafka a directory is renamed first (`-delete`, `-stray`). What is deleted goes after `file.delete.delay.ms`, so that
//! fetches on their way can finish; a stray stays for a person to look at.

use super::PartitionRegistry;
use crate::broker::agenda::Job;
use crate::broker::data_directory::DataDirectory;
use crate::broker::topic_partitions::TopicPartitions;
use crate::storage::deleted_name;
use crate::types::TopicPartition;

impl PartitionRegistry {
    /// Closes the logs of a topic that is gone and sets its directories aside. Blocks.
    pub(super) fn remove(&self, topic: &TopicPartitions) {
        self.topics.write().remove(&topic.id);
        let delay_ms = topic.policy().settings.file_delete_delay_ms;
        for slot in topic.slots() {
            let mut state = slot.lock();
            state.removed = true;
            slot.fetch_interests().wake_all();
            if let Some(partition) = slot.partition() {
                partition.retire();
                slot.set_partition(None);
                // Whoever cleans it stops now, and must not meet a directory of the same name that comes next.
                drop(partition.cleaning().lock());
                // What the checkpoints say of it goes.
                partition.directory().mark_changed();
            }
            let name = TopicPartition { topic: topic.name.clone(), partition: slot.index };
            self.placement.forget(&name);
            if let Some(directory) = state.directory.take() {
                self.set_aside(&name, &directory, delay_ms);
            }
        }
    }

    /// Renames the directory of a deleted partition and plans its removal. Blocks.
    pub(super) fn set_aside(
        &self,
        name: &TopicPartition,
        directory: &DataDirectory,
        delay_ms: i64,
    ) {
        if directory.is_offline() {
            return;
        }
        let env = directory.env();
        let from = directory.path().join(name.to_string());
        let to = directory.path().join(deleted_name(name, env.random.uuid()));
        let renamed = env.files.rename(&from, &to).and_then(|()| directory.sync_names());
        match renamed {
            Ok(()) => self.agenda.plan(delay_ms, Job::RemoveDirectory(to)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => {
                tracing::error!(partition = %name, %error, "the directory of a deleted partition could not be renamed");
            }
        }
    }
}
