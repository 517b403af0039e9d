//! What a topic can override.

use super::super::setting::{Setting, topic_settings};
use super::super::valid::*;

const TIERING: &str = "Kafka's tiered storage, which is not here.";
const THROTTLED_REPLICATION: &str =
    "Replicas whose copying between brokers is slowed down; there is one broker.";

/// The rows, by name.
pub(super) const ROWS: &[Setting] = topic_settings! {
    "cleanup.policy": List = "delete", list_of(&["compact", "delete"]), Medium, ["log.cleanup.policy"], acts
        => "What happens to old data: 'delete' removes it by time and size, 'compact' keeps the newest record \
            of each key (records without a key are then refused), an empty list keeps everything.";
    "compression.gzip.level": Int = "-1", between_or(1, 9, -1), Medium, ["compression.gzip.level"], acts
        => "Level for compression.type=gzip; -1 is gzip's own default.";
    "compression.lz4.level": Int = "9", between(1, 17), Medium, ["compression.lz4.level"], acts
        => "Level for compression.type=lz4.";
    "compression.type": String = "producer", one_of(&["uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"]), Medium, ["compression.type"], acts
        => "What stored batches are compressed with: 'producer' keeps what the producer chose, 'uncompressed' \
            and the names of codecs rewrite batches that differ.";
    "compression.zstd.level": Int = "3", between(-131072, 22), Medium, ["compression.zstd.level"], acts
        => "Level for compression.type=zstd.";
    "delete.retention.ms": Long = "86400000", at_least(0), Medium, ["log.cleaner.delete.retention.ms"], acts
        => "How long a tombstone, or the marker of a transaction, stays readable in a compacted topic after what it \
            is about is gone.";
    "errors.deadletterqueue.group.enable": Boolean = "false", ANY, Medium, [], later
        => "Lets share groups put records that they give up into this topic; not built yet.";
    "file.delete.delay.ms": Long = "60000", at_least(0), Medium, ["log.segment.delete.delay.ms"], acts
        => "Deleted segments keep their files, renamed, for this time.";
    "flush.messages": Long = "9223372036854775807", at_least(1), Medium, ["log.flush.interval.messages"], acts
        => "The partition is synced to disk after this many records. Replies wait for that sync. With \
            highwater.durability=fsync every acks=all reply waits for a sync anyway.";
    "flush.ms": Long = "9223372036854775807", at_least(0), Medium, ["log.flush.interval.ms", "log.flush.scheduler.interval.ms"], acts
        => "Longest time that a record stays unsynced.";
    "follower.replication.throttled.replicas": List = "", THROTTLED_REPLICAS, Medium, [], not_here
        => THROTTLED_REPLICATION;
    "highwater.durability": String = "fsync", one_of(&["fsync", "interval", "os"]), High, ["highwater.durability"], acts
        => "When an acks=all append to this topic is acknowledged: after the sync to disk ('fsync'), after the write to \
            the page cache ('os'), or so with a sync in the background ('interval').";
    "highwater.durability.interval.bytes": Bytes = "64MiB", at_least(1), Medium, ["highwater.durability.interval.bytes"], acts
        => "With highwater.durability=interval: most bytes of a partition without a sync.";
    "highwater.durability.interval.ms": Millis = "200ms", at_least(1), Medium, ["highwater.durability.interval.ms"], acts
        => "With highwater.durability=interval: longest time without a sync.";
    "index.interval.bytes": Int = "4096", at_least(0), Medium, ["log.index.interval.bytes"], acts
        => "Bytes of log between two entries of the offset index.";
    "internal.segment.bytes": Int = null, ANY, Medium, [], acts
        => "As segment.bytes without its lower bound; for tests.";
    "leader.replication.throttled.replicas": List = "", THROTTLED_REPLICAS, Medium, [], not_here
        => THROTTLED_REPLICATION;
    "local.retention.bytes": Long = "-2", at_least(-2), Medium, ["log.local.retention.bytes"], not_here
        => TIERING;
    "local.retention.ms": Long = "-2", at_least(-2), Medium, ["log.local.retention.ms"], not_here
        => TIERING;
    "max.compaction.lag.ms": Long = "9223372036854775807", at_least(1), Medium, ["log.cleaner.max.compaction.lag.ms"], acts
        => "Longest time that a record of a compacted topic stays uncompacted: a new segment is begun by then, at the \
            next append, and the log is cleaned whatever share of it is dirty.";
    "max.decompressed.message.bytes": Int = "2147483639", between(1, 2147483639), Medium, ["max.decompressed.message.bytes"], acts
        => "Largest record of a compressed batch from a producer, decompressed. What is stored stays readable if it is \
            lowered. A whole batch may decompress to 128 times max.message.bytes, and to 16 MiB in any case.";
    "max.message.bytes": Int = "1048588", at_least(0), Medium, ["message.max.bytes"], acts
        => "Largest batch of records, as compressed.";
    "message.timestamp.after.max.ms": Long = "3600000", at_least(0), Medium, ["log.message.timestamp.after.max.ms"], acts
        => "How far a record may be ahead of the clock of the broker (CreateTime only).";
    "message.timestamp.before.max.ms": Long = "9223372036854775807", at_least(0), Medium, ["log.message.timestamp.before.max.ms"], acts
        => "How far a record may be behind the clock of the broker (CreateTime only).";
    "message.timestamp.type": String = "CreateTime", one_of(&["CreateTime", "LogAppendTime"]), Medium, ["log.message.timestamp.type"], acts
        => "Whose time records carry: the producer's (CreateTime) or the broker's at the append \
            (LogAppendTime).";
    "min.cleanable.dirty.ratio": Double = "0.5", ratio(0.0, 1.0), Medium, ["log.cleaner.min.cleanable.ratio"], acts
        => "Share of a compacted log that must be uncleaned before it is cleaned.";
    "min.compaction.lag.ms": Long = "0", at_least(0), Medium, ["log.cleaner.min.compaction.lag.ms"], acts
        => "Shortest time that a record of a compacted topic stays uncompacted.";
    "min.insync.replicas": Int = "1", at_least(1), Medium, ["min.insync.replicas"], acts
        => "Replicas that must have a record before acks=all is answered. There is one replica, which is \
            enough, as in Kafka.";
    "preallocate": Boolean = "false", ANY, Medium, ["log.preallocate"], not_here
        => "Whether segment files are made at their full size. They never are here.";
    "remote.copy.lag.bytes": Long = "-1", at_least(-1), Medium, ["log.remote.copy.lag.bytes"], not_here
        => TIERING;
    "remote.copy.lag.ms": Long = "0", at_least(-1), Medium, ["log.remote.copy.lag.ms"], not_here
        => TIERING;
    "remote.log.copy.disable": Boolean = "false", ANY, Medium, [], not_here
        => TIERING;
    "remote.log.delete.on.disable": Boolean = "false", ANY, Medium, [], not_here
        => TIERING;
    "remote.storage.enable": Boolean = "false", ANY, Medium, [], not_here
        => TIERING;
    "retention.bytes": Long = "-1", ANY, Medium, ["log.retention.bytes"], acts
        => "Largest size of a partition: older segments are deleted above it. Negative for no limit.";
    "retention.ms": Long = "604800000", at_least(-1), Medium, ["log.retention.ms", "log.retention.minutes", "log.retention.hours"], acts
        => "Time after which segments are deleted, counted from their newest record; -1 for never.";
    "segment.bytes": Int = "1073741824", at_least(1048576), Medium, ["log.segment.bytes"], acts
        => "Largest segment: a new one is begun before a batch that would make it larger.";
    "segment.index.bytes": Int = "10485760", at_least(4), Medium, ["log.index.size.max.bytes"], acts
        => "Largest index of a segment; a new segment is begun when it is full. Nothing is preallocated here.";
    "segment.jitter.ms": Long = "0", at_least(0), Medium, ["log.roll.jitter.ms", "log.roll.jitter.hours"], acts
        => "Up to this much time, chosen at random, is taken off the time of a new segment.";
    "segment.ms": Long = "604800000", at_least(1), Medium, ["log.roll.ms", "log.roll.hours"], acts
        => "Time after which a new segment is begun even if the last one is not full.";
    "unclean.leader.election.enable": Boolean = "false", ANY, Medium, ["unclean.leader.election.enable"], not_here
        => "Whether a replica that lacks records may lead. There is one replica.";
};
