//! Error codes of the APIs that append to a partition: Produce, WriteTxnMarkers.

use super::ErrorCode;
use crate::broker::PartitionAppendError;
use crate::log::AppendError;

/// The code of a refused append.
pub fn code(error: &PartitionAppendError) -> ErrorCode {
    match error {
        PartitionAppendError::Retired => ErrorCode::UnknownTopicOrPartition,
        PartitionAppendError::Offline => ErrorCode::KafkaStorageError,
        PartitionAppendError::Log(refusal) => match refusal {
            AppendError::OutOfOrderSequence(_) => ErrorCode::OutOfOrderSequenceNumber,
            AppendError::InvalidProducerEpoch(_) => ErrorCode::InvalidProducerEpoch,
            AppendError::InvalidTransactionState(_) => ErrorCode::InvalidTxnState,
            AppendError::CoordinatorFenced(_) => ErrorCode::TransactionCoordinatorFenced,
            AppendError::NoRoom(_) | AppendError::Io(_) => ErrorCode::KafkaStorageError,
        },
    }
}
