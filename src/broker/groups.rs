//! Groups and committed offsets: which shard a group belongs to, and the way there.

use std::sync::Arc;

use super::Broker;
use super::coordinator_shards::{Coordinated, CoordinatorError, CoordinatorParts};
use super::step::{BoxFuture, Step};
use crate::config::Overrides;
use crate::coordinator::groups::{
    GroupCommand, GroupErrand, GroupReply, GroupSettings, Groups, VerifyTransaction,
};
use crate::coordinator::runtime::Coordinator;
use crate::coordinator::transactions::Partitions;
use crate::env;
use crate::observe::CoordinatorOf;
use crate::types::{PartitionIndex, TopicName, TopicPartition};

/// Where groups and offsets are kept (Kafka's `Topic.GROUP_METADATA_TOPIC_NAME`).
pub const CONSUMER_OFFSETS: &str = "__consumer_offsets";

/// The feature whose level 1 is the consumer protocol.
pub const GROUP_VERSION: &str = "group.version";

/// Setting with the protocols that are served.
const REBALANCE_PROTOCOLS: &str = "group.coordinator.rebalance.protocols";

impl Coordinated for Groups {
    const TOPIC: &'static str = CONSUMER_OFFSETS;

    fn coordinator(broker: &Broker) -> &Arc<Coordinator<Self>> {
        &broker.groups
    }
}

/// The coordinator of all groups.
pub(super) fn start(
    parts: CoordinatorParts,
    settings: Arc<GroupSettings>,
) -> Arc<Coordinator<Groups>> {
    let metrics = Arc::clone(&parts.metrics);
    parts.start(
        CoordinatorOf::Groups,
        move || Groups::new(Arc::clone(&settings), Arc::clone(&metrics)),
        Broker::run_group_errand,
    )
}

impl Broker {
    /// Makes sure that groups have a place: creates `__consumer_offsets` when it is first needed.
    pub fn ensure_group_topic(self: &Arc<Self>) -> Step<Result<(), CoordinatorError>> {
        self.ensure_topic_of::<Groups>()
    }

    /// Sends a command to the shard of `group`. It is queued, behind those that came earlier, before this returns, unless
    /// the very first one must create `__consumer_offsets`.
    pub fn group_call(
        self: &Arc<Self>,
        group: &str,
        command: GroupCommand,
    ) -> BoxFuture<Result<GroupReply, CoordinatorError>> {
        self.call_shard_of::<Groups>(group, command)
    }

    /// Sends a command to every shard that has a log; the answers in order of the shards.
    pub fn group_call_each(
        &self,
        command: impl Fn() -> GroupCommand,
    ) -> BoxFuture<Vec<Result<GroupReply, CoordinatorError>>> {
        self.call_each_shard_of::<Groups>(command)
    }

    /// About how much memory the shard of a group takes, and so the group at most.
    pub fn group_state_bytes(&self, group: &str) -> usize {
        self.state_bytes_of::<Groups>(group)
    }

    /// Carries out what a shard of groups asks for.
    fn run_group_errand(self: Arc<Self>, shard: PartitionIndex, errand: GroupErrand) {
        let GroupErrand::VerifyTransaction(asked) = errand;
        let VerifyTransaction { errand, transactional_id, producer, version } = asked;
        let part = TopicPartition {
            topic: TopicName::new(CONSUMER_OFFSETS).expect("a legal name"),
            partition: shard,
        };
        let partitions =
            Partitions { id: transactional_id, producer, partitions: vec![part], version };
        // Detached: it ends with the answer, which the shard takes whenever it comes.
        drop(env::spawn(async move {
            let verdict = self.join_transaction(partitions).await;
            let producer = producer.id;
            let verified = GroupCommand::TransactionVerified { errand, producer, verdict };
            // A shard that was thrown away meanwhile has forgotten who asked.
            let _ = self.groups.call(shard, verified).await;
        }));
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
        self.shard_of::<Groups>(group)
    }
}
