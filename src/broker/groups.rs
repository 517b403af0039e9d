//! Groups and committed offsets: which shard a group belongs to, and the way there.

use std::sync::Arc;

use super::Broker;
use super::coordinator_log::CoordinatorLog;
use super::registry::PartitionRegistry;
use super::step::{BoxFuture, Step, off_thread};
use super::topics::CreateTopicError;
use crate::config::Overrides;
use crate::coordinator::groups::{GroupCommand, GroupReply, GroupSettings, Groups};
use crate::coordinator::runtime::{CallError, Coordinator, NewCoordinator, StateMemory};
use crate::env::Env;
use crate::metadata::{Image, MetadataStore};
use crate::observe::{CoordinatorOf, Metrics};
use crate::types::PartitionIndex;

/// Where groups and offsets are kept (Kafka's `Topic.GROUP_METADATA_TOPIC_NAME`).
pub const CONSUMER_OFFSETS: &str = "__consumer_offsets";

/// The feature whose level 1 is the consumer protocol.
pub const GROUP_VERSION: &str = "group.version";

/// Setting with the protocols that are served.
const REBALANCE_PROTOCOLS: &str = "group.coordinator.rebalance.protocols";

/// Why a group cannot be reached.
#[derive(Debug, thiserror::Error)]
pub enum GroupError {
    /// `__consumer_offsets` could not be made.
    #[error("{CONSUMER_OFFSETS} cannot be created: {0}")]
    NoTopic(CreateTopicError),
    /// The group's shard did not answer.
    #[error(transparent)]
    Call(#[from] CallError),
}

/// What the coordinator of groups is made of.
pub(super) struct NewGroups {
    pub(super) env: Env,
    pub(super) metadata: Arc<MetadataStore>,
    pub(super) partitions: Arc<PartitionRegistry>,
    pub(super) settings: Arc<GroupSettings>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) memory: Arc<StateMemory>,
}

/// The coordinator of all groups. Shards that have a log are read at once, in the background, so that time-outs and expiry
/// go on after a restart.
pub(super) fn start(args: NewGroups) -> Arc<Coordinator<Groups>> {
    let NewGroups { env, metadata, partitions, settings, metrics, memory } = args;
    let image = metadata.image();
    let store = Arc::clone(&metadata);
    let registry = Arc::clone(&partitions);
    let counts = Arc::clone(&metrics);
    let coordinator = Coordinator::new(NewCoordinator {
        env: env.clone(),
        metrics,
        coordinates: CoordinatorOf::Groups,
        memory,
        image: Box::new(move || store.image()),
        machine: Box::new(move || Groups::new(Arc::clone(&settings), Arc::clone(&counts))),
        log: Box::new(move |index| {
            Arc::new(CoordinatorLog {
                env: env.clone(),
                metadata: Arc::clone(&metadata),
                partitions: Arc::clone(&partitions),
                topic: CONSUMER_OFFSETS,
                index,
            })
        }),
    });
    for shard in shards_on_disk(&image, &registry) {
        coordinator.load(shard);
    }
    coordinator
}

fn shards_on_disk(image: &Image, partitions: &PartitionRegistry) -> Vec<PartitionIndex> {
    let Some(topic) = image.topic(CONSUMER_OFFSETS) else { return Vec::new() };
    let all = (0..topic.partitions.len()).filter_map(|index| i32::try_from(index).ok());
    all.map(PartitionIndex::new).filter(|index| partitions.holds(topic, *index)).collect()
}

impl Broker {
    /// Makes sure that groups have a place: creates `__consumer_offsets` when it is first needed.
    pub fn ensure_group_topic(self: &Arc<Self>) -> Step<Result<(), GroupError>> {
        if self.metadata.image().topic(CONSUMER_OFFSETS).is_some() {
            return Step::Now(Ok(()));
        }
        let broker = Arc::clone(self);
        Step::later(off_thread(move || {
            broker.create_internal_topic(CONSUMER_OFFSETS).map_err(GroupError::NoTopic)
        }))
    }

    /// Sends a command to the shard of `group`. It is queued, behind those that came earlier, before this returns, unless
    /// the very first one must create `__consumer_offsets`.
    pub fn group_call(
        self: &Arc<Self>,
        group: &str,
        command: GroupCommand,
    ) -> BoxFuture<Result<GroupReply, GroupError>> {
        if let Some(shard) = self.group_shard(group) {
            let answer = self.groups.call(shard, command);
            return Box::pin(async move { Ok(answer.await?) });
        }
        let (broker, group) = (Arc::clone(self), group.to_owned());
        Box::pin(async move {
            broker.ensure_group_topic().finish().await?;
            let shard = broker.group_shard(&group).ok_or(CallError::NotAvailable)?;
            Ok(broker.groups.call(shard, command).await?)
        })
    }

    /// Sends a command to every shard that has a log; the answers in order of the shards.
    pub fn group_call_each(
        self: &Arc<Self>,
        command: impl Fn() -> GroupCommand,
    ) -> BoxFuture<Vec<Result<GroupReply, GroupError>>> {
        let shards = shards_on_disk(&self.metadata.image(), &self.partitions);
        let answers: Vec<_> =
            shards.into_iter().map(|shard| self.groups.call(shard, command())).collect();
        Box::pin(async move {
            let mut replies = Vec::with_capacity(answers.len());
            for answer in answers {
                replies.push(answer.await.map_err(GroupError::from));
            }
            replies
        })
    }

    /// Sends everyone away who waits for a group; what comes from now on hears that this is not its coordinator. What was
    /// acknowledged is in the log.
    pub fn stop_groups(&self) {
        self.groups.close();
    }

    /// True if members of the consumer protocol are served (KIP-848): the cluster has been brought to it, which one that an
    /// older Kafka made has not, since its owner may want to go back there; and the settings do not exclude it.
    pub fn serves_consumer_protocol(&self) -> bool {
        let is_finalized =
            self.metadata.image().features.get(GROUP_VERSION).is_some_and(|&level| level >= 1);
        let none = Overrides::new();
        let protocols = self.settings.layers(&none, &none).list(REBALANCE_PROTOCOLS);
        is_finalized && protocols.iter().any(|protocol| protocol == "consumer")
    }

    /// The partition of `__consumer_offsets` that keeps a group; `None` before the topic exists.
    pub fn group_shard(&self, group: &str) -> Option<PartitionIndex> {
        let image = self.metadata.image();
        let partitions = image.topic(CONSUMER_OFFSETS)?.partitions.len();
        Some(partition_for(group, partitions))
    }
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
