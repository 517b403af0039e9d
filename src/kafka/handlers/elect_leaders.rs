//! ElectLeaders (43), versions 0-2. KIP-183, KIP-460, KIP-482.
//!
//! One node leads what it holds: an election is never needed, and none can help a partition that it does not hold.

use std::sync::Arc;

use kafka_protocol::messages::elect_leaders_request::TopicPartitions;
use kafka_protocol::messages::elect_leaders_response::{PartitionResult, ReplicaElectionResult};
use kafka_protocol::messages::{ElectLeadersRequest, ElectLeadersResponse};

use crate::broker::Broker;
use crate::broker::cluster::LeaderState;
use crate::kafka::{ErrorCode, Outcome, Request, blocking, codec};
use crate::metadata::Image;
use crate::types::PartitionIndex;

const PREFERRED: i8 = 0;
const UNCLEAN: i8 = 1;

/// Topics that are answered on the async thread.
const TOPICS_INLINE_MAX: usize = 1_000;

/// What a topic or a partition takes while an answer is made, encoded and not.
const ELEMENT_BYTES: usize = 256;

/// Answers an ElectLeaders request.
pub fn handle(request: Request) -> Outcome {
    let body: ElectLeadersRequest = match codec::decode(&request) {
        Ok(body) => body,
        Err(disconnect) => return Outcome::Close(disconnect),
    };
    let image = request.broker.metadata.image();
    let (version, broker) = (request.version, Arc::clone(&request.broker));
    let asked: usize = body.topic_partitions.iter().flatten().map(|t| 1 + t.partitions.len()).sum();
    let elements = asked.max(image.topics.len());
    if elements <= TOPICS_INLINE_MAX {
        return codec::reply(&respond(&body, &image, &broker, version), version);
    }
    let bytes = elements * ELEMENT_BYTES;
    blocking::later_reply(request.broker, version, bytes, move |_| {
        respond(&body, &image, &broker, version)
    })
}

fn respond(
    body: &ElectLeadersRequest,
    image: &Image,
    broker: &Broker,
    version: i16,
) -> ElectLeadersResponse {
    if !matches!(body.election_type, PREFERRED | UNCLEAN) {
        return refused(body, version);
    }
    let results = match &body.topic_partitions {
        Some(asked) => asked.iter().map(|topic| of_topic(topic, image, broker)).collect(),
        // Kafka names every topic, and of each only the partitions that an election was tried for.
        None => {
            let mut names: Vec<&str> = image.topics.keys().map(|name| name.as_str()).collect();
            names.sort_unstable();
            let nothing =
                |name| ReplicaElectionResult::default().with_topic(codec::topic_name(name));
            names.into_iter().map(nothing).collect()
        }
    };
    ElectLeadersResponse::default().with_replica_election_results(results)
}

fn refused(body: &ElectLeadersRequest, version: i16) -> ElectLeadersResponse {
    let message = format!("Unknown election type {}", body.election_type);
    let partition = |index: &i32| result(*index, ErrorCode::InvalidRequest, Some(&message));
    let topic = |topic: &TopicPartitions| {
        ReplicaElectionResult::default()
            .with_topic(topic.topic.clone())
            .with_partition_result(topic.partitions.iter().map(partition).collect())
    };
    let results = body.topic_partitions.iter().flatten().map(topic).collect();
    let response = ElectLeadersResponse::default().with_replica_election_results(results);
    if version >= 1 {
        return response.with_error_code(ErrorCode::InvalidRequest.number());
    }
    response
}

fn of_topic(asked: &TopicPartitions, image: &Image, broker: &Broker) -> ReplicaElectionResult {
    let results = asked.partitions.iter().map(|&index| of_partition(asked, index, image, broker));
    ReplicaElectionResult::default()
        .with_topic(asked.topic.clone())
        .with_partition_result(results.collect())
}

fn of_partition(
    asked: &TopicPartitions,
    index: i32,
    image: &Image,
    broker: &Broker,
) -> PartitionResult {
    let name = asked.topic.as_str();
    let unknown =
        |message: String| result(index, ErrorCode::UnknownTopicOrPartition, Some(&message));
    let Some(topic) = image.topic(name) else {
        return unknown(format!("No such topic as {name}"));
    };
    let Some(state) = topic.partition(PartitionIndex::new(index)) else {
        return unknown(format!("No such partition as {name}-{index}"));
    };
    match broker.leadership(state).state {
        LeaderState::Led => {
            let code = ErrorCode::ElectionNotNeeded;
            result(index, code, Some("Leader election not needed for topic partition."))
        }
        LeaderState::NoLeader => result(index, ErrorCode::PreferredLeaderNotAvailable, None),
    }
}

fn result(index: i32, code: ErrorCode, message: Option<&str>) -> PartitionResult {
    PartitionResult::default()
        .with_partition_id(index)
        .with_error_code(code.number())
        .with_error_message(codec::optional_text(message))
}
