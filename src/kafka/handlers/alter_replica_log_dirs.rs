//! AlterReplicaLogDirs (34), versions 1-2. KIP-113, KIP-482, KIP-858.
//!
//! Answered when the moves have begun. A destination of a partition that is not there yet is answered like every unknown partition,
//! and remembered: the partition is put there if it comes.

use std::collections::BTreeMap;
use std::sync::Arc;

use kafka_protocol::messages::alter_replica_log_dirs_response::{
    AlterReplicaLogDirPartitionResult, AlterReplicaLogDirTopicResult,
};
use kafka_protocol::messages::{AlterReplicaLogDirsRequest, AlterReplicaLogDirsResponse};

use crate::broker::{Broker, MoveRequestError};
use crate::kafka::{ErrorCode, Outcome, Request, blocking, codec};
use crate::types::{PartitionIndex, TopicName, TopicPartition};

/// Answers an AlterReplicaLogDirs request.
pub fn handle(request: Request) -> Outcome {
    let body: AlterReplicaLogDirsRequest = match codec::decode(&request) {
        Ok(body) => body,
        Err(disconnect) => return Outcome::Close(disconnect),
    };
    let (version, broker) = (request.version, Arc::clone(&request.broker));
    let bytes = blocking::bytes_like(request.body.len());
    blocking::serial_reply(broker, version, bytes, move |broker| respond(broker, &body))
}

fn respond(broker: &Broker, body: &AlterReplicaLogDirsRequest) -> AlterReplicaLogDirsResponse {
    let mut topics: BTreeMap<&str, Vec<AlterReplicaLogDirPartitionResult>> = BTreeMap::new();
    for ((topic, index), path) in destinations(body) {
        let code = move_one(broker, topic, index, path);
        let result = AlterReplicaLogDirPartitionResult::default()
            .with_partition_index(index)
            .with_error_code(code.number());
        topics.entry(topic).or_default().push(result);
    }
    let results = topics.into_iter().map(|(name, partitions)| {
        AlterReplicaLogDirTopicResult::default()
            .with_topic_name(codec::topic_name(name))
            .with_partitions(partitions)
    });
    AlterReplicaLogDirsResponse::default().with_results(results.collect())
}

/// Of a partition that is named several times the last destination counts, as in Kafka.
fn destinations(body: &AlterReplicaLogDirsRequest) -> BTreeMap<(&str, i32), &str> {
    let mut destinations = BTreeMap::new();
    for dir in &body.dirs {
        for topic in &dir.topics {
            for &index in &topic.partitions {
                destinations.insert((topic.name.as_str(), index), dir.path.as_str());
            }
        }
    }
    destinations
}

fn move_one(broker: &Broker, topic: &str, index: i32, path: &str) -> ErrorCode {
    let Ok(topic) = TopicName::new(topic) else { return code(&broker.refuse_move(topic, path)) };
    let name = TopicPartition { topic, partition: PartitionIndex::new(index) };
    match broker.move_partition(&name, path) {
        Ok(()) => ErrorCode::None,
        Err(error) => {
            tracing::warn!(partition = %name, to = path, %error, "the partition is not moved");
            code(&error)
        }
    }
}

fn code(error: &MoveRequestError) -> ErrorCode {
    match error {
        MoveRequestError::NameTooLong => ErrorCode::InvalidTopicException,
        MoveRequestError::NoSuchDirectory => ErrorCode::LogDirNotFound,
        MoveRequestError::UnknownPartition => ErrorCode::UnknownTopicOrPartition,
        MoveRequestError::Offline | MoveRequestError::Failed(_) => ErrorCode::KafkaStorageError,
    }
}
