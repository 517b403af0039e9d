//! Transactions as an administrator sees them: list, describe, producers of a partition, abort.
//!
//! All calls go to the broker that the client is connected to. In a cluster of several it knows the transactions that it
//! coordinates and the producers of the partitions that it leads.

use kafka_protocol::messages::describe_producers_request::TopicRequest;
use kafka_protocol::messages::describe_producers_response::{PartitionResponse, ProducerState};
use kafka_protocol::messages::describe_transactions_response::TransactionState as Described;
use kafka_protocol::messages::write_txn_markers_request::{
    WritableTxnMarker, WritableTxnMarkerTopic,
};
use kafka_protocol::messages::{
    DescribeProducersRequest, DescribeTransactionsRequest, ListTransactionsRequest,
    TransactionalId, WriteTxnMarkersRequest,
};

use super::admin::topic_name;
use super::patience::Patience;
use super::{Client, ClientError, Coordinated};
use crate::kafka::codec;
use crate::types::{
    Marker, Offset, Outcome, PartitionIndex, ProducerEpoch, ProducerId, ProducerIdAndEpoch,
    Timestamp,
};

const LIST_TRANSACTIONS_VERSION: i16 = 2;
/// First version that filters by duration (KIP-994).
const DURATION_FROM: i16 = 1;
/// First version that filters by a pattern (KIP-1152).
const PATTERN_FROM: i16 = 2;
const DESCRIBE_TRANSACTIONS_VERSION: i16 = 0;
const DESCRIBE_PRODUCERS_VERSION: i16 = 0;
const WRITE_TXN_MARKERS_VERSION: i16 = 1;

/// Which transactions to list; the default stands for all.
#[derive(Clone, Debug, Default)]
pub struct TransactionFilter {
    /// In one of these states, by Kafka's names; empty for all.
    pub states: Vec<String>,
    /// Of one of these producers; empty for all.
    pub producers: Vec<ProducerId>,
    /// Open for longer than this many milliseconds.
    pub longer_than_ms: Option<i64>,
    /// With a transactional id that this regular expression matches as a whole.
    pub pattern: Option<String>,
}

/// A transaction in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedTransaction {
    /// The transactional id.
    pub id: String,
    /// Its producer.
    pub producer: ProducerId,
    /// Such as `Ongoing`.
    pub state: String,
}

/// A transaction with its partitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionDescription {
    /// The transactional id.
    pub id: String,
    /// Such as `Ongoing`.
    pub state: String,
    /// Who writes in it.
    pub producer: ProducerIdAndEpoch,
    /// How long a transaction may take.
    pub timeout_ms: i32,
    /// When the open one began; `None` without one.
    pub start: Option<Timestamp>,
    /// Partitions of the open one.
    pub partitions: Vec<(String, PartitionIndex)>,
}

/// A producer as a partition knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActiveProducer {
    /// Who.
    pub producer: ProducerIdAndEpoch,
    /// Number of its last record.
    pub last_sequence: i32,
    /// When its last batch was written.
    pub last_timestamp: Timestamp,
    /// Epoch of the coordinator that wrote its last marker; −1 before the first.
    pub coordinator_epoch: i32,
    /// Where its open transaction begins; `None` without one.
    pub transaction_start: Option<Offset>,
}

impl Client {
    /// The transactions that this broker coordinates, by transactional id.
    pub async fn list_transactions(
        &mut self,
        filter: &TransactionFilter,
    ) -> Result<Vec<ListedTransaction>, ClientError> {
        let mut patience = Patience::default();
        loop {
            match self.list_transactions_once(filter).await {
                Err(error) if patience.allows(&error).await => {}
                result => return result,
            }
        }
    }

    async fn list_transactions_once(
        &mut self,
        filter: &TransactionFilter,
    ) -> Result<Vec<ListedTransaction>, ClientError> {
        let version = self.link.version_of::<ListTransactionsRequest>(LIST_TRANSACTIONS_VERSION)?;
        if version < DURATION_FROM && filter.longer_than_ms.is_some() {
            return Err(ClientError::Unsupported { api: "ListTransactions with a duration" });
        }
        if version < PATTERN_FROM && filter.pattern.is_some() {
            return Err(ClientError::Unsupported { api: "ListTransactions with a pattern" });
        }
        let request = ListTransactionsRequest::default()
            .with_state_filters(filter.states.iter().map(|state| codec::text(state)).collect())
            .with_producer_id_filters(filter.producers.iter().map(|id| id.get().into()).collect())
            .with_duration_filter(filter.longer_than_ms.unwrap_or(-1))
            .with_transactional_id_pattern(filter.pattern.as_deref().map(codec::text));
        let answer = self.link.call(&request, version).await?;
        ClientError::check(answer.error_code, None, || "the list of transactions".to_owned())?;
        let mut listed: Vec<ListedTransaction> = answer
            .transaction_states
            .iter()
            .map(|listed| ListedTransaction {
                id: listed.transactional_id.to_string(),
                producer: ProducerId::new(listed.producer_id.0),
                state: listed.transaction_state.to_string(),
            })
            .collect();
        listed.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(listed)
    }

    /// Describes the transaction of a transactional id; TRANSACTIONAL_ID_NOT_FOUND if there is no such id.
    pub async fn describe_transaction(
        &mut self,
        id: &str,
    ) -> Result<TransactionDescription, ClientError> {
        // As Kafka's own tools do: where nobody has ever used a transaction, no broker is the coordinator of one.
        self.coordinator(Coordinated::Transactions(id)).await?;
        let mut patience = Patience::default();
        loop {
            match self.describe_transaction_once(id).await {
                Err(error) if patience.allows(&error).await => {}
                result => return result,
            }
        }
    }

    async fn describe_transaction_once(
        &mut self,
        id: &str,
    ) -> Result<TransactionDescription, ClientError> {
        let request = DescribeTransactionsRequest::default()
            .with_transactional_ids(vec![TransactionalId(codec::text(id))]);
        let answer = self.link.call(&request, DESCRIBE_TRANSACTIONS_VERSION).await?;
        let Some(described) = answer.transaction_states.first() else {
            return Err(self.link.malformed("the answer names no transactional id"));
        };
        ClientError::check(described.error_code, None, || format!("transactional id {id}"))?;
        Ok(description(described))
    }

    /// The producers that a partition knows, by id.
    pub async fn describe_producers(
        &mut self,
        topic: &str,
        partition: PartitionIndex,
    ) -> Result<Vec<ActiveProducer>, ClientError> {
        let asked = TopicRequest::default()
            .with_name(topic_name(topic))
            .with_partition_indexes(vec![partition.get()]);
        let request = DescribeProducersRequest::default().with_topics(vec![asked]);
        let answer = self.link.call(&request, DESCRIBE_PRODUCERS_VERSION).await?;
        let partitions = answer.topics.first().and_then(|topic| topic.partitions.first());
        let Some(described) = partitions else {
            return Err(self.link.malformed("the answer names no partition"));
        };
        let message = described.error_message.as_deref();
        ClientError::check(described.error_code, message, || format!("{topic}-{partition}"))?;
        Ok(active_producers(described))
    }

    /// Writes a marker to one partition, which ends the transaction there whatever its coordinator knows.
    pub async fn write_marker(
        &mut self,
        topic: &str,
        partition: PartitionIndex,
        marker: &Marker,
    ) -> Result<(), ClientError> {
        let written = WritableTxnMarkerTopic::default()
            .with_name(topic_name(topic))
            .with_partition_indexes(vec![partition.get()]);
        let written = WritableTxnMarker::default()
            .with_producer_id(marker.producer.id.get().into())
            .with_producer_epoch(marker.producer.epoch.get())
            .with_transaction_result(marker.outcome == Outcome::Commit)
            .with_topics(vec![written])
            .with_coordinator_epoch(marker.coordinator_epoch);
        let request = WriteTxnMarkersRequest::default().with_markers(vec![written]);
        let answer = self.link.call(&request, WRITE_TXN_MARKERS_VERSION).await?;
        let topics = answer.markers.first().and_then(|marker| marker.topics.first());
        let Some(result) = topics.and_then(|topic| topic.partitions.first()) else {
            return Err(self.link.malformed("the answer names no partition"));
        };
        ClientError::check(result.error_code, None, || format!("{topic}-{partition}"))
    }
}

fn description(described: &Described) -> TransactionDescription {
    let partitions = described.topics.iter().flat_map(|topic| {
        let indexes = topic.partitions.iter().copied();
        indexes.map(|index| (topic.topic.to_string(), PartitionIndex::new(index)))
    });
    let mut partitions: Vec<_> = partitions.collect();
    partitions.sort();
    let start = described.transaction_start_time_ms;
    TransactionDescription {
        id: described.transactional_id.to_string(),
        state: described.transaction_state.to_string(),
        producer: ProducerIdAndEpoch {
            id: ProducerId::new(described.producer_id.0),
            epoch: ProducerEpoch::new(described.producer_epoch),
        },
        timeout_ms: described.transaction_timeout_ms,
        start: (start >= 0).then(|| Timestamp::new(start)),
        partitions,
    }
}

fn active_producers(described: &PartitionResponse) -> Vec<ActiveProducer> {
    let mut producers: Vec<_> = described.active_producers.iter().map(active_producer).collect();
    producers.sort_by_key(|active| active.producer.id);
    producers
}

fn active_producer(state: &ProducerState) -> ActiveProducer {
    // The wire gives the epoch 32 bits, everything else 16.
    let epoch = i16::try_from(state.producer_epoch).map_or(ProducerEpoch::NONE, ProducerEpoch::new);
    let start = state.current_txn_start_offset;
    ActiveProducer {
        producer: ProducerIdAndEpoch { id: ProducerId::new(state.producer_id.0), epoch },
        last_sequence: state.last_sequence,
        last_timestamp: Timestamp::new(state.last_timestamp),
        coordinator_epoch: state.coordinator_epoch,
        transaction_start: (start >= 0).then(|| Offset::new(start)),
    }
}
