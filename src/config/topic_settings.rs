//! The settings in force for one topic.

use std::time::Duration;

use super::Durability;
use super::layers::{Layers, Overrides};
use super::table;
use super::value::Value;

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
    pub max_decompressed_message_bytes: i32,
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
        Self::resolve(Layers::of_statics(&super::StaticValues::default()), &Overrides::new())
    }
}

impl TopicSettings {
    /// The settings of a topic with these overrides. An override that does not parse (written by a version that knew
    /// better) is passed over.
    pub fn resolve(layers: Layers<'_>, overrides: &Overrides) -> Self {
        let of = Lookup { layers, overrides };
        Self {
            cleanup_policy: of.cleanup_policy(),
            compression_type: of.target_codec(),
            compression_gzip_level: of.int("compression.gzip.level"),
            compression_lz4_level: of.int("compression.lz4.level"),
            compression_zstd_level: of.int("compression.zstd.level"),
            delete_retention_ms: of.long("delete.retention.ms"),
            file_delete_delay_ms: of.long("file.delete.delay.ms"),
            flush_messages: of.long("flush.messages"),
            flush_ms: of.long("flush.ms"),
            index_interval_bytes: of.int("index.interval.bytes"),
            max_compaction_lag_ms: of.long("max.compaction.lag.ms"),
            max_decompressed_message_bytes: of.int("max.decompressed.message.bytes"),
            max_message_bytes: of.int("max.message.bytes"),
            message_timestamp_type: of.timestamp_type(),
            message_timestamp_before_max_ms: of.long("message.timestamp.before.max.ms"),
            message_timestamp_after_max_ms: of.long("message.timestamp.after.max.ms"),
            min_cleanable_dirty_ratio: of.double("min.cleanable.dirty.ratio"),
            min_compaction_lag_ms: of.long("min.compaction.lag.ms"),
            min_insync_replicas: of.int("min.insync.replicas"),
            retention_bytes: of.long("retention.bytes"),
            retention_ms: of.long("retention.ms"),
            segment_bytes: of.segment_bytes(),
            segment_index_bytes: of.int("segment.index.bytes"),
            segment_jitter_ms: of.long("segment.jitter.ms"),
            segment_ms: of.long("segment.ms"),
            durability: of.durability(),
        }
    }
}

/// Looks topic settings up: override first, then the broker's layers.
#[derive(Clone, Copy)]
struct Lookup<'a> {
    layers: Layers<'a>,
    overrides: &'a Overrides,
}

impl Lookup<'_> {
    fn value(self, name: &str) -> Option<Value> {
        let setting = table::topic(name).expect("settings read for topics are rows of the table");
        let overridden = self.overrides.get(name).and_then(|text| setting.parse(text).ok());
        overridden.or_else(|| self.layers.topic_fallback(setting))
    }

    fn long(self, name: &str) -> i64 {
        match self.value(name) {
            Some(Value::Number(number)) => number,
            other => unreachable!("{name} is no number with a default: {other:?}"),
        }
    }

    fn int(self, name: &str) -> i32 {
        i32::try_from(self.long(name)).expect("the table gives it 32 bits")
    }

    fn double(self, name: &str) -> f64 {
        match self.value(name) {
            Some(Value::Double(number)) => number,
            other => unreachable!("{name} is no float with a default: {other:?}"),
        }
    }

    fn text(self, name: &str) -> String {
        match self.value(name) {
            Some(Value::Text(text)) => text,
            other => unreachable!("{name} is no text with a default: {other:?}"),
        }
    }

    fn cleanup_policy(self) -> CleanupPolicy {
        match self.value("cleanup.policy") {
            Some(Value::List(list)) => {
                let has = |policy: &str| list.iter().any(|p| p == policy);
                CleanupPolicy { delete: has("delete"), compact: has("compact") }
            }
            other => unreachable!("cleanup.policy is no list with a default: {other:?}"),
        }
    }

    fn target_codec(self) -> TargetCodec {
        match self.text("compression.type").as_str() {
            "uncompressed" => TargetCodec::Fixed(Codec::None),
            "gzip" => TargetCodec::Fixed(Codec::Gzip),
            "snappy" => TargetCodec::Fixed(Codec::Snappy),
            "lz4" => TargetCodec::Fixed(Codec::Lz4),
            "zstd" => TargetCodec::Fixed(Codec::Zstd),
            "producer" => TargetCodec::Producer,
            other => unreachable!("the table accepts no compression.type {other}"),
        }
    }

    fn timestamp_type(self) -> TimestampType {
        match self.text("message.timestamp.type").as_str() {
            "LogAppendTime" => TimestampType::LogAppendTime,
            _ => TimestampType::CreateTime,
        }
    }

    /// `internal.segment.bytes` goes below the bound of `segment.bytes`, for tests.
    fn segment_bytes(self) -> i32 {
        match self.value("internal.segment.bytes") {
            Some(Value::Number(_)) => self.int("internal.segment.bytes"),
            _ => self.int("segment.bytes"),
        }
    }

    fn durability(self) -> Durability {
        match self.text("highwater.durability").as_str() {
            "os" => Durability::Os,
            "interval" => Durability::Interval {
                every: Duration::from_millis(
                    self.long("highwater.durability.interval.ms").unsigned_abs(),
                ),
                bytes: self.long("highwater.durability.interval.bytes").unsigned_abs(),
            },
            _ => Durability::Fsync,
        }
    }
}
