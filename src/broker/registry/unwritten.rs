//! Partitions that nobody has written to: they have no directory, and reading them must not make one.

use std::sync::Arc;

use super::ClosedPartition;
use crate::broker::fetch::FetchInterests;
use crate::broker::partition::Partition;
use crate::types::LeaderEpoch;

/// What there is to read of a partition that was not open when it was looked up.
#[derive(Debug)]
pub enum Readable {
    /// It is open by now.
    Open(Arc<Partition>),
    /// Nothing: no directory, no records, no producers. It begins and ends at offset 0, in the epoch of its leader.
    Unwritten(LeaderEpoch),
    /// Its log must be opened first, with [`ClosedPartition::open`].
    OnDisk,
    /// The topic was deleted meanwhile.
    Removed,
}

impl ClosedPartition {
    /// What there is to read at this moment. Opens nothing, blocks nowhere.
    pub fn readable(&self) -> Readable {
        if let Some(partition) = self.slot.partition() {
            Readable::Open(partition)
        } else if !self.registry.topics.read().contains_key(&self.topic.id) {
            Readable::Removed
        } else if self.registry.placement.found(&self.topic.name, self.slot.index).is_none()
            && self.is_in_reach()
        {
            Readable::Unwritten(self.leader_epoch)
        } else {
            Readable::OnDisk
        }
    }

    /// False if its log may lie in a directory that does not work, where nobody can tell whether it was written to.
    pub(super) fn is_in_reach(&self) -> bool {
        let image = self.registry.metadata.image();
        let topic = image.topic_by_id(self.topic.id);
        let state = topic.and_then(|topic| topic.partition(self.slot.index));
        let node = self.registry.settings.node_id;
        state.is_none_or(|state| self.registry.placement.serves(state.directory_of(node)))
    }

    /// Fetches that wait for its data; the first write wakes them.
    pub fn fetch_interests(&self) -> &FetchInterests {
        self.slot.fetch_interests()
    }
}
