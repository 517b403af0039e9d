//! Checks of a batch from a client, before any lock is taken (`log-engine` reference 2.8; Kafka's `LogValidator`).

use std::borrow::Cow;

use super::batch::BatchHeader;
use crate::config::{TargetCodec, TimestampType, TopicSettings};
use crate::types::Timestamp;

/// What a batch must satisfy in one topic.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "fields are named as Kafka's topic settings")]
pub struct BatchRules {
    pub max_message_bytes: i32,
    pub segment_bytes: i32,
    /// Compacted topic: every record has a key.
    pub keys_required: bool,
    pub timestamp_type: TimestampType,
    pub timestamp_before_max_ms: i64,
    pub timestamp_after_max_ms: i64,
    pub compression: TargetCodec,
    /// Most bytes a batch may decompress to.
    pub decompressed_bytes_max: usize,
    /// Produce before v7 may not carry zstd.
    pub zstd_allowed: bool,
}

impl BatchRules {
    /// The rules of a topic.
    pub fn of(_settings: &TopicSettings) -> Self {
        unimplemented!("formats")
    }
}

/// One batch that may be appended: checked whole, only offset, leader epoch and append time are still to be set.
#[derive(Clone, Debug)]
pub struct CheckedBatch<'a> {
    /// The header as it will be stored, but for what append sets.
    pub header: BatchHeader,
    /// Exactly one batch; borrowed from the request unless it had to be rewritten.
    pub bytes: Cow<'a, [u8]>,
    /// Set where the topic shows the broker's time: append stamps it and renews the CRC.
    pub log_append_time: Option<Timestamp>,
}

/// Why a batch is refused; one variant per Kafka error code that it leads to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BatchRejection {
    /// CORRUPT_MESSAGE.
    #[error("{0}")]
    Corrupt(String),
    /// INVALID_RECORD, with (index in the batch, reason) of the offending records.
    #[error("{reason}")]
    InvalidRecord {
        /// For the whole batch.
        reason: String,
        /// Per record.
        records: Vec<(i32, String)>,
    },
    /// INVALID_TIMESTAMP, as above.
    #[error("{reason}")]
    InvalidTimestamp {
        /// For the whole batch.
        reason: String,
        /// Per record.
        records: Vec<(i32, String)>,
    },
    /// MESSAGE_TOO_LARGE.
    #[error("{0}")]
    TooLarge(String),
    /// RECORD_LIST_TOO_LARGE.
    #[error("{0}")]
    LargerThanSegment(String),
    /// UNSUPPORTED_COMPRESSION_TYPE.
    #[error("{0}")]
    UnsupportedCompression(String),
}

/// Checks the `records` field of one partition of a Produce request: exactly one batch of magic 2, CRC, counts, codec,
/// every record. Never panics, allocates at most `decompressed_bytes_max`.
pub fn check_batch<'a>(
    _records: &'a [u8],
    _rules: &BatchRules,
    _now: Timestamp,
) -> Result<CheckedBatch<'a>, BatchRejection> {
    unimplemented!("formats")
}
