//! The settings in force for one topic.

/// What happens to old data (`cleanup.policy`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CleanupPolicy {
    /// Old segments go by time and size.
    pub delete: bool,
    /// Only the newest record of each key stays.
    pub compact: bool,
}

/// A compression codec as in the lowest three attribute bits of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    /// Not compressed.
    None,
    /// RFC 1952.
    Gzip,
    /// Snappy in xerial framing.
    Snappy,
    /// LZ4 frame.
    Lz4,
    /// Zstandard frame.
    Zstd,
}

/// What stored batches are compressed with (`compression.type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetCodec {
    /// Whatever the producer chose.
    Producer,
    /// Always this codec; batches in another one are rewritten.
    Fixed(Codec),
}

/// Whose clock record timestamps show (`message.timestamp.type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimestampType {
    /// The producer's.
    CreateTime,
    /// The broker's at append.
    LogAppendTime,
}

use super::Durability;

/// The settings in force for one topic: its own overrides over the broker's values. Sizes in bytes, times in ms.
/// Fields are named as Kafka's keys.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "each field is the Kafka key of the same name")]
pub struct TopicSettings {
    pub cleanup_policy: CleanupPolicy,
    pub compression_type: TargetCodec,
    pub compression_gzip_level: i32,
    pub compression_lz4_level: i32,
    pub compression_zstd_level: i32,
    pub delete_retention_ms: i64,
    pub file_delete_delay_ms: i64,
    pub flush_messages: i64,
    pub flush_ms: i64,
    pub index_interval_bytes: i32,
    pub max_compaction_lag_ms: i64,
    pub max_message_bytes: i32,
    pub message_timestamp_type: TimestampType,
    pub message_timestamp_before_max_ms: i64,
    pub message_timestamp_after_max_ms: i64,
    pub min_cleanable_dirty_ratio: f64,
    pub min_compaction_lag_ms: i64,
    pub min_insync_replicas: i32,
    pub retention_bytes: i64,
    pub retention_ms: i64,
    pub segment_bytes: i32,
    pub segment_index_bytes: i32,
    pub segment_jitter_ms: i64,
    pub segment_ms: i64,
    /// `highwater.durability`.
    pub durability: Durability,
}

impl Default for TopicSettings {
    /// Kafka's defaults.
    fn default() -> Self {
        Self {
            cleanup_policy: CleanupPolicy { delete: true, compact: false },
            compression_type: TargetCodec::Producer,
            compression_gzip_level: -1,
            compression_lz4_level: 9,
            compression_zstd_level: 3,
            delete_retention_ms: 86_400_000,
            file_delete_delay_ms: 60_000,
            flush_messages: i64::MAX,
            flush_ms: i64::MAX,
            index_interval_bytes: 4096,
            max_compaction_lag_ms: i64::MAX,
            max_message_bytes: 1_048_588,
            message_timestamp_type: TimestampType::CreateTime,
            message_timestamp_before_max_ms: i64::MAX,
            message_timestamp_after_max_ms: 3_600_000,
            min_cleanable_dirty_ratio: 0.5,
            min_compaction_lag_ms: 0,
            min_insync_replicas: 1,
            retention_bytes: -1,
            retention_ms: 604_800_000,
            segment_bytes: 1_073_741_824,
            segment_index_bytes: 10_485_760,
            segment_jitter_ms: 0,
            segment_ms: 604_800_000,
            durability: Durability::Fsync,
        }
    }
}
