//! Sets of partitions: what members should have and what they hold.
//!
//! Both are vectors in rising order, which is compact, compared at memory speed, and what records and answers want.

use std::collections::HashMap;

use kafka_protocol::messages::consumer_group_heartbeat_request::TopicPartitions as ReportedTopic;

use crate::coordinator::records::AssignedTopic;
use crate::types::{PartitionIndex, TopicId};

/// A partition by the id of its topic (Kafka's `TopicIdPartition`). 20 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct TopicIdPartition {
    pub(super) topic: TopicId,
    pub(super) partition: PartitionIndex,
}

/// A partition that a member was given. 24 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Held {
    pub(super) at: TopicIdPartition,
    /// The epoch in which the member was given it: commits of older epochs do not count (KIP-1251).
    pub(super) since_epoch: i32,
}

/// What a member should have: in rising order, without doubles.
pub(super) type Target = Vec<TopicIdPartition>;

/// What a member holds: in rising order, without doubles.
pub(super) type Holding = Vec<Held>;

impl TopicIdPartition {
    pub(super) fn new(topic: TopicId, partition: i32) -> Self {
        Self { topic, partition: PartitionIndex::new(partition) }
    }
}

/// True if `holding` has the partition.
pub(super) fn holds(holding: &[Held], at: TopicIdPartition) -> bool {
    find(holding, at).is_some()
}

/// The entry of a partition.
pub(super) fn find(holding: &[Held], at: TopicIdPartition) -> Option<&Held> {
    let index = holding.binary_search_by(|held| held.at.cmp(&at)).ok()?;
    holding.get(index)
}

/// The topics of a holding, each once.
pub(super) fn topics(holding: &[Held]) -> impl Iterator<Item = TopicId> + '_ {
    holding.chunk_by(|a, b| a.at.topic == b.at.topic).map(|chunk| chunk[0].at.topic)
}

/// A target that a record tells.
pub(super) fn target_from_record(topics: &[AssignedTopic]) -> Target {
    let partitions_of = |topic: &AssignedTopic| {
        let id = topic.topic_id;
        let of_topic =
            move |partition: &PartitionIndex| TopicIdPartition { topic: id, partition: *partition };
        topic.partitions.iter().map(of_topic).collect::<Vec<_>>()
    };
    let mut target: Target = topics.iter().flat_map(partitions_of).collect();
    target.sort_unstable();
    target.dedup();
    target
}

/// The reverse.
pub(super) fn target_to_record(target: &[TopicIdPartition]) -> Vec<AssignedTopic> {
    let topic = |chunk: &[TopicIdPartition]| AssignedTopic {
        topic_id: chunk[0].topic,
        partitions: chunk.iter().map(|at| at.partition).collect(),
        assignment_epochs: Vec::new(),
    };
    target.chunk_by(|a, b| a.topic == b.topic).map(topic).collect()
}

/// A holding that a record tells; partitions without epochs of their own have been held since `epoch`.
pub(super) fn holding_from_record(topics: &[AssignedTopic], epoch: i32) -> Holding {
    let mut holding = Holding::new();
    for topic in topics {
        let has_epochs = topic.assignment_epochs.len() == topic.partitions.len();
        for (index, partition) in topic.partitions.iter().enumerate() {
            let at = TopicIdPartition { topic: topic.topic_id, partition: *partition };
            let since_epoch =
                if has_epochs { topic.assignment_epochs[index] } else { epoch.max(0) };
            holding.push(Held { at, since_epoch });
        }
    }
    holding.sort_unstable();
    holding.dedup_by(|a, b| a.at == b.at);
    holding
}

/// The reverse.
pub(super) fn holding_to_record(holding: &[Held]) -> Vec<AssignedTopic> {
    let topic = |chunk: &[Held]| AssignedTopic {
        topic_id: chunk[0].at.topic,
        partitions: chunk.iter().map(|held| held.at.partition).collect(),
        assignment_epochs: chunk.iter().map(|held| held.since_epoch).collect(),
    };
    holding.chunk_by(|a, b| a.at.topic == b.at.topic).map(topic).collect()
}

/// The partitions that a member says it owns. Their number is bounded by the request's frame.
pub(super) fn reported(topics: &[ReportedTopic]) -> impl Iterator<Item = TopicIdPartition> + '_ {
    topics.iter().flat_map(|topic| {
        let id = TopicId::from_bytes(topic.topic_id.into_bytes());
        topic.partitions.iter().map(move |partition| TopicIdPartition::new(id, *partition))
    })
}

/// Who holds what: how many members hold each partition, or have not let go of it yet.
///
/// It is never more than one, but while a log is read back whose cleaner has dropped what lay in between.
#[derive(Debug, Default)]
pub(super) struct Owners(HashMap<TopicIdPartition, u32>);

impl Owners {
    /// True if a member has it.
    pub(super) fn is_held(&self, at: TopicIdPartition) -> bool {
        self.0.contains_key(&at)
    }

    pub(super) fn add(&mut self, holding: &[Held]) {
        for held in holding {
            *self.0.entry(held.at).or_default() += 1;
        }
    }

    pub(super) fn remove(&mut self, holding: &[Held]) {
        for held in holding {
            if let Some(count) = self.0.get_mut(&held.at) {
                *count -= 1;
                if *count == 0 {
                    self.0.remove(&held.at);
                }
            }
        }
    }
}
