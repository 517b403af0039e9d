//! The log directories and what topics inherit.

use super::super::setting::{Setting, settings};
use super::super::valid::*;

/// The rows, by name.
pub(super) const ROWS: &[Setting] = settings! {
    "background.threads": Int = "10", at_least(1), High, cluster_wide, not_here
        => "The number of threads to use for various background processing tasks.";
    "compression.gzip.level": Int = "-1", between_or(1, 9, -1), Medium, cluster_wide, acts
        => "The compression level to use if compression.type is set to 'gzip'.";
    "compression.lz4.level": Int = "9", between(1, 17), Medium, cluster_wide, acts
        => "The compression level to use if compression.type is set to 'lz4'.";
    "compression.type": String = "producer", one_of(&["uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"]), High, cluster_wide, acts
        => "Specify the final compression type for a given topic.";
    "compression.zstd.level": Int = "3", between(-131072, 22), Medium, cluster_wide, acts
        => "The compression level to use if compression.type is set to 'zstd'.";
    "cordoned.log.dirs": List = "", ANY, Medium, per_broker, not_here
        => "A comma-separated list of the directories that are cordoned.";
    "log.cleaner.backoff.ms": Long = "15000", at_least(0), Medium, cluster_wide, later
        => "The amount of time to sleep when there are no logs to clean.";
    "log.cleaner.dedupe.buffer.size": Long = "134217728", ANY, Medium, cluster_wide, later
        => "The total memory used for log deduplication across all cleaner threads.";
    "log.cleaner.delete.retention.ms": Long = "86400000", at_least(0), Medium, cluster_wide, later
        => "The amount of time to retain tombstone message markers for log compacted topics.";
    "log.cleaner.enable": Boolean = "true", ANY, Medium, read_only, later
        => "This configuration has been deprecated and will be removed in Kafka 5.0. Users should not set it \
            to false to prepare for its future removal.";
    "log.cleaner.io.buffer.load.factor": Double = "0.9", ANY, Medium, cluster_wide, later
        => "Log cleaner dedupe buffer load factor.";
    "log.cleaner.io.buffer.size": Int = "524288", at_least(0), Medium, cluster_wide, later
        => "The total memory used for log cleaner I/O buffers across all cleaner threads.";
    "log.cleaner.io.max.bytes.per.second": Double = "1.7976931348623157E308", ANY, Medium, cluster_wide, later
        => "The log cleaner will be throttled so that the sum of its read and write i/o will be less than \
            this value on average.";
    "log.cleaner.max.compaction.lag.ms": Long = "9223372036854775807", at_least(1), Medium, cluster_wide, later
        => "The maximum time a message will remain ineligible for compaction in the log.";
    "log.cleaner.min.cleanable.ratio": Double = "0.5", ratio(0.0, 1.0), Medium, cluster_wide, later
        => "The minimum ratio of dirty log to total log for a log to eligible for cleaning.";
    "log.cleaner.min.compaction.lag.ms": Long = "0", at_least(0), Medium, cluster_wide, later
        => "The minimum time a message will remain uncompacted in the log.";
    "log.cleaner.threads": Int = "1", at_least(0), Medium, cluster_wide, later
        => "The number of background threads to use for log cleaning.";
    "log.cleanup.policy": List = "delete", list_of(&["compact", "delete"]), Medium, cluster_wide, acts
        => "This config designates the retention policy to use on log segments.";
    "log.dir": List = "/tmp/kafka-logs", NON_EMPTY_LIST, High, read_only, acts
        => "A comma-separated list of the directories where the log data is stored.";
    "log.dir.failure.timeout.ms": Long = "30000", at_least(1), Low, read_only, later
        => "If the broker is unable to successfully communicate to the controller that some log directory \
            has failed for longer than this time, the broker will fail and shut down.";
    "log.dirs": List = null, NON_EMPTY_LIST, High, read_only, acts
        => "A comma-separated list of the directories where the log data is stored.";
    "log.flush.interval.messages": Long = "9223372036854775807", at_least(1), High, cluster_wide, acts
        => "The number of messages accumulated on a log partition before messages are flushed to disk.";
    "log.flush.interval.ms": Long = null, ANY, High, cluster_wide, acts
        => "The maximum time in ms that a message in any topic is kept in memory before flushed to disk.";
    "log.flush.offset.checkpoint.interval.ms": Int = "60000", at_least(0), High, read_only, acts
        => "The frequency with which we update the persistent record of the last flush which acts as the log \
            recovery point.";
    "log.flush.scheduler.interval.ms": Long = "9223372036854775807", ANY, High, read_only, acts
        => "The frequency in ms that the log flusher checks whether any log needs to be flushed to disk.";
    "log.flush.start.offset.checkpoint.interval.ms": Int = "60000", at_least(0), High, read_only, later
        => "The frequency with which we update the persistent record of log start offset.";
    "log.index.interval.bytes": Int = "4096", at_least(0), Medium, cluster_wide, acts
        => "The interval with which we add an entry to the offset index.";
    "log.index.size.max.bytes": Int = "10485760", at_least(4), Medium, cluster_wide, acts
        => "The maximum size in bytes of the offset index.";
    "log.initial.task.delay.ms": Long = "30000", at_least(0), Low, read_only, not_here
        => "The initial task delay in millisecond when initializing tasks in LogManager.";
    "log.message.timestamp.after.max.ms": Long = "3600000", at_least(0), Medium, cluster_wide, acts
        => "This configuration sets the allowable timestamp difference between the message timestamp and the \
            broker's timestamp.";
    "log.message.timestamp.before.max.ms": Long = "9223372036854775807", at_least(0), Medium, cluster_wide, acts
        => "This configuration sets the allowable timestamp difference between the broker's timestamp and \
            the message timestamp.";
    "log.message.timestamp.type": String = "CreateTime", one_of(&["CreateTime", "LogAppendTime"]), Medium, cluster_wide, acts
        => "Define whether the timestamp in the message is message create time or log append time.";
    "log.preallocate": Boolean = "false", ANY, Medium, cluster_wide, not_here
        => "Should pre allocate file when create new segment? If you are using Kafka on Windows, you \
            probably need to set it to true.";
    "log.retention.bytes": Long = "-1", ANY, High, cluster_wide, acts
        => "The maximum size of the log before deleting it.";
    "log.retention.check.interval.ms": Long = "300000", at_least(1), Medium, read_only, acts
        => "The frequency in milliseconds that the log cleaner checks whether any log is eligible for \
            deletion.";
    "log.retention.hours": Int = "168", ANY, High, read_only, acts
        => "The number of hours to keep a log file before deleting it (in hours), tertiary to \
            log.retention.ms property.";
    "log.retention.minutes": Int = null, ANY, High, read_only, acts
        => "The number of minutes to keep a log file before deleting it (in minutes), secondary to \
            log.retention.ms property.";
    "log.retention.ms": Long = null, ANY, High, cluster_wide, acts
        => "The number of milliseconds to keep a log file before deleting it (in milliseconds), If not set, \
            the value in log.retention.minutes is used.";
    "log.roll.hours": Int = "168", at_least(1), High, read_only, acts
        => "The maximum time before a new log segment is rolled out (in hours), secondary to log.roll.ms \
            property.";
    "log.roll.jitter.hours": Int = "0", at_least(0), High, read_only, acts
        => "The maximum jitter to subtract from logRollTimeMillis (in hours), secondary to \
            log.roll.jitter.ms property.";
    "log.roll.jitter.ms": Long = null, ANY, High, cluster_wide, acts
        => "The maximum jitter to subtract from logRollTimeMillis (in milliseconds).";
    "log.roll.ms": Long = null, ANY, High, cluster_wide, acts
        => "The maximum time before a new log segment is rolled out (in milliseconds).";
    "log.segment.bytes": Int = "1073741824", at_least(1048576), High, cluster_wide, acts
        => "The maximum size of a single log file.";
    "log.segment.delete.delay.ms": Long = "60000", at_least(0), High, cluster_wide, acts
        => "The amount of time to wait before deleting a file from the filesystem.";
    "max.decompressed.message.bytes": Int = "2147483639", between(1, 2147483639), Medium, cluster_wide, acts
        => "The maximum decompressed size, in bytes, of a single record the broker will accept; larger \
            records are rejected with an InvalidRecordException.";
    "message.max.bytes": Int = "1048588", at_least(0), High, cluster_wide, acts
        => "The largest record batch size allowed by Kafka (after compression if compression is \
            enabled).This can be set per topic with the topic level max.message.bytes config.";
    "num.recovery.threads.per.data.dir": Int = "2", at_least(1), High, cluster_wide, acts
        => "The number of threads per data directory to be used for log recovery at startup and flushing at \
            shutdown.";
    "num.replica.alter.log.dirs.threads": Int = null, ANY, High, read_only, not_here
        => "The number of threads that can move replicas between log directories, which may include disk \
            I/O.";
};
