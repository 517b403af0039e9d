//! AlterPartitionReassignments (45), versions 0-1. KIP-455, KIP-860.
//!
//! One node has all replicas, so that the only reassignment there can be is the one that is in force already. It is accepted,
//! as Kafka accepts it: `kafka-reassign-partitions.sh` asks for it before it moves partitions between the log directories of
//! a broker. The texts are Kafka's (`ReplicationControlManager.alterPartitionReassignment`).

use kafka_protocol::messages::alter_partition_reassignments_request::{
    ReassignablePartition, ReassignableTopic,
};
use kafka_protocol::messages::alter_partition_reassignments_response::{
    ReassignablePartitionResponse, ReassignableTopicResponse,
};
use kafka_protocol::messages::{
    AlterPartitionReassignmentsRequest, AlterPartitionReassignmentsResponse,
};

use crate::broker::Broker;
use crate::kafka::{ErrorCode, Outcome, Request, blocking, codec};
use crate::metadata::Image;
use crate::types::PartitionIndex;

/// Answers an AlterPartitionReassignments request.
pub fn handle(request: Request) -> Outcome {
    let body: AlterPartitionReassignmentsRequest = match codec::decode(&request) {
        Ok(body) => body,
        Err(disconnect) => return Outcome::Close(disconnect),
    };
    let bytes = blocking::bytes_like(request.body.len());
    blocking::later_reply(request.broker, request.version, bytes, move |broker| {
        respond(broker, &body)
    })
}

fn respond(
    broker: &Broker,
    body: &AlterPartitionReassignmentsRequest,
) -> AlterPartitionReassignmentsResponse {
    if body.topics.is_empty() {
        // Kafka looks at nothing then, and answers what an answer begins with.
        return AlterPartitionReassignmentsResponse::default();
    }
    let image = broker.metadata.image();
    let topic = |topic: &ReassignableTopic| {
        let partitions = topic.partitions.iter();
        let partitions = partitions.map(|asked| reassign(broker, &image, &topic.name, asked));
        ReassignableTopicResponse::default()
            .with_name(topic.name.clone())
            .with_partitions(partitions.collect())
    };
    AlterPartitionReassignmentsResponse::default()
        .with_allow_replication_factor_change(body.allow_replication_factor_change)
        .with_error_message(None)
        .with_responses(body.topics.iter().map(topic).collect())
}

fn reassign(
    broker: &Broker,
    image: &Image,
    topic: &str,
    asked: &ReassignablePartition,
) -> ReassignablePartitionResponse {
    let index = asked.partition_index;
    let (code, message) = match verdict(broker, image, topic, asked) {
        Ok(()) => (ErrorCode::None, None),
        Err((code, message)) => (code, message),
    };
    ReassignablePartitionResponse::default()
        .with_partition_index(index)
        .with_error_code(code.number())
        .with_error_message(codec::optional_text(message.as_deref()))
}

type Refusal = (ErrorCode, Option<String>);

fn verdict(
    broker: &Broker,
    image: &Image,
    topic: &str,
    asked: &ReassignablePartition,
) -> Result<(), Refusal> {
    let index = asked.partition_index;
    let state = image.topic(topic).and_then(|topic| topic.partition(PartitionIndex::new(index)));
    let Some(state) = state else {
        let message =
            format!("Unable to find a topic named {topic}, or a partition {index} of it.");
        return Err((ErrorCode::UnknownTopicOrPartition, Some(message)));
    };
    let Some(replicas) = &asked.replicas else {
        return Err((ErrorCode::NoReassignmentInProgress, None));
    };
    let node = broker.settings.node_id.get();
    if let Some(other) = replicas.iter().find(|id| id.0 != node) {
        let message = format!(
            "The manual partition assignment includes broker {}, but no such broker is registered.",
            other.0
        );
        return Err((ErrorCode::InvalidReplicaAssignment, Some(message)));
    }
    let same = replicas.len() == state.replicas.len()
        && replicas.iter().zip(&state.replicas).all(|(asked, has)| asked.0 == has.get());
    if same {
        return Ok(());
    }
    let message = match replicas.len() {
        0 => "The manual partition assignment includes an empty replica list.".to_owned(),
        _ => format!("The manual partition assignment includes the broker {node} more than once."),
    };
    Err((ErrorCode::InvalidReplicaAssignment, Some(message)))
}
