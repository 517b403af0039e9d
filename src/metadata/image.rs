//! The state that the metadata records add up to, immutable.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::types::{BrokerId, DirectoryId, LeaderEpoch, PartitionIndex, TopicId, TopicName, Uuid};

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
}

/// One partition.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "fields are named as in Kafka's PartitionRecord")]
pub struct PartitionState {
    pub replicas: Vec<BrokerId>,
    pub isr: Vec<BrokerId>,
    pub leader: BrokerId,
    pub leader_epoch: LeaderEpoch,
    pub partition_epoch: i32,
    pub directories: Vec<DirectoryId>,
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

/// The whole state at one offset of the metadata log.
#[derive(Clone, Debug, Default)]
pub struct Image {
    /// Cluster id, 22 characters.
    pub cluster_id: String,
    /// Topics by name.
    pub topics: Arc<HashMap<TopicName, Arc<Topic>>>,
    /// Topics by id.
    pub topics_by_id: Arc<HashMap<Uuid, Arc<Topic>>>,
    /// Configs set on resources (overrides only).
    pub configs: Arc<HashMap<ConfigResource, Arc<BTreeMap<String, String>>>>,
    /// Finalized feature levels.
    pub features: Arc<BTreeMap<String, i16>>,
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
}
