//! The store in its standalone form: Kafka's local metadata log.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use super::image::{ConfigResource, Image};
use super::records::Endpoint;
use crate::env::Env;
use crate::storage::LogDirectory;
use crate::types::{BrokerId, DirectoryId, PartitionIndex, ProducerId, TopicId, TopicName};

/// What opening the store needs.
#[derive(Clone, Debug)]
pub struct OpenMetadata {
    /// Clock, random numbers, files.
    pub env: Env,
    /// The log directory that holds `__cluster_metadata-0`; formatted if empty.
    pub directory: PathBuf,
    /// This node.
    pub node_id: BrokerId,
    /// From `meta.properties` (made by the caller when the directory is new).
    pub cluster_id: String,
    /// `directory.id` from `meta.properties`.
    pub directory_id: DirectoryId,
    /// Goes into this node's registration.
    pub rack: Option<String>,
    /// Advertised addresses, for this node's registration.
    pub endpoints: Vec<Endpoint>,
    /// Bytes of records after which a snapshot is written (`metadata.log.max.record.bytes.between.snapshots`).
    pub snapshot_after_bytes: u64,
}

impl OpenMetadata {
    /// Kafka's default of `metadata.log.max.record.bytes.between.snapshots`.
    pub const SNAPSHOT_AFTER_BYTES: u64 = 20 * 1024 * 1024;

    /// For the log directory of one node, without rack and addresses.
    pub fn new(env: Env, directory: &LogDirectory, node_id: BrokerId) -> Self {
        Self {
            env,
            directory: directory.path().to_owned(),
            node_id,
            cluster_id: directory.cluster_id().to_owned(),
            directory_id: directory.directory_id(),
            rack: None,
            endpoints: Vec::new(),
            snapshot_after_bytes: Self::SNAPSHOT_AFTER_BYTES,
        }
    }
}

/// A topic to be created; already validated by the caller but for existence.
#[derive(Clone, Debug)]
pub struct NewTopic {
    /// Name.
    pub name: TopicName,
    /// Replicas of each partition.
    pub partitions: Vec<Vec<BrokerId>>,
    /// Overrides, validated.
    pub configs: Vec<(String, String)>,
}

/// A topic by name or id.
#[derive(Clone, Debug)]
pub enum TopicRef {
    /// By name.
    Name(TopicName),
    /// By id.
    Id(TopicId),
}

/// Sets (or with `None` deletes) one config of a resource.
#[derive(Clone, Debug)]
pub struct ConfigChange {
    /// Whose.
    pub resource: ConfigResource,
    /// Key.
    pub key: String,
    /// New value.
    pub value: Option<String>,
}

/// Producer ids that this node may hand out: `first..first + count`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProducerIdBlock {
    /// First of the block.
    pub first: ProducerId,
    /// 1000 as in Kafka.
    pub count: i64,
}

/// Why a change could not be made.
#[derive(Debug, thiserror::Error)]
pub enum MetadataError {
    /// There is a topic of that name.
    #[error("topic '{0}' already exists")]
    TopicExists(TopicName),
    /// There is no such topic.
    #[error("there is no such topic")]
    UnknownTopic,
    /// The topic has not as many partitions as the caller believed.
    #[error("the topic has {0} partitions by now")]
    PartitionCountChanged(usize),
    /// The journal could not be written; final.
    #[error("the metadata log cannot be written: {0}")]
    Journal(Arc<io::Error>),
    /// Files found cannot be used; the text says what to do.
    #[error("{0}")]
    Unusable(String),
}

/// Sees each change; see [`MetadataStore::subscribe`].
pub type ImageListener = Box<dyn Fn(&Arc<Image>, &Arc<Image>) + Send + Sync>;

/// Owner of the metadata log. Methods that change something block until it is durable and the image shows it.
#[derive(Debug)]
pub struct MetadataStore {}

impl MetadataStore {
    /// Opens or formats the metadata log. Blocks.
    pub fn open(_args: OpenMetadata) -> Result<Self, MetadataError> {
        unimplemented!("metadata")
    }

    /// The newest image. Wait-free.
    pub fn image(&self) -> Arc<Image> {
        unimplemented!("metadata")
    }

    /// Calls `listener` with the image before and after each change, on the changing thread, once the change is durable
    /// and published and before its caller returns. A listener must not change the store.
    pub fn subscribe(&self, _listener: ImageListener) {
        unimplemented!("metadata")
    }

    /// Writes the files beside the log that only Kafka asks for (`quorum-state`, `partition.metadata`, epochs, bootstrap
    /// checkpoint). Best called once the broker answers: nothing but a later Kafka needs them. Blocks.
    pub fn settle(&self) -> Result<(), MetadataError> {
        unimplemented!("metadata")
    }

    /// Creates topics in one journal append; one result per topic, in order. Blocks.
    pub fn create_topics(&self, _topics: Vec<NewTopic>) -> Vec<Result<TopicId, MetadataError>> {
        unimplemented!("metadata")
    }

    /// Deletes topics in one journal append. Blocks.
    pub fn delete_topics(&self, _topics: Vec<TopicRef>) -> Vec<Result<TopicId, MetadataError>> {
        unimplemented!("metadata")
    }

    /// Adds partitions to a topic: `added[i]` are the replicas of the partition with index (present count + i). Blocks.
    pub fn create_partitions(
        &self,
        _topic: TopicId,
        _present: PartitionIndex,
        _added: Vec<Vec<BrokerId>>,
    ) -> Result<(), MetadataError> {
        unimplemented!("metadata")
    }

    /// Changes configs in one journal append. Blocks.
    pub fn change_configs(&self, _changes: Vec<ConfigChange>) -> Result<(), MetadataError> {
        unimplemented!("metadata")
    }

    /// Takes a block of producer ids. Blocks.
    pub fn allocate_producer_ids(&self) -> Result<ProducerIdBlock, MetadataError> {
        unimplemented!("metadata")
    }

    /// Epoch of this node's registration, for `.kafka_cleanshutdown`.
    pub fn broker_epoch(&self) -> i64 {
        unimplemented!("metadata")
    }

    /// Writes what a clean stop writes and closes the log. Blocks.
    pub fn close(&self) -> Result<(), MetadataError> {
        unimplemented!("metadata")
    }
}
