//! What the coordinators of the broker share: their parts, which shard keeps a name, which shards there are.

use std::sync::{Arc, Weak};

use super::Broker;
use super::coordinator_log::CoordinatorLog;
use super::registry::PartitionRegistry;
use crate::coordinator::machine::Machine;
use crate::coordinator::runtime::{Coordinator, NewCoordinator, ShardLog, StateMemory};
use crate::env::Env;
use crate::metadata::{Image, MetadataStore};
use crate::observe::{CoordinatorOf, Metrics};
use crate::types::PartitionIndex;

/// What every coordinator is made of.
#[derive(Clone)]
pub(super) struct CoordinatorParts {
    pub(super) env: Env,
    pub(super) metadata: Arc<MetadataStore>,
    pub(super) partitions: Arc<PartitionRegistry>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) memory: Arc<StateMemory>,
    /// Carries out errands.
    pub(super) broker: Weak<Broker>,
}

impl CoordinatorParts {
    /// The coordinator whose shards are the partitions of `topic`.
    pub(super) fn start<M: Machine>(
        self,
        coordinates: CoordinatorOf,
        topic: &'static str,
        machine: impl Fn() -> M + Send + Sync + 'static,
        run_errand: fn(Arc<Broker>, PartitionIndex, M::Errand),
    ) -> Arc<Coordinator<M>> {
        let Self { env, metadata, partitions, metrics, memory, broker } = self;
        let store = Arc::clone(&metadata);
        let log = CoordinatorLog {
            env: env.clone(),
            metadata,
            partitions,
            topic,
            index: PartitionIndex::new(0),
        };
        Coordinator::new(NewCoordinator {
            env,
            metrics,
            coordinates,
            memory,
            image: Box::new(move || store.image()),
            machine: Box::new(machine),
            log: Box::new(move |index| {
                Arc::new(CoordinatorLog { index, ..log.clone() }) as Arc<dyn ShardLog>
            }),
            errands: Box::new(move |shard, errand| {
                if let Some(broker) = broker.upgrade() {
                    run_errand(broker, shard, errand);
                }
            }),
        })
    }
}

/// The partition of an internal topic that keeps a group or a transactional id; `None` before the topic exists.
pub(super) fn shard_of(image: &Image, topic: &str, name: &str) -> Option<PartitionIndex> {
    Some(partition_for(name, image.topic(topic)?.partitions.len()))
}

/// The partitions of an internal topic that something was written to.
pub(super) fn shards_on_disk(
    image: &Image,
    partitions: &PartitionRegistry,
    topic: &str,
) -> Vec<PartitionIndex> {
    let Some(topic) = image.topic(topic) else { return Vec::new() };
    let all = (0..topic.partitions.len()).filter_map(|index| i32::try_from(index).ok());
    all.map(PartitionIndex::new).filter(|index| partitions.holds(topic, *index)).collect()
}

/// Kafka's choice: the absolute value of Java's hash of the name, modulo the number of partitions.
fn partition_for(name: &str, partitions: usize) -> PartitionIndex {
    let hash = name
        .encode_utf16()
        .fold(0_i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit)));
    // Kafka's `Utils.abs`: the smallest number has no absolute value and counts as 0.
    let positive = hash.checked_abs().unwrap_or(0);
    let count = i32::try_from(partitions).unwrap_or(i32::MAX).max(1);
    PartitionIndex::new(positive % count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_go_to_the_partitions_where_kafka_keeps_them() {
        assert_eq!(partition_for("g1", 50), PartitionIndex::new(42));
        assert_eq!(partition_for("my-group", 50), PartitionIndex::new(12));
        // Java: "polygenelubricants".hashCode() == Integer.MIN_VALUE.
        assert_eq!(partition_for("polygenelubricants", 50), PartitionIndex::new(0));
    }
}
