//! What the checkpoints of a log directory hold: values of the open partitions over those found at the start, so that a
//! partition that was not touched in this life keeps its entry.

use std::io;
use std::sync::Arc;

use super::data_directory::DataDirectory;
use super::partition::Partition;
use super::registry::PartitionRegistry;
use crate::log::LogStartCheckpoint;
use crate::storage::{Checkpoint, OffsetCheckpoint};
use crate::types::Offset;

/// All of a directory. The cleaner and the mover write theirs as well.
pub(super) const CHECKPOINTS: [Checkpoint; 4] = [
    Checkpoint::RecoveryPoint,
    Checkpoint::LogStart,
    Checkpoint::HighWatermark,
    Checkpoint::Cleaner,
];

impl PartitionRegistry {
    /// Writes a checkpoint of `directory` as it should be now. Blocks.
    pub fn write_checkpoint(
        self: &Arc<Self>,
        directory: &Arc<DataDirectory>,
        kind: Checkpoint,
    ) -> io::Result<()> {
        let _one_at_a_time = directory.lock_checkpoints();
        if kind == Checkpoint::LogStart && self.lacks_log_starts(directory) {
            return Ok(());
        }
        directory.write_checkpoint(kind, &self.collect_checkpoint(directory, kind))
    }

    /// Of a lost checkpoint nothing is known but of the logs that were opened since. One without the others would tell the next
    /// start that nothing was deleted from them.
    fn lacks_log_starts(self: &Arc<Self>, directory: &Arc<DataDirectory>) -> bool {
        directory.log_start_checkpoint() == LogStartCheckpoint::Lost
            && !self.unopened(directory).is_empty()
    }

    /// The content that a checkpoint of `directory` should have now.
    fn collect_checkpoint(
        &self,
        directory: &Arc<DataDirectory>,
        kind: Checkpoint,
    ) -> OffsetCheckpoint {
        let at_start = directory.checkpoint_at_start(kind);
        let found = self.found_in(directory);
        let mut offsets: OffsetCheckpoint = at_start
            .iter()
            .filter(|(name, _)| found.contains(*name))
            .map(|(name, offset)| (name.clone(), *offset))
            .collect();
        offsets.extend(directory.incoming(kind));
        for partition in self.open_partitions() {
            if Arc::ptr_eq(&partition.directory(), directory) {
                match value(&partition, kind) {
                    Some(offset) => offsets.insert(partition.name(), offset),
                    None => offsets.remove(&partition.name()),
                };
            }
        }
        offsets
    }
}

/// The value of an open partition; `None` where the file has no entry for it.
fn value(partition: &Partition, kind: Checkpoint) -> Option<Offset> {
    match kind {
        Checkpoint::RecoveryPoint => Some(partition.lock().log.recovery_point()),
        Checkpoint::HighWatermark => Some(partition.high_watermark()),
        Checkpoint::LogStart => {
            Some(partition.ends().view.log_start).filter(|start| *start > Offset::ZERO)
        }
        Checkpoint::Cleaner => partition.cleaning().cleaned_to(),
    }
}
