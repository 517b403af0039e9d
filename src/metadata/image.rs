//! The state that the metadata records add up to, immutable.
//!
//! An [`Image`] is a handful of shared maps. Making the next one copies only the maps that change, and of a map only its
//! pointers: with 10,000 topics that is well under a millisecond.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::journal::Voter;
use super::records::{OpaqueKey, RegisterBroker};
use crate::types::{
    BrokerId, DirectoryId, LeaderEpoch, Offset, PartitionIndex, ProducerId, TopicId, TopicName,
    Uuid,
};

/// Name of the feature that says which records a log may hold.
pub const METADATA_VERSION: &str = "metadata.version";

/// What a config belongs to (Kafka's `ConfigResource`).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ConfigResource {
    /// Type 2.
    Topic(TopicName),
    /// Type 4 with this node's id.
    Broker(BrokerId),
    /// Type 4 with the empty name: the default of all brokers.
    ClusterDefault,
    /// Type 16.
    ClientMetrics(String),
    /// Type 32.
    Group(String),
    /// Whatever else a log holds: kept, never acted on.
    Other {
        /// Its number.
        resource_type: i8,
        /// Its name.
        name: String,
    },
}

/// One partition.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "fields are named as in Kafka's PartitionRecord")]
pub struct PartitionState {
    pub replicas: Vec<BrokerId>,
    pub isr: Vec<BrokerId>,
    pub removing_replicas: Vec<BrokerId>,
    pub adding_replicas: Vec<BrokerId>,
    /// −1 for none.
    pub leader: BrokerId,
    pub leader_recovery_state: i8,
    pub leader_epoch: LeaderEpoch,
    pub partition_epoch: i32,
    /// One for each replica.
    pub directories: Vec<DirectoryId>,
    pub eligible_leader_replicas: Vec<BrokerId>,
    pub last_known_elr: Vec<BrokerId>,
}

impl PartitionState {
    /// The log directory of a node's replica; `None` if the log names only a placeholder (migrating, unassigned, lost).
    pub fn directory_of(&self, node: BrokerId) -> Option<DirectoryId> {
        let replica = self.replicas.iter().position(|id| *id == node)?;
        self.directories.get(replica).copied().filter(|id| !is_placeholder(*id))
    }
}

/// True for the ids that stand for no directory (Kafka's `DirectoryId.reserved`; these are the first hundred there).
pub(super) fn is_placeholder(directory: DirectoryId) -> bool {
    directory.to_bytes()[..15] == [0; 15]
}

/// One topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topic {
    /// Its id, new with each creation.
    pub id: TopicId,
    /// Its name.
    pub name: TopicName,
    /// Its partitions, by index.
    pub partitions: Vec<PartitionState>,
}

impl Topic {
    /// A partition of it.
    pub fn partition(&self, index: PartitionIndex) -> Option<&PartitionState> {
        usize::try_from(index.get()).ok().and_then(|i| self.partitions.get(i))
    }
}

/// Where the metadata log and its quorum stand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QuorumState {
    /// `kraft.version`: 0 static, 1 dynamic quorum.
    pub kraft_version: i16,
    /// The voters of a dynamic quorum.
    pub voters: Vec<Voter>,
    /// Those who could vote for the last leader, whatever the kind of quorum.
    pub electors: Vec<BrokerId>,
}

/// The whole state at one offset of the metadata log.
#[derive(Clone, Debug, Default)]
pub struct Image {
    /// Cluster id, 22 characters.
    pub cluster_id: String,
    /// Everything below it is part of the image.
    pub end_offset: Offset,
    /// Topics by name.
    pub topics: Arc<HashMap<TopicName, Arc<Topic>>>,
    /// Topics by id.
    pub topics_by_id: Arc<HashMap<Uuid, Arc<Topic>>>,
    /// Partitions of all topics.
    pub partition_count: usize,
    /// Configs set on resources (overrides only).
    pub configs: Arc<HashMap<ConfigResource, Arc<BTreeMap<String, String>>>>,
    /// Finalized feature levels, without `kraft.version`: see [`Image::finalized_features`].
    pub features: Arc<BTreeMap<String, i16>>,
    /// Registrations: rack, end points, directories, whether fenced.
    pub brokers: Arc<BTreeMap<BrokerId, Arc<RegisterBroker>>>,
    /// First producer id that no block holds yet.
    pub next_producer_id: ProducerId,
    /// Records that are kept but not understood, as they were written.
    pub opaque: Arc<BTreeMap<OpaqueKey, Arc<[u8]>>>,
    /// Voters of the metadata log.
    pub quorum: Arc<QuorumState>,
}

impl Image {
    /// A topic by name.
    pub fn topic(&self, name: &str) -> Option<&Arc<Topic>> {
        self.topics.get(name)
    }

    /// A topic by id.
    pub fn topic_by_id(&self, id: TopicId) -> Option<&Arc<Topic>> {
        self.topics_by_id.get(&id)
    }

    /// Overrides of a resource; empty if none are set.
    pub fn overrides(&self, resource: &ConfigResource) -> Arc<BTreeMap<String, String>> {
        self.configs.get(resource).cloned().unwrap_or_default()
    }

    /// A broker's registration.
    pub fn broker(&self, id: BrokerId) -> Option<&Arc<RegisterBroker>> {
        self.brokers.get(&id)
    }

    /// Feature levels as ApiVersions and DescribeFeatures answer them, `kraft.version` among them where it is above 0.
    pub fn finalized_features(&self) -> BTreeMap<String, i16> {
        let mut features = self.features.as_ref().clone();
        if self.quorum.kraft_version > 0 {
            features.insert("kraft.version".to_owned(), self.quorum.kraft_version);
        }
        features
    }

    /// What ApiVersions calls the epoch of the finalized features: the offset of the last record in the image.
    pub fn finalized_features_epoch(&self) -> i64 {
        self.end_offset.get() - 1
    }

    /// Level of `metadata.version`; 0 before any is set.
    pub fn metadata_version(&self) -> i16 {
        self.features.get(METADATA_VERSION).copied().unwrap_or(0)
    }
}
