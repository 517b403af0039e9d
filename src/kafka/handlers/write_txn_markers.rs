//! WriteTxnMarkers (27), versions 1-2. KIP-98, KIP-664, KIP-890.
//!
//! Between brokers, and from tools that end transactions which hang: the coordinator is not asked and not told. Deviation: there is
//! one result for each marker; Kafka has one for each producer.

use kafka_protocol::messages::WriteTxnMarkersResponse;
use kafka_protocol::messages::write_txn_markers_request::WritableTxnMarker;
use kafka_protocol::messages::write_txn_markers_response::{
    WritableTxnMarkerPartitionResult, WritableTxnMarkerResult, WritableTxnMarkerTopicResult,
};

use crate::broker::{MarkError, WriteMarker};
use crate::coordinator::groups::MarkerError;
use crate::kafka::codec::lift;
use crate::kafka::codec::txn_markers::{self, WritableMarker};
use crate::kafka::{ErrorCode, Outcome, Request, append_errors, transactions};
use crate::types::{self, Marker, PartitionIndex, TopicName, TopicPartition, TransactionVersion};

/// Answers a WriteTxnMarkers request.
pub fn handle(request: Request) -> Outcome {
    let version = request.version;
    let mut markers = match txn_markers::request(request.body.clone(), version) {
        Ok(markers) => markers,
        Err(disconnect) => return Outcome::Close(disconnect),
    };
    // Kafka's answer does not name them.
    markers.retain(|marker| marker.marker.topics.iter().any(|t| !t.partition_indexes.is_empty()));
    let written = request.broker.write_transaction_markers(markers.iter().map(asked).collect());
    Outcome::Serial(Box::pin(
        async move { lift::reply(&response(markers, written.await), version) },
    ))
}

fn asked(marker: &WritableMarker) -> WriteMarker {
    let WritableMarker { marker, transaction_version } = marker;
    let is_commit = marker.transaction_result;
    let is_version_2 = *transaction_version >= 2;
    WriteMarker {
        marker: Marker {
            producer: transactions::producer(marker.producer_id.0, marker.producer_epoch),
            outcome: if is_commit { types::Outcome::Commit } else { types::Outcome::Abort },
            coordinator_epoch: marker.coordinator_epoch,
            version: if is_version_2 { TransactionVersion::V2 } else { TransactionVersion::V1 },
        },
        partitions: partitions(marker),
    }
}

/// Partitions whose topic has a name that a topic may have; the others are unknown.
fn partitions(marker: &WritableTxnMarker) -> Vec<TopicPartition> {
    let mut partitions = Vec::new();
    for topic in &marker.topics {
        let Ok(name) = TopicName::new(&topic.name) else { continue };
        partitions.extend(topic.partition_indexes.iter().map(|index| TopicPartition {
            topic: name.clone(),
            partition: PartitionIndex::new(*index),
        }));
    }
    partitions
}

fn response(
    markers: Vec<WritableMarker>,
    written: Vec<Vec<Result<(), MarkError>>>,
) -> WriteTxnMarkersResponse {
    let results = markers.into_iter().zip(written).map(|(marker, written)| {
        let mut written = written.into_iter();
        let producer = marker.marker.producer_id;
        let topics = marker.marker.topics.into_iter().map(|topic| {
            let is_legal = TopicName::new(&topic.name).is_ok();
            let mut verdict = || if is_legal { written.next() } else { None };
            let partitions = topic.partition_indexes.iter();
            let partitions = partitions.map(|index| {
                WritableTxnMarkerPartitionResult::default()
                    .with_partition_index(*index)
                    .with_error_code(code(verdict()).number())
            });
            WritableTxnMarkerTopicResult::default()
                .with_partitions(partitions.collect())
                .with_name(topic.name)
        });
        WritableTxnMarkerResult::default().with_topics(topics.collect()).with_producer_id(producer)
    });
    WriteTxnMarkersResponse::default().with_markers(results.collect())
}

fn code(verdict: Option<Result<(), MarkError>>) -> ErrorCode {
    match verdict {
        Some(Ok(())) => ErrorCode::None,
        Some(Err(error)) => error_code(&error),
        None => ErrorCode::UnknownTopicOrPartition,
    }
}

fn error_code(error: &MarkError) -> ErrorCode {
    match error {
        MarkError::Gone => ErrorCode::UnknownTopicOrPartition,
        MarkError::NoProducer => ErrorCode::UnknownServerError,
        MarkError::Open(_) | MarkError::Offline => ErrorCode::KafkaStorageError,
        MarkError::Append(refusal) => append_errors::code(refusal),
        MarkError::Refused(MarkerError::ProducerEpoch) => ErrorCode::InvalidProducerEpoch,
        MarkError::Refused(MarkerError::CoordinatorFenced) => {
            ErrorCode::TransactionCoordinatorFenced
        }
        MarkError::Shard(_) => ErrorCode::NotLeaderOrFollower,
    }
}
