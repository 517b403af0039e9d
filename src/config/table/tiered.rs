//! Tiered storage and metric reporters.

use super::super::setting::{Setting, settings};
use super::super::valid::*;

/// The rows, by name.
pub(super) const ROWS: &[Setting] = settings! {
    "follower.fetch.last.tiered.offset.enable": Boolean = "false", ANY, Medium, cluster_wide, not_here
        => "When enabled, an empty follower skips offsets up to the last tiered offset and begins \
            replication from the next offset.";
    "kafka.metrics.polling.interval.secs": Int = "10", at_least(1), Low, read_only, not_here
        => "The metrics polling interval (in seconds) which can be used in kafka.metrics.reporters \
            implementations.";
    "kafka.metrics.reporters": List = "", ANY, Low, read_only, not_here
        => "A list of classes to use as Yammer metrics custom reporters.";
    "log.local.retention.bytes": Long = "-2", at_least(-2), Medium, cluster_wide, not_here
        => "The maximum size of local log segments that can grow for a partition before it gets eligible for \
            deletion.";
    "log.local.retention.ms": Long = "-2", at_least(-2), Medium, cluster_wide, not_here
        => "The number of milliseconds to keep the local log segments before it gets eligible for deletion.";
    "log.remote.copy.lag.bytes": Long = "-1", at_least(-1), Medium, cluster_wide, not_here
        => "Controls one of the two upload eligibility checks (time and size) for copying segments to remote \
            storage.";
    "log.remote.copy.lag.ms": Long = "0", at_least(-1), Medium, cluster_wide, not_here
        => "Controls one of the two upload eligibility checks (time and size) for copying segments to remote \
            storage.";
    "metric.reporters": List = "org.apache.kafka.common.metrics.JmxReporter", ANY, Low, cluster_wide, not_here
        => "A list of classes to use as metrics reporters.";
    "metrics.num.samples": Int = "2", at_least(1), Low, read_only, not_here
        => "The number of samples maintained to compute metrics.";
    "metrics.recording.level": String = "INFO", ANY, Low, read_only, not_here
        => "The highest recording level for metrics.";
    "metrics.sample.window.ms": Long = "30000", at_least(1), Low, read_only, not_here
        => "The window of time a metrics sample is computed over.";
    "remote.fetch.max.wait.ms": Int = "500", at_least(1), Medium, cluster_wide, not_here
        => "The maximum amount of time the server will wait before answering the fetch request containing \
            remote fetch partitions.";
    "remote.list.offsets.request.timeout.ms": Long = "30000", at_least(1), Medium, cluster_wide, not_here
        => "The maximum amount of time the server will wait for the remote list offsets request to complete.";
    "remote.log.index.file.cache.total.size.bytes": Long = "1073741824", at_least(1), Low, cluster_wide, not_here
        => "The total size of the space allocated to store index files fetched from remote storage in the \
            local storage.";
    "remote.log.manager.copier.thread.pool.size": Int = "10", at_least(1), Medium, cluster_wide, not_here
        => "Size of the thread pool used in scheduling tasks to copy segments.";
    "remote.log.manager.copy.max.bytes.per.second": Long = "9223372036854775807", at_least(1), Medium, cluster_wide, not_here
        => "The maximum number of bytes that can be copied from local storage to remote storage per second.";
    "remote.log.manager.copy.quota.window.num": Int = "11", at_least(1), Medium, read_only, later
        => "The number of samples to retain in memory for remote copy quota management.";
    "remote.log.manager.copy.quota.window.size.seconds": Int = "1", at_least(1), Medium, read_only, later
        => "The time span of each sample for remote copy quota management.";
    "remote.log.manager.expiration.thread.pool.size": Int = "10", at_least(1), Medium, cluster_wide, not_here
        => "Size of the thread pool used in scheduling tasks to clean up the expired remote log segments.";
    "remote.log.manager.fetch.max.bytes.per.second": Long = "9223372036854775807", at_least(1), Medium, cluster_wide, not_here
        => "The maximum number of bytes that can be fetched from remote storage to local storage per second.";
    "remote.log.manager.fetch.quota.window.num": Int = "11", at_least(1), Medium, read_only, later
        => "The number of samples to retain in memory for remote fetch quota management.";
    "remote.log.manager.fetch.quota.window.size.seconds": Int = "1", at_least(1), Medium, read_only, later
        => "The time span of each sample for remote fetch quota management.";
    "remote.log.manager.follower.thread.pool.size": Int = "2", at_least(1), Medium, cluster_wide, not_here
        => "Size of the thread pool used in scheduling follower tasks to read the highest-uploaded remote- \
            offset for follower partitions.";
    "remote.log.manager.task.interval.ms": Long = "30000", at_least(1), Low, read_only, not_here
        => "Interval at which remote log manager runs the scheduled tasks like copy segments, and clean up \
            remote log segments.";
    "remote.log.manager.thread.pool.size": Int = "2", at_least(1), Medium, read_only, not_here
        => "Size of the thread pool used in scheduling follower tasks to read the highest-uploaded remote- \
            offset for follower partitions.";
    "remote.log.metadata.custom.metadata.max.bytes": Int = "128", at_least(0), Low, read_only, not_here
        => "The maximum size of custom metadata in bytes that the broker should accept from a remote storage \
            plugin.";
    "remote.log.metadata.manager.class.name": String = "org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager", ANY, Medium, read_only, not_here
        => "Fully qualified class name of RemoteLogMetadataManager implementation.";
    "remote.log.metadata.manager.class.path": String = null, ANY, Medium, read_only, not_here
        => "Class path of the RemoteLogMetadataManager implementation.";
    "remote.log.metadata.manager.impl.prefix": String = "rlmm.config.", ANY, Medium, read_only, not_here
        => "Prefix used for properties to be passed to RemoteLogMetadataManager implementation.";
    "remote.log.metadata.manager.listener.name": String = null, ANY, Medium, read_only, not_here
        => "Listener name of the local broker to which it should get connected if needed by \
            RemoteLogMetadataManager implementation.";
    "remote.log.reader.max.pending.tasks": Int = "100", at_least(1), Medium, read_only, not_here
        => "Maximum remote log reader thread pool task queue size.";
    "remote.log.reader.threads": Int = "10", at_least(1), Medium, cluster_wide, not_here
        => "Size of the thread pool that is allocated for handling remote log reads.";
    "remote.log.storage.manager.class.name": String = null, ANY, Medium, read_only, not_here
        => "Fully qualified class name of RemoteStorageManager implementation.";
    "remote.log.storage.manager.class.path": String = null, ANY, Medium, read_only, not_here
        => "Class path of the RemoteStorageManager implementation.";
    "remote.log.storage.manager.impl.prefix": String = "rsm.config.", ANY, Medium, read_only, not_here
        => "Prefix used for properties to be passed to RemoteStorageManager implementation.";
    "remote.log.storage.system.enable": Boolean = "false", ANY, Medium, read_only, not_here
        => "Whether to enable tiered storage functionality in a broker or not.";
    "telemetry.max.bytes": Int = "1048576", at_least(1), Low, read_only, later
        => "The maximum size (after compression if compression is used) of telemetry metrics pushed from a \
            client to the broker.";
};
