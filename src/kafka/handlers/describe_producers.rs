//! DescribeProducers (61), version 0. KIP-664.
//!
//! Deviation: what is named twice is answered once. A partition may know very many producers, so a short request for the same one
//! again and again would call for an answer without bounds.

use std::collections::HashSet;

use kafka_protocol::messages::describe_producers_request::TopicRequest;
use kafka_protocol::messages::describe_producers_response::{
    PartitionResponse, ProducerState, TopicResponse,
};
use kafka_protocol::messages::{
    DescribeProducersRequest, DescribeProducersResponse, ProducerId as WireProducerId,
};

use crate::broker::{Broker, DescribeProducersError};
use crate::kafka::{ErrorCode, Outcome, Request, blocking, codec};
use crate::log::ActiveProducer;
use crate::types::{Offset, PartitionIndex, TopicName};

/// Answers a DescribeProducers request.
pub fn handle(request: Request) -> Outcome {
    let body: DescribeProducersRequest = match codec::decode(&request) {
        Ok(body) => body,
        Err(disconnect) => return Outcome::Close(disconnect),
    };
    let bytes = blocking::bytes_like(request.body.len());
    let Request { version, broker, .. } = request;
    blocking::later_reply(broker, version, bytes, move |broker| response(broker, body.topics))
}

fn response(broker: &Broker, topics: Vec<TopicRequest>) -> DescribeProducersResponse {
    let mut seen = HashSet::new();
    let topics = topics.into_iter().map(|topic| {
        let refusal = refusal(broker, &topic.name);
        let mut partitions = Vec::new();
        for &index in &topic.partition_indexes {
            if !seen.insert((topic.name.clone(), index)) {
                continue;
            }
            partitions.push(match &refusal {
                Some((code, message)) => failed(index, *code, Some(message)),
                None => partition(broker, &topic.name, index),
            });
        }
        TopicResponse::default().with_partitions(partitions).with_name(topic.name)
    });
    DescribeProducersResponse::default().with_topics(topics.collect())
}

/// Why nothing is told of any partition of a topic.
fn refusal(broker: &Broker, name: &str) -> Option<(ErrorCode, String)> {
    if let Err(invalid) = TopicName::new(name) {
        return Some((
            ErrorCode::InvalidTopicException,
            format!("Topic name is invalid: {invalid}"),
        ));
    }
    let unknown = ErrorCode::UnknownTopicOrPartition;
    broker.metadata.image().topic(name).is_none().then(|| (unknown, unknown.text().to_owned()))
}

fn partition(broker: &Broker, topic: &str, index: i32) -> PartitionResponse {
    let found = broker.find_by_name(topic, PartitionIndex::new(index));
    match broker.describe_producers(found) {
        Ok(producers) => PartitionResponse::default()
            .with_partition_index(index)
            .with_active_producers(producers.iter().map(state).collect()),
        Err(DescribeProducersError::UnknownPartition) => {
            failed(index, ErrorCode::UnknownTopicOrPartition, None)
        }
        Err(DescribeProducersError::Storage) => failed(index, ErrorCode::KafkaStorageError, None),
    }
}

fn failed(index: i32, code: ErrorCode, message: Option<&str>) -> PartitionResponse {
    PartitionResponse::default()
        .with_partition_index(index)
        .with_error_code(code.number())
        .with_error_message(codec::optional_text(message))
}

fn state(producer: &ActiveProducer) -> ProducerState {
    ProducerState::default()
        .with_producer_id(WireProducerId(producer.id.get()))
        .with_producer_epoch(i32::from(producer.epoch.get()))
        .with_last_sequence(producer.last_sequence)
        .with_last_timestamp(producer.last_timestamp.get())
        .with_coordinator_epoch(producer.coordinator_epoch)
        .with_current_txn_start_offset(producer.transaction_start.unwrap_or(Offset::NONE).get())
}
