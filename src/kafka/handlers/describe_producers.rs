//! DescribeProducers (61), version 0. KIP-664.

use kafka_protocol::messages::describe_producers_request::TopicRequest;
use kafka_protocol::messages::describe_producers_response::{
    PartitionResponse, ProducerState, TopicResponse,
};
use kafka_protocol::messages::{
    DescribeProducersRequest, DescribeProducersResponse, ProducerId as WireProducerId,
};

use crate::broker::{Broker, DescribeProducersError, Lookup};
use crate::kafka::{ErrorCode, Outcome, Request, codec};
use crate::log::ActiveProducer;
use crate::types::{Offset, PartitionIndex, TopicName};

type Described = Result<Vec<ActiveProducer>, DescribeProducersError>;

/// Answers a DescribeProducers request.
pub fn handle(request: Request) -> Outcome {
    let body: DescribeProducersRequest = match codec::decode(&request) {
        Ok(body) => body,
        Err(disconnect) => return Outcome::Close(disconnect),
    };
    let Request { version, broker, .. } = request;
    let partitions = body.topics.iter().flat_map(|topic| lookups(&broker, topic)).collect();
    Outcome::of_step(broker.describe_producers(partitions), move |described| {
        codec::encode(&response(&broker, body.topics, described), version)
    })
}

fn lookups<'a>(broker: &'a Broker, topic: &'a TopicRequest) -> impl Iterator<Item = Lookup> + 'a {
    let partitions = topic.partition_indexes.iter();
    partitions.map(|index| broker.find_by_name(&topic.name, PartitionIndex::new(*index)))
}

fn response(
    broker: &Broker,
    topics: Vec<TopicRequest>,
    described: Vec<Described>,
) -> DescribeProducersResponse {
    let mut described = described.into_iter();
    let topics = topics.into_iter().map(|topic| {
        let refusal = refusal(broker, &topic.name);
        let partitions = topic.partition_indexes.iter().zip(described.by_ref());
        let partitions = partitions.map(|(index, described)| match &refusal {
            Some((code, message)) => failed(*index, *code, Some(message)),
            None => partition(*index, described),
        });
        TopicResponse::default().with_partitions(partitions.collect()).with_name(topic.name)
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

fn partition(index: i32, described: Described) -> PartitionResponse {
    match described {
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
