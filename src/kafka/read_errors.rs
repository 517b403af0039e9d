//! Error codes of the APIs that read a partition: Fetch, ListOffsets, OffsetForLeaderEpoch.

use super::ErrorCode;
use crate::broker::FetchError;

/// The code of a failed read where topics are named by name.
pub fn code(error: FetchError) -> ErrorCode {
    match error {
        FetchError::UnknownPartition => ErrorCode::UnknownTopicOrPartition,
        FetchError::OutOfRange => ErrorCode::OffsetOutOfRange,
        FetchError::FencedLeaderEpoch => ErrorCode::FencedLeaderEpoch,
        FetchError::UnknownLeaderEpoch => ErrorCode::UnknownLeaderEpoch,
        FetchError::Storage => ErrorCode::KafkaStorageError,
    }
}
