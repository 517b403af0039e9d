//! Topics: describe, create, delete.

use kafka_protocol::messages::create_topics_request::{CreatableTopic, CreatableTopicConfig};
use kafka_protocol::messages::delete_topics_request::DeleteTopicState;
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::metadata_response::{
    MetadataResponsePartition, MetadataResponseTopic,
};
use kafka_protocol::messages::{
    CreateTopicsRequest, DeleteTopicsRequest, MetadataRequest, MetadataResponse, TopicName,
};

use super::patience::Patience;
use super::{Client, ClientError};
use crate::kafka::codec;
use crate::types::Uuid;

const METADATA_VERSION: i16 = 12;
const CREATE_TOPICS_VERSION: i16 = 7;
const DELETE_TOPICS_VERSION: i16 = 6;
/// First version whose topics are structs with a name or an id.
const DELETE_BY_STATE_FROM: i16 = 6;

/// How long a broker may take for a change.
const CHANGE_TIMEOUT_MS: i32 = 30_000;

/// Which topics to describe.
#[derive(Clone, Copy, Debug)]
pub enum Topics<'a> {
    /// All that there are.
    All,
    /// None: brokers only.
    None,
    /// These.
    Named(&'a [&'a str]),
}

/// A cluster as one broker tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterDescription {
    /// Its id, if it has one.
    pub cluster_id: Option<String>,
    /// Node that takes changes, −1 if unknown.
    pub controller: i32,
    /// Its brokers.
    pub brokers: Vec<BrokerAddress>,
    /// The topics asked for.
    pub topics: Vec<TopicDescription>,
}

/// Where a broker is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokerAddress {
    /// Its node id.
    pub id: i32,
    /// Advertised host.
    pub host: String,
    /// Advertised port.
    pub port: i32,
    /// Where it stands, if told.
    pub rack: Option<String>,
}

/// One topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicDescription {
    /// Its name.
    pub name: String,
    /// Its id, zero from brokers that do not tell.
    pub id: Uuid,
    /// True for topics of the broker's own.
    pub internal: bool,
    /// Its partitions, by index.
    pub partitions: Vec<PartitionDescription>,
}

/// One partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionDescription {
    /// Which.
    pub index: i32,
    /// Node that leads it, −1 for none.
    pub leader: i32,
    /// Generation of that leadership.
    pub leader_epoch: i32,
    /// Nodes that hold it.
    pub replicas: Vec<i32>,
    /// Those that are in sync.
    pub isr: Vec<i32>,
}

/// A topic to be created.
#[derive(Clone, Debug)]
pub struct NewTopic<'a> {
    /// Its name.
    pub name: &'a str,
    /// `None` for the broker's default.
    pub partitions: Option<i32>,
    /// `None` for the broker's default.
    pub replication_factor: Option<i16>,
    /// Keys and values that differ from the defaults.
    pub configs: &'a [(String, String)],
    /// Only check whether it could be created.
    pub validate_only: bool,
}

impl Client {
    /// Describes the cluster and the topics asked for, without creating any. A topic that does not exist is an error.
    pub async fn describe(
        &mut self,
        topics: Topics<'_>,
    ) -> Result<ClusterDescription, ClientError> {
        let named = |name: &&str| MetadataRequestTopic::default().with_name(Some(topic_name(name)));
        let topics = match topics {
            Topics::All => None,
            Topics::None => Some(Vec::new()),
            Topics::Named(names) => Some(names.iter().map(named).collect()),
        };
        let request =
            MetadataRequest::default().with_topics(topics).with_allow_auto_topic_creation(false);
        let answer = self.link.call(&request, METADATA_VERSION).await?;
        describe(answer)
    }

    /// Creates a topic and waits, for a bounded time, until this broker knows leaders for its partitions.
    pub async fn create_topic(&mut self, topic: &NewTopic<'_>) -> Result<(), ClientError> {
        self.ask_for_topic(topic).await?;
        if topic.validate_only {
            return Ok(());
        }
        let mut patience = Patience::default();
        while !self.is_led(topic.name).await? && patience.has_more().await {}
        Ok(())
    }

    async fn is_led(&mut self, topic: &str) -> Result<bool, ClientError> {
        match self.describe(Topics::Named(&[topic])).await {
            Ok(cluster) => {
                let mut partitions = cluster.topics.iter().flat_map(|topic| &topic.partitions);
                Ok(partitions.all(|partition| partition.leader >= 0))
            }
            // A refusal tells of the metadata that this broker has so far.
            Err(ClientError::Broker { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    async fn ask_for_topic(&mut self, topic: &NewTopic<'_>) -> Result<(), ClientError> {
        let config = |(key, value): &(String, String)| {
            CreatableTopicConfig::default()
                .with_name(codec::text(key))
                .with_value(Some(codec::text(value)))
        };
        let new = CreatableTopic::default()
            .with_name(topic_name(topic.name))
            .with_num_partitions(topic.partitions.unwrap_or(-1))
            .with_replication_factor(topic.replication_factor.unwrap_or(-1))
            .with_configs(topic.configs.iter().map(config).collect());
        let request = CreateTopicsRequest::default()
            .with_topics(vec![new])
            .with_timeout_ms(CHANGE_TIMEOUT_MS)
            .with_validate_only(topic.validate_only);
        let answer = self.link.call(&request, CREATE_TOPICS_VERSION).await?;
        let Some(result) = answer.topics.first() else {
            return Err(self.link.malformed("the answer names no topic"));
        };
        let message = result.error_message.as_ref().map(|text| text.as_str());
        ClientError::check(result.error_code, message, || format!("topic {}", topic.name))
    }

    /// Deletes a topic with all its records.
    pub async fn delete_topic(&mut self, name: &str) -> Result<(), ClientError> {
        let mut request = DeleteTopicsRequest::default().with_timeout_ms(CHANGE_TIMEOUT_MS);
        let version = self.link.version_of::<DeleteTopicsRequest>(DELETE_TOPICS_VERSION)?;
        if version >= DELETE_BY_STATE_FROM {
            request.topics = vec![DeleteTopicState::default().with_name(Some(topic_name(name)))];
        } else {
            request.topic_names = vec![topic_name(name)];
        }
        let answer = self.link.call(&request, version).await?;
        let Some(result) = answer.responses.first() else {
            return Err(self.link.malformed("the answer names no topic"));
        };
        let message = result.error_message.as_ref().map(|text| text.as_str());
        ClientError::check(result.error_code, message, || format!("topic {name}"))
    }
}

pub(super) fn topic_name(name: &str) -> TopicName {
    codec::text(name).into()
}

fn describe(answer: MetadataResponse) -> Result<ClusterDescription, ClientError> {
    let brokers = answer.brokers.iter().map(|broker| BrokerAddress {
        id: broker.node_id.0,
        host: broker.host.to_string(),
        port: broker.port,
        rack: broker.rack.as_ref().map(ToString::to_string),
    });
    Ok(ClusterDescription {
        cluster_id: answer.cluster_id.as_ref().map(ToString::to_string),
        controller: answer.controller_id.0,
        brokers: brokers.collect(),
        topics: answer.topics.iter().map(describe_topic).collect::<Result<_, _>>()?,
    })
}

fn describe_topic(topic: &MetadataResponseTopic) -> Result<TopicDescription, ClientError> {
    let name = topic.name.as_ref().map(|name| name.to_string()).unwrap_or_default();
    ClientError::check(topic.error_code, None, || format!("topic {name}"))?;
    let mut partitions: Vec<_> = topic.partitions.iter().map(describe_partition).collect();
    partitions.sort_by_key(|partition| partition.index);
    let id = codec::id_from_wire(topic.topic_id);
    Ok(TopicDescription { name, id, internal: topic.is_internal, partitions })
}

fn describe_partition(partition: &MetadataResponsePartition) -> PartitionDescription {
    PartitionDescription {
        index: partition.partition_index,
        leader: partition.leader_id.0,
        leader_epoch: partition.leader_epoch,
        replicas: partition.replica_nodes.iter().map(|node| node.0).collect(),
        isr: partition.isr_nodes.iter().map(|node| node.0).collect(),
    }
}
