//! DeleteRecords (21), versions 0-2. KIP-107, KIP-482.
//!
//! The new log start is on disk before the answer; Kafka writes it within a minute.

use std::time::Duration;

use kafka_protocol::messages::delete_records_request::DeleteRecordsTopic;
use kafka_protocol::messages::delete_records_response::{
    DeleteRecordsPartitionResult, DeleteRecordsTopicResult,
};
use kafka_protocol::messages::{DeleteRecordsRequest, DeleteRecordsResponse};

use crate::broker::{DeleteRecords, DeleteRecordsError, DeletedRecords};
use crate::kafka::{ErrorCode, Outcome, Request, codec};
use crate::types::{Offset, PartitionIndex};

/// Answers a DeleteRecords request.
pub fn handle(request: Request) -> Outcome {
    let body: DeleteRecordsRequest = match codec::decode(&request) {
        Ok(body) => body,
        Err(disconnect) => return Outcome::Close(disconnect),
    };
    let Request { version, broker, .. } = request;
    let mut asked = Vec::new();
    for topic in &body.topics {
        asked.extend(topic.partitions.iter().map(|partition| DeleteRecords {
            partition:
                broker.find_by_name(&topic.name, PartitionIndex::new(partition.partition_index)),
            before: Offset::new(partition.offset),
        }));
    }
    let timeout = Duration::from_millis(u64::try_from(body.timeout_ms).unwrap_or(0));
    let mut topics = body.topics;
    // Kafka's answer does not name them.
    topics.retain(|topic| !topic.partitions.is_empty());
    Outcome::of_step(broker.delete_records(asked, timeout), move |deleted| {
        codec::encode(&response(topics, &deleted), version)
    })
}

fn response(topics: Vec<DeleteRecordsTopic>, deleted: &DeletedRecords) -> DeleteRecordsResponse {
    let mut results = deleted.iter();
    let topics = topics.into_iter().map(|topic| {
        let partitions = topic.partitions.iter().zip(results.by_ref());
        let partitions = partitions.map(|(asked, result)| partition(asked.partition_index, result));
        DeleteRecordsTopicResult::default()
            .with_partitions(partitions.collect())
            .with_name(topic.name)
    });
    DeleteRecordsResponse::default().with_topics(topics.collect())
}

fn partition(
    index: i32,
    result: &Result<Offset, DeleteRecordsError>,
) -> DeleteRecordsPartitionResult {
    let partition = DeleteRecordsPartitionResult::default().with_partition_index(index);
    match result {
        Ok(low_watermark) => partition.with_low_watermark(low_watermark.get()),
        Err(error) => {
            partition.with_low_watermark(Offset::NONE.get()).with_error_code(code(*error).number())
        }
    }
}

fn code(error: DeleteRecordsError) -> ErrorCode {
    match error {
        DeleteRecordsError::UnknownPartition => ErrorCode::UnknownTopicOrPartition,
        DeleteRecordsError::InternalTopic => ErrorCode::InvalidTopicException,
        DeleteRecordsError::Policy => ErrorCode::PolicyViolation,
        DeleteRecordsError::OutOfRange => ErrorCode::OffsetOutOfRange,
        DeleteRecordsError::Storage => ErrorCode::KafkaStorageError,
        DeleteRecordsError::TimedOut => ErrorCode::RequestTimedOut,
    }
}
