//! CreatePartitions (37), versions 0-3. KIP-195, KIP-482, KIP-599.
//!
//! Answers stand in the order of the request; Kafka sorts failures first.

use kafka_protocol::messages::create_partitions_request::CreatePartitionsTopic;
use kafka_protocol::messages::create_partitions_response::CreatePartitionsTopicResult;
use kafka_protocol::messages::{CreatePartitionsRequest, CreatePartitionsResponse};

use crate::broker::topics::{
    CreatePartitions, GrowTopicError, GrowTopicOutcome, Mode, TopicGrowth,
};
use crate::kafka::{ErrorCode, Outcome, Request, blocking, codec};
use crate::types::BrokerId;

/// Answers a CreatePartitions request.
pub fn handle(request: Request) -> Outcome {
    let body: CreatePartitionsRequest = match codec::decode(&request) {
        Ok(body) => body,
        Err(disconnect) => return Outcome::Close(disconnect),
    };
    let Request { version, broker, body: frame, .. } = request;
    let bytes = blocking::bytes_like(frame.len());
    let wanted = CreatePartitions {
        mode: if body.validate_only { Mode::ValidateOnly } else { Mode::Apply },
        topics: body.topics.iter().map(growth).collect(),
    };
    blocking::serial_reply(broker, version, bytes, move |broker| {
        let results = broker.create_partitions(wanted).into_iter().map(result).collect();
        CreatePartitionsResponse::default().with_results(results)
    })
}

fn growth(topic: &CreatePartitionsTopic) -> TopicGrowth {
    let replicas = |ids: &[kafka_protocol::messages::BrokerId]| -> Vec<BrokerId> {
        ids.iter().map(|id| BrokerId::new(id.0)).collect()
    };
    TopicGrowth {
        name: topic.name.to_string(),
        count: topic.count,
        assignments: topic
            .assignments
            .as_ref()
            .map(|all| all.iter().map(|a| replicas(&a.broker_ids)).collect()),
    }
}

fn result(outcome: GrowTopicOutcome) -> CreatePartitionsTopicResult {
    let result = CreatePartitionsTopicResult::default()
        .with_name(codec::topic_name(&outcome.name))
        .with_error_message(None);
    match outcome.result {
        Ok(()) => result,
        // Kafka sends no text with this one.
        Err(GrowTopicError::UnknownTopic) => {
            result.with_error_code(code(&GrowTopicError::UnknownTopic).number())
        }
        Err(error) => result
            .with_error_code(code(&error).number())
            .with_error_message(Some(codec::text(&error.to_string()))),
    }
}

fn code(error: &GrowTopicError) -> ErrorCode {
    match error {
        GrowTopicError::Duplicate => ErrorCode::InvalidRequest,
        GrowTopicError::UnknownTopic => ErrorCode::UnknownTopicOrPartition,
        GrowTopicError::SameCount(_) | GrowTopicError::FewerPartitions { .. } => {
            ErrorCode::InvalidPartitions
        }
        GrowTopicError::AssignmentCount { .. } | GrowTopicError::Assignment(_) => {
            ErrorCode::InvalidReplicaAssignment
        }
        GrowTopicError::TooManyPartitions => ErrorCode::PolicyViolation,
        GrowTopicError::Storage(_) => ErrorCode::KafkaStorageError,
    }
}
