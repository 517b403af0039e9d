//! Tiered storage and metric reporters.

use super::super::setting::{Setting, settings};
use super::super::valid::*;

const TIERING: &str = "Kafka's tiered storage, which is not here.";
const REPORTERS: &str = "Java classes that report metrics; they are not loaded, metrics are at /metrics of highwater.http.listen.";
const TELEMETRY: &str = "Metrics that clients push (KIP-714); they are not taken.";

/// The rows, by name.
pub(super) const ROWS: &[Setting] = settings! {
    "follower.fetch.last.tiered.offset.enable": Boolean = "false", ANY, Medium, cluster_wide, not_here
        => TIERING;
    "kafka.metrics.polling.interval.secs": Int = "10", at_least(1), Low, read_only, not_here
        => REPORTERS;
    "kafka.metrics.reporters": List = "", ANY, Low, read_only, not_here
        => REPORTERS;
    "log.local.retention.bytes": Long = "-2", at_least(-2), Medium, cluster_wide, not_here
        => TIERING;
    "log.local.retention.ms": Long = "-2", at_least(-2), Medium, cluster_wide, not_here
        => TIERING;
    "log.remote.copy.lag.bytes": Long = "-1", at_least(-1), Medium, cluster_wide, not_here
        => TIERING;
    "log.remote.copy.lag.ms": Long = "0", at_least(-1), Medium, cluster_wide, not_here
        => TIERING;
    "metric.reporters": List = "org.apache.kafka.common.metrics.JmxReporter", ANY, Low, cluster_wide, not_here
        => REPORTERS;
    "metrics.num.samples": Int = "2", at_least(1), Low, read_only, not_here
        => REPORTERS;
    "metrics.recording.level": String = "INFO", ANY, Low, read_only, not_here
        => REPORTERS;
    "metrics.sample.window.ms": Long = "30000", at_least(1), Low, read_only, not_here
        => REPORTERS;
    "remote.fetch.max.wait.ms": Int = "500", at_least(1), Medium, cluster_wide, not_here
        => TIERING;
    "remote.list.offsets.request.timeout.ms": Long = "30000", at_least(1), Medium, cluster_wide, not_here
        => TIERING;
    "remote.log.index.file.cache.total.size.bytes": Long = "1073741824", at_least(1), Low, cluster_wide, not_here
        => TIERING;
    "remote.log.manager.copier.thread.pool.size": Int = "10", at_least(1), Medium, cluster_wide, not_here
        => TIERING;
    "remote.log.manager.copy.max.bytes.per.second": Long = "9223372036854775807", at_least(1), Medium, cluster_wide, not_here
        => TIERING;
    "remote.log.manager.copy.quota.window.num": Int = "11", at_least(1), Medium, read_only, later
        => TIERING;
    "remote.log.manager.copy.quota.window.size.seconds": Int = "1", at_least(1), Medium, read_only, later
        => TIERING;
    "remote.log.manager.expiration.thread.pool.size": Int = "10", at_least(1), Medium, cluster_wide, not_here
        => TIERING;
    "remote.log.manager.fetch.max.bytes.per.second": Long = "9223372036854775807", at_least(1), Medium, cluster_wide, not_here
        => TIERING;
    "remote.log.manager.fetch.quota.window.num": Int = "11", at_least(1), Medium, read_only, later
        => TIERING;
    "remote.log.manager.fetch.quota.window.size.seconds": Int = "1", at_least(1), Medium, read_only, later
        => TIERING;
    "remote.log.manager.follower.thread.pool.size": Int = "2", at_least(1), Medium, cluster_wide, not_here
        => TIERING;
    "remote.log.manager.task.interval.ms": Long = "30000", at_least(1), Low, read_only, not_here
        => TIERING;
    "remote.log.manager.thread.pool.size": Int = "2", at_least(1), Medium, read_only, not_here
        => TIERING;
    "remote.log.metadata.custom.metadata.max.bytes": Int = "128", at_least(0), Low, read_only, not_here
        => TIERING;
    "remote.log.metadata.manager.class.name": String = "org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager", ANY, Medium, read_only, not_here
        => TIERING;
    "remote.log.metadata.manager.class.path": String = null, ANY, Medium, read_only, not_here
        => TIERING;
    "remote.log.metadata.manager.impl.prefix": String = "rlmm.config.", ANY, Medium, read_only, not_here
        => TIERING;
    "remote.log.metadata.manager.listener.name": String = null, ANY, Medium, read_only, not_here
        => TIERING;
    "remote.log.reader.max.pending.tasks": Int = "100", at_least(1), Medium, read_only, not_here
        => TIERING;
    "remote.log.reader.threads": Int = "10", at_least(1), Medium, cluster_wide, not_here
        => TIERING;
    "remote.log.storage.manager.class.name": String = null, ANY, Medium, read_only, not_here
        => TIERING;
    "remote.log.storage.manager.class.path": String = null, ANY, Medium, read_only, not_here
        => TIERING;
    "remote.log.storage.manager.impl.prefix": String = "rsm.config.", ANY, Medium, read_only, not_here
        => TIERING;
    "remote.log.storage.system.enable": Boolean = "false", ANY, Medium, read_only, not_here
        => TIERING;
    "telemetry.max.bytes": Int = "1048576", at_least(1), Low, read_only, later
        => TELEMETRY;
};
