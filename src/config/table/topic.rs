//! What a topic can override.

use super::super::setting::{Setting, topic_settings};
use super::super::valid::*;

/// The rows, by name.
pub(super) const ROWS: &[Setting] = topic_settings! {
    "cleanup.policy": List = "delete", list_of(&["compact", "delete"]), Medium, ["log.cleanup.policy"], acts
        => "This config designates the retention policy to use on log segments.";
    "compression.gzip.level": Int = "-1", between_or(1, 9, -1), Medium, ["compression.gzip.level"], acts
        => "The compression level to use if compression.type is set to gzip.";
    "compression.lz4.level": Int = "9", between(1, 17), Medium, ["compression.lz4.level"], acts
        => "The compression level to use if compression.type is set to lz4.";
    "compression.type": String = "producer", one_of(&["uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"]), Medium, ["compression.type"], acts
        => "Specify the final compression type for a given topic.";
    "compression.zstd.level": Int = "3", between(-131072, 22), Medium, ["compression.zstd.level"], acts
        => "The compression level to use if compression.type is set to zstd.";
    "delete.retention.ms": Long = "86400000", at_least(0), Medium, ["log.cleaner.delete.retention.ms"], later
        => "The amount of time to retain delete tombstone markers for log compacted topics.";
    "errors.deadletterqueue.group.enable": Boolean = "false", ANY, Medium, [], later
        => "Enable this topic to be used as a dead-letter queue for share groups.";
    "file.delete.delay.ms": Long = "60000", at_least(0), Medium, ["log.segment.delete.delay.ms"], acts
        => "The time to wait before deleting a file from the filesystem.";
    "flush.messages": Long = "9223372036854775807", at_least(1), Medium, ["log.flush.interval.messages"], acts
        => "This setting allows specifying an interval at which we will force an fsync of data written to \
            the log.";
    "flush.ms": Long = "9223372036854775807", at_least(0), Medium, ["log.flush.interval.ms", "log.flush.scheduler.interval.ms"], acts
        => "This setting allows specifying a time interval at which we will force an fsync of data written \
            to the log.";
    "follower.replication.throttled.replicas": List = "", THROTTLED_REPLICAS, Medium, [], not_here
        => "A list of replicas for which log replication should be throttled on the follower side.";
    "highwater.durability": String = "fsync", one_of(&["fsync", "interval", "os"]), High, ["highwater.durability"], acts
        => "When an acks=all append to this topic is acknowledged: after the sync to disk ('fsync'), after the write to \
            the page cache ('os'), or so with a sync in the background ('interval').";
    "highwater.durability.interval.bytes": Bytes = "64MiB", at_least(1), Medium, ["highwater.durability.interval.bytes"], acts
        => "With highwater.durability=interval: most bytes of a partition without a sync.";
    "highwater.durability.interval.ms": Millis = "200ms", at_least(1), Medium, ["highwater.durability.interval.ms"], acts
        => "With highwater.durability=interval: longest time without a sync.";
    "index.interval.bytes": Int = "4096", at_least(0), Medium, ["log.index.interval.bytes"], acts
        => "This setting controls how frequently Kafka adds entries to its offset index and, conditionally, \
            to its time index.";
    "internal.segment.bytes": Int = null, ANY, Medium, [], acts
        => "The maximum size of a single log file.";
    "leader.replication.throttled.replicas": List = "", THROTTLED_REPLICAS, Medium, [], not_here
        => "A list of replicas for which log replication should be throttled on the leader side.";
    "local.retention.bytes": Long = "-2", at_least(-2), Medium, ["log.local.retention.bytes"], not_here
        => "The maximum size of local log segments that can grow for a partition before it deletes the old \
            segments.";
    "local.retention.ms": Long = "-2", at_least(-2), Medium, ["log.local.retention.ms"], not_here
        => "The number of milliseconds to keep the local log segment before it gets deleted.";
    "max.compaction.lag.ms": Long = "9223372036854775807", at_least(1), Medium, ["log.cleaner.max.compaction.lag.ms"], later
        => "The maximum time a message will remain ineligible for compaction in the log.";
    "max.decompressed.message.bytes": Int = "2147483639", between(1, 2147483639), Medium, ["max.decompressed.message.bytes"], acts
        => "The maximum decompressed size, in bytes, of a single record the broker will accept; larger \
            records are rejected with an InvalidRecordException.";
    "max.message.bytes": Int = "1048588", at_least(0), Medium, ["message.max.bytes"], acts
        => "The largest record batch size allowed by Kafka (after compression if compression is enabled).";
    "message.timestamp.after.max.ms": Long = "3600000", at_least(0), Medium, ["log.message.timestamp.after.max.ms"], acts
        => "This configuration sets the allowable timestamp difference between the message timestamp and the \
            broker's timestamp.";
    "message.timestamp.before.max.ms": Long = "9223372036854775807", at_least(0), Medium, ["log.message.timestamp.before.max.ms"], acts
        => "This configuration sets the allowable timestamp difference between the broker's timestamp and \
            the message timestamp.";
    "message.timestamp.type": String = "CreateTime", one_of(&["CreateTime", "LogAppendTime"]), Medium, ["log.message.timestamp.type"], acts
        => "Define whether the timestamp in the message is message create time or log append time.";
    "min.cleanable.dirty.ratio": Double = "0.5", ratio(0.0, 1.0), Medium, ["log.cleaner.min.cleanable.ratio"], later
        => "This configuration controls how frequently the log compactor will attempt to clean the log \
            (assuming log compaction is enabled).";
    "min.compaction.lag.ms": Long = "0", at_least(0), Medium, ["log.cleaner.min.compaction.lag.ms"], later
        => "The minimum time a message will remain uncompacted in the log.";
    "min.insync.replicas": Int = "1", at_least(1), Medium, ["min.insync.replicas"], acts
        => "Specifies the minimum number of in-sync replicas (including the leader) required for a write to \
            succeed when a producer sets acks to 'all' (or '-1').";
    "preallocate": Boolean = "false", ANY, Medium, ["log.preallocate"], not_here
        => "True if we should preallocate the file on disk when creating a new log segment.";
    "remote.copy.lag.bytes": Long = "-1", at_least(-1), Medium, ["log.remote.copy.lag.bytes"], not_here
        => "Controls one of the two upload eligibility checks (time and size) for copying segments to remote \
            storage.";
    "remote.copy.lag.ms": Long = "0", at_least(-1), Medium, ["log.remote.copy.lag.ms"], not_here
        => "Controls one of the two upload eligibility checks (time and size) for copying segments to remote \
            storage.";
    "remote.log.copy.disable": Boolean = "false", ANY, Medium, [], not_here
        => "Determines whether tiered data for a topic should become read only, and no more data uploading \
            on a topic.";
    "remote.log.delete.on.disable": Boolean = "false", ANY, Medium, [], not_here
        => "Determines whether tiered data for a topic should be deleted after tiered storage is disabled on \
            a topic.";
    "remote.storage.enable": Boolean = "false", ANY, Medium, [], not_here
        => "To enable tiered storage for a topic, set this configuration to true.";
    "retention.bytes": Long = "-1", ANY, Medium, ["log.retention.bytes"], acts
        => "This configuration controls the maximum size a partition (which consists of log segments) can \
            grow to before we will discard old log segments to free up space if we are using the 'delete' \
            retention policy.";
    "retention.ms": Long = "604800000", at_least(-1), Medium, ["log.retention.ms", "log.retention.minutes", "log.retention.hours"], acts
        => "This configuration controls the maximum time we will retain a log before we will discard old log \
            segments to free up space if we are using the 'delete' retention policy.";
    "segment.bytes": Int = "1073741824", at_least(1048576), Medium, ["log.segment.bytes"], acts
        => "This configuration controls the segment file size for the log.";
    "segment.index.bytes": Int = "10485760", at_least(4), Medium, ["log.index.size.max.bytes"], acts
        => "This configuration controls the size of the index that maps offsets to file positions.";
    "segment.jitter.ms": Long = "0", at_least(0), Medium, ["log.roll.jitter.ms", "log.roll.jitter.hours"], acts
        => "The maximum random jitter subtracted from the scheduled segment roll time to avoid thundering \
            herds of segment rolling.";
    "segment.ms": Long = "604800000", at_least(1), Medium, ["log.roll.ms", "log.roll.hours"], acts
        => "This configuration controls the period of time after which Kafka will force the log to roll even \
            if the segment file isn't full to ensure that retention can delete or compact old data.";
    "unclean.leader.election.enable": Boolean = "false", ANY, Medium, ["unclean.leader.election.enable"], not_here
        => "Indicates whether to enable replicas not in the ISR set to be elected as leader as a last \
            resort, even though doing so may result in data loss.";
};
