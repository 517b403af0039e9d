//! What tools that look for hanging transactions, and end them, ask of partitions (KIP-664): DescribeProducers, WriteTxnMarkers.

use std::sync::Arc;

use super::markers::MarkError;
use crate::broker::Broker;
use crate::broker::registry::{Lookup, Readable};
use crate::broker::step::BoxFuture;
use crate::log::ActiveProducer;
use crate::types::{Marker, ProducerEpoch, TopicPartition};

/// Markers for one producer.
#[derive(Clone, Debug)]
pub struct WriteMarker {
    /// Which marker.
    pub marker: Marker,
    /// Where.
    pub partitions: Vec<TopicPartition>,
}

/// Why the producers of a partition are not told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DescribeProducersError {
    /// UNKNOWN_TOPIC_OR_PARTITION.
    #[error("there is no such partition")]
    UnknownPartition,
    /// KAFKA_STORAGE_ERROR.
    #[error("the log directory failed")]
    Storage,
}

impl Broker {
    /// Writes markers, each once: one verdict for each partition of each marker, in order, when what is written is durable. The
    /// coordinators of the transactions are not told.
    pub fn write_transaction_markers(
        self: &Arc<Self>,
        asked: Vec<WriteMarker>,
    ) -> BoxFuture<Vec<Vec<Result<(), MarkError>>>> {
        let broker = Arc::clone(self);
        Box::pin(async move {
            let mut verdicts = Vec::with_capacity(asked.len());
            for WriteMarker { marker, partitions } in &asked {
                if marker.producer.id.get() < 0 || marker.producer.epoch == ProducerEpoch::NONE {
                    verdicts.push(partitions.iter().map(|_| Err(MarkError::NoProducer)).collect());
                    continue;
                }
                verdicts.push(broker.write_markers(marker, partitions).await);
            }
            verdicts
        })
    }

    /// The producers that a partition knows, in the order of their ids. Blocks on the disk if its log is closed.
    pub fn describe_producers(
        &self,
        found: Lookup,
    ) -> Result<Vec<ActiveProducer>, DescribeProducersError> {
        let partition = match found {
            Lookup::Open(partition) => partition,
            Lookup::Closed(closed) => match closed.readable() {
                Readable::Open(partition) => partition,
                Readable::Unwritten(_) => return Ok(Vec::new()),
                Readable::OnDisk => closed.open().map_err(|_| DescribeProducersError::Storage)?,
                Readable::Removed => return Err(DescribeProducersError::UnknownPartition),
            },
            Lookup::Unknown => return Err(DescribeProducersError::UnknownPartition),
        };
        if partition.is_retired() {
            return Err(DescribeProducersError::UnknownPartition);
        }
        if partition.directory().is_offline() {
            return Err(DescribeProducersError::Storage);
        }
        Ok(partition.lock().log.active_producers())
    }
}
