//! CreateTopics (19), versions 2-7. KIP-4, KIP-195, KIP-464, KIP-482, KIP-525, KIP-599.
//!
//! Answers stand in the order of the request; Kafka puts names that come twice last.

use kafka_protocol::messages::CreateTopicsRequest;
use kafka_protocol::messages::create_topics_request::CreatableTopic;
use kafka_protocol::messages::create_topics_response::{
    CreatableTopicConfigs, CreatableTopicResult,
};

use crate::broker::Broker;
use crate::broker::configs::BrokerConfigs;
use crate::broker::topics::{
    Assignment, CreateTopicError, CreateTopicOutcome, CreateTopics, CreatedTopic, Mode, TopicSpec,
};
use crate::config::DescribedConfig;
use crate::kafka::{Disconnect, ErrorCode, Outcome, Request, Response, blocking, codec};
use crate::types::{BrokerId, PartitionIndex};

/// What a topic takes in the answer, with its configs.
const TOPIC_BYTES: usize = 4 * 1024;

/// First version with compact lengths and tags.
const FLEXIBLE_FROM: i16 = 5;

/// Answers a CreateTopics request.
pub fn handle(request: Request) -> Outcome {
    let body: CreateTopicsRequest = match codec::decode(&request) {
        Ok(body) => body,
        Err(disconnect) => return Outcome::Close(disconnect),
    };
    let Request { version, broker, .. } = request;
    let wanted = CreateTopics {
        mode: if body.validate_only { Mode::ValidateOnly } else { Mode::Apply },
        topics: body.topics.iter().map(spec).collect(),
    };
    let bytes = wanted.topics.len() * TOPIC_BYTES;
    blocking::serial(broker, bytes, move |broker| respond(broker, wanted, version))
}

fn spec(topic: &CreatableTopic) -> TopicSpec {
    let assignment = |partition: i32, replicas: &[kafka_protocol::messages::BrokerId]| Assignment {
        partition: PartitionIndex::new(partition),
        replicas: replicas.iter().map(|id| BrokerId::new(id.0)).collect(),
    };
    let value = |value: &kafka_protocol::protocol::StrBytes| value.to_string();
    TopicSpec {
        name: topic.name.to_string(),
        partitions: topic.num_partitions,
        replication_factor: topic.replication_factor,
        assignments: topic
            .assignments
            .iter()
            .map(|a| assignment(a.partition_index, &a.broker_ids))
            .collect(),
        configs: topic
            .configs
            .iter()
            .map(|c| (c.name.to_string(), c.value.as_ref().map(value)))
            .collect(),
    }
}

/// The configs of each topic are told: of ten thousand topics in one request that is too much to hold but in encoded form.
fn respond(broker: &Broker, wanted: CreateTopics, version: i16) -> Result<Response, Disconnect> {
    let outcomes = broker.create_topics(wanted);
    let configs = BrokerConfigs::at(&broker.settings, &broker.metadata.image());
    codec::encode_list(version, FLEXIBLE_FROM, outcomes.len(), |number, _| {
        result(&outcomes[number], &configs, version)
    })
}

fn result(
    outcome: &CreateTopicOutcome,
    configs: &BrokerConfigs,
    version: i16,
) -> CreatableTopicResult {
    let named = CreatableTopicResult::default().with_name(codec::topic_name(&outcome.name));
    match &outcome.result {
        Ok(created) => with_created(named, created, configs, version),
        Err(error) => named
            .with_error_code(code(error).number())
            .with_error_message(Some(codec::text(&error.to_string())))
            .with_configs(Some(Vec::new())),
    }
}

fn with_created(
    result: CreatableTopicResult,
    created: &CreatedTopic,
    configs: &BrokerConfigs,
    version: i16,
) -> CreatableTopicResult {
    let result = result.with_error_message(None);
    let result =
        if version >= 7 { result.with_topic_id(codec::id_to_wire(created.id)) } else { result };
    if version < 5 {
        return result;
    }
    result
        .with_num_partitions(created.partitions)
        .with_replication_factor(created.replication_factor)
        .with_configs(Some(configs.of_topic(&created.overrides).iter().map(config).collect()))
}

fn config(described: &DescribedConfig) -> CreatableTopicConfigs {
    CreatableTopicConfigs::default()
        .with_name(codec::text(described.name))
        .with_value(codec::optional_text(described.value.as_deref()))
        .with_read_only(described.read_only)
        .with_config_source(described.source.wire_code())
        .with_is_sensitive(described.sensitive)
}

/// The code of a topic that was not made.
pub(super) fn code(error: &CreateTopicError) -> ErrorCode {
    match error {
        CreateTopicError::Duplicate
        | CreateTopicError::Prohibited
        | CreateTopicError::AssignmentAndPartitions
        | CreateTopicError::AssignmentAndReplicationFactor => ErrorCode::InvalidRequest,
        CreateTopicError::InvalidName(_) | CreateTopicError::Collides { .. } => {
            ErrorCode::InvalidTopicException
        }
        CreateTopicError::Exists(_) => ErrorCode::TopicAlreadyExists,
        CreateTopicError::NullConfig(_) | CreateTopicError::Config(_) => ErrorCode::InvalidConfig,
        CreateTopicError::Partitions => ErrorCode::InvalidPartitions,
        CreateTopicError::ReplicationFactor | CreateTopicError::TooFewBrokers(_) => {
            ErrorCode::InvalidReplicationFactor
        }
        CreateTopicError::Assignment(_) => ErrorCode::InvalidReplicaAssignment,
        CreateTopicError::TooManyPartitions | CreateTopicError::TooManyRecords => {
            ErrorCode::PolicyViolation
        }
        CreateTopicError::Storage(_) => ErrorCode::KafkaStorageError,
    }
}
