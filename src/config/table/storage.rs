//! The log directories and what topics inherit.

use super::super::setting::{Setting, settings};
use super::super::valid::*;

/// The rows, by name.
pub(super) const ROWS: &[Setting] = settings! {
    "background.threads": Int = "10", at_least(1), High, cluster_wide, not_here
        => "Threads of Kafka's background work; there is one task for it here.";
    "compression.gzip.level": Int = "-1", between_or(1, 9, -1), Medium, cluster_wide, acts
        => "Level for compression.type=gzip; -1 is gzip's own default.";
    "compression.lz4.level": Int = "9", between(1, 17), Medium, cluster_wide, acts
        => "Level for compression.type=lz4.";
    "compression.type": String = "producer", one_of(&["uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"]), High, cluster_wide, acts
        => "What stored batches are compressed with: 'producer' keeps what the producer chose, 'uncompressed' \
            and the names of codecs rewrite batches that differ.";
    "compression.zstd.level": Int = "3", between(-131072, 22), Medium, cluster_wide, acts
        => "Level for compression.type=zstd.";
    "cordoned.log.dirs": List = "", ANY, Medium, per_broker, not_here
        => "Directories that take no new partitions; not built yet.";
    "log.cleaner.backoff.ms": Long = "15000", at_least(0), Medium, cluster_wide, acts
        => "What happened to a compacted log is looked at after this time, together with what came meanwhile.";
    "log.cleaner.dedupe.buffer.size": Long = "134217728", ANY, Medium, cluster_wide, acts
        => "Memory for the maps of keys of all cleaner threads. It is taken as keys come and given back after each \
            log, counts against highwater.memory.bytes and is at most a quarter of that.";
    "log.cleaner.delete.retention.ms": Long = "86400000", at_least(0), Medium, cluster_wide, acts
        => "How long a tombstone stays readable after what it deletes is gone, unless the topic says otherwise.";
    "log.cleaner.enable": Boolean = "true", ANY, Medium, read_only, acts
        => "Whether compacted topics are compacted.";
    "log.cleaner.io.buffer.load.factor": Double = "0.9", ANY, Medium, cluster_wide, acts
        => "Fullest that a map of keys gets. A log with more keys is cleaned in several passes.";
    "log.cleaner.io.buffer.size": Int = "524288", at_least(0), Medium, cluster_wide, acts
        => "Memory for reading and writing in all cleaner threads.";
    "log.cleaner.io.max.bytes.per.second": Double = "1.7976931348623157E308", ANY, Medium, cluster_wide, acts
        => "Bytes that the cleaner reads and writes in a second, all threads together.";
    "log.cleaner.max.compaction.lag.ms": Long = "9223372036854775807", at_least(1), Medium, cluster_wide, acts
        => "Longest time that a record of a compacted topic stays uncompacted, unless the topic says otherwise.";
    "log.cleaner.min.cleanable.ratio": Double = "0.5", ratio(0.0, 1.0), Medium, cluster_wide, acts
        => "Share of a compacted log that must be uncleaned before it is cleaned, unless the topic says otherwise.";
    "log.cleaner.min.compaction.lag.ms": Long = "0", at_least(0), Medium, cluster_wide, acts
        => "Shortest time that a record of a compacted topic stays uncompacted, unless the topic says otherwise.";
    "log.cleaner.threads": Int = "1", at_least(0), Medium, cluster_wide, acts
        => "Logs that are cleaned at the same time. While the broker runs, at most twice or half as many at a time.";
    "log.cleanup.policy": List = "delete", list_of(&["compact", "delete"]), Medium, cluster_wide, acts
        => "What happens to old data unless the topic says otherwise: 'delete' removes it by time and size, \
            'compact' keeps the newest record of each key (records without a key are then refused), an empty list \
            keeps everything.";
    "log.dir": List = "/tmp/kafka-logs", NON_EMPTY_LIST, High, read_only, acts
        => "Directory for the data if log.dirs is not set.";
    "log.dir.failure.timeout.ms": Long = "30000", at_least(1), Low, read_only, later
        => "How long Kafka tries to tell its controller of a failed directory; the one node here knows.";
    "log.dirs": List = null, NON_EMPTY_LIST, High, read_only, acts
        => "Directories for the data, separated by commas; log.dir unless set.";
    "log.flush.interval.messages": Long = "9223372036854775807", at_least(1), High, cluster_wide, acts
        => "A partition is synced to disk after this many records. Replies wait for that sync. With \
            highwater.durability=fsync every acks=all reply waits for a sync anyway.";
    "log.flush.interval.ms": Long = null, ANY, High, cluster_wide, acts
        => "Longest time that a record stays unsynced; log.flush.scheduler.interval.ms unless set.";
    "log.flush.offset.checkpoint.interval.ms": Int = "60000", at_least(0), High, read_only, acts
        => "After a change, the recovery points, log starts and high watermarks are written to their \
            checkpoints within this time.";
    "log.flush.scheduler.interval.ms": Long = "9223372036854775807", ANY, High, read_only, acts
        => "Stands in for log.flush.interval.ms where that is not set; there is no periodic check here.";
    "log.flush.start.offset.checkpoint.interval.ms": Int = "60000", at_least(0), High, read_only, not_here
        => "All checkpoints are written together here, see log.flush.offset.checkpoint.interval.ms.";
    "log.index.interval.bytes": Int = "4096", at_least(0), Medium, cluster_wide, acts
        => "Bytes of log between two entries of the offset index.";
    "log.index.size.max.bytes": Int = "10485760", at_least(4), Medium, cluster_wide, acts
        => "Largest index of a segment; a new segment is begun when it is full. Nothing is preallocated here.";
    "log.initial.task.delay.ms": Long = "30000", at_least(0), Low, read_only, not_here
        => "Wait before Kafka's first background work; here it is due when there is something to do.";
    "log.message.timestamp.after.max.ms": Long = "3600000", at_least(0), Medium, cluster_wide, acts
        => "How far a record may be ahead of the clock of the broker (CreateTime only).";
    "log.message.timestamp.before.max.ms": Long = "9223372036854775807", at_least(0), Medium, cluster_wide, acts
        => "How far a record may be behind the clock of the broker (CreateTime only).";
    "log.message.timestamp.type": String = "CreateTime", one_of(&["CreateTime", "LogAppendTime"]), Medium, cluster_wide, acts
        => "Whose time records carry: the producer's (CreateTime) or the broker's at the append \
            (LogAppendTime).";
    "log.preallocate": Boolean = "false", ANY, Medium, cluster_wide, not_here
        => "Whether segment files are made at their full size. They never are here.";
    "log.retention.bytes": Long = "-1", ANY, High, cluster_wide, acts
        => "Largest size of a partition: older segments are deleted above it. Negative for no limit.";
    "log.retention.check.interval.ms": Long = "300000", at_least(1), Medium, read_only, acts
        => "Time between two looks for segments that retention deletes.";
    "log.retention.hours": Int = "168", ANY, High, read_only, acts
        => "Hours after which segments are deleted, if neither log.retention.ms nor log.retention.minutes is \
            set.";
    "log.retention.minutes": Int = null, ANY, High, read_only, acts
        => "Minutes after which segments are deleted, if log.retention.ms is not set.";
    "log.retention.ms": Long = null, ANY, High, cluster_wide, acts
        => "Time after which segments are deleted, counted from their newest record; negative for never. Goes \
            before minutes and hours.";
    "log.roll.hours": Int = "168", at_least(1), High, read_only, acts
        => "Hours after which a new segment is begun, if log.roll.ms is not set.";
    "log.roll.jitter.hours": Int = "0", at_least(0), High, read_only, acts
        => "Up to this many hours, chosen at random, are taken off the time of a new segment, if \
            log.roll.jitter.ms is not set.";
    "log.roll.jitter.ms": Long = null, ANY, High, cluster_wide, acts
        => "Up to this much time, chosen at random, is taken off the time of a new segment.";
    "log.roll.ms": Long = null, ANY, High, cluster_wide, acts
        => "Time after which a new segment is begun even if the last one is not full.";
    "log.segment.bytes": Int = "1073741824", at_least(1048576), High, cluster_wide, acts
        => "Largest segment: a new one is begun before a batch that would make it larger.";
    "log.segment.delete.delay.ms": Long = "60000", at_least(0), High, cluster_wide, acts
        => "Deleted segments and topics keep their files, renamed, for this time.";
    "max.decompressed.message.bytes": Int = "2147483639", between(1, 2147483639), Medium, cluster_wide, acts
        => "Largest record of a compressed batch from a producer, decompressed. What is stored stays readable if it is \
            lowered. A whole batch may decompress to 128 times max.message.bytes, and to 16 MiB in any case.";
    "message.max.bytes": Int = "1048588", at_least(0), High, cluster_wide, acts
        => "Largest batch of records, as compressed, unless the topic says otherwise.";
    "num.recovery.threads.per.data.dir": Int = "2", at_least(1), High, cluster_wide, acts
        => "Threads for each log directory that recover partitions after an unclean stop. \
            A change while the broker runs acts at its next start.";
    "num.replica.alter.log.dirs.threads": Int = null, ANY, High, read_only, not_here
        => "Threads that move partitions between directories; here at most one for each directory.";
};
