//! Identity, metadata quorum, replication and quotas.

use super::super::setting::{Setting, settings};
use super::super::valid::*;

const QUOTA_WINDOWS: &str = "How Kafka measures quotas over time; there are no quotas yet.";
const QUORUM: &str =
    "Between the brokers and controllers of a Kafka cluster; the one node here is both.";
const REPLICATION: &str = "Copies partitions between brokers; there is one broker.";
const METADATA_LOG: &str = "Size and age of the metadata log and its snapshots in Kafka; here a snapshot is written by size alone.";

/// The rows, by name.
pub(super) const ROWS: &[Setting] = settings! {
    "alter.log.dirs.replication.quota.window.num": Int = "11", at_least(1), Low, read_only, later
        => QUOTA_WINDOWS;
    "alter.log.dirs.replication.quota.window.size.seconds": Int = "1", at_least(1), Low, read_only, later
        => QUOTA_WINDOWS;
    "auto.leader.rebalance.enable": Boolean = "true", ANY, High, read_only, not_here
        => "Moves leaders back to their preferred broker; there is one broker.";
    "broker.heartbeat.interval.ms": Int = "2000", ANY, Medium, read_only, not_here
        => QUORUM;
    "broker.id": Int = "-1", ANY, High, read_only, acts
        => "The old name of node.id.";
    "broker.rack": String = null, ANY, Medium, read_only, acts
        => "Rack of this broker, told to clients and shown in metadata.";
    "broker.session.timeout.ms": Int = "9000", ANY, Medium, read_only, not_here
        => QUORUM;
    "client.quota.callback.class": Class = null, ANY, Low, read_only, later
        => "A Java class that decides on quotas; Java classes are not loaded.";
    "config.providers": List = "", ANY, Low, cluster_wide, not_here
        => "Java classes that fetch values of settings from elsewhere; they are not loaded.";
    "controlled.shutdown.enable": Boolean = "true", ANY, Medium, read_only, not_here
        => "Hands leadership over before a stop; there is no other broker to take it.";
    "controller.quorum.append.linger.ms": Int = "25", at_least(0), Medium, read_only, not_here
        => QUORUM;
    "controller.quorum.auto.join.enable": Boolean = "false", ANY, Low, read_only, not_here
        => QUORUM;
    "controller.quorum.bootstrap.servers": List = "", ANY, High, read_only, not_here
        => QUORUM;
    "controller.quorum.election.backoff.max.ms": Int = "1000", at_least(0), High, read_only, not_here
        => QUORUM;
    "controller.quorum.election.timeout.ms": Int = "1000", at_least(0), High, read_only, not_here
        => QUORUM;
    "controller.quorum.fetch.max.bytes": Int = "1048576", at_least(1), Low, read_only, not_here
        => QUORUM;
    "controller.quorum.fetch.snapshot.max.bytes": Int = "1048576", at_least(1), Low, read_only, not_here
        => QUORUM;
    "controller.quorum.fetch.timeout.ms": Int = "2000", at_least(0), High, read_only, not_here
        => QUORUM;
    "controller.quorum.request.timeout.ms": Int = "2000", at_least(0), Medium, read_only, not_here
        => QUORUM;
    "controller.quorum.retry.backoff.ms": Int = "20", at_least(0), Low, read_only, not_here
        => QUORUM;
    "controller.quorum.voters": List = "", ANY, High, read_only, not_here
        => QUORUM;
    "controller.quota.window.num": Int = "11", at_least(1), Low, read_only, later
        => QUOTA_WINDOWS;
    "controller.quota.window.size.seconds": Int = "1", at_least(1), Low, read_only, later
        => QUOTA_WINDOWS;
    "controller.socket.timeout.ms": Int = "30000", ANY, Medium, read_only, not_here
        => QUORUM;
    "initial.broker.registration.timeout.ms": Int = "60000", ANY, Medium, read_only, not_here
        => QUORUM;
    "leader.imbalance.check.interval.seconds": Long = "300", at_least(1), High, read_only, not_here
        => "How often Kafka looks whether leaders should move; there is one broker.";
    "metadata.log.dir": String = null, ANY, High, read_only, acts
        => "Where the metadata log lies: in one of log.dirs or in a directory of its own, which holds no \
            partitions. The first of log.dirs unless set.";
    "metadata.log.max.record.bytes.between.snapshots": Long = "20971520", at_least(1), High, read_only, acts
        => "Bytes of metadata records after which a snapshot is written.";
    "metadata.log.max.snapshot.interval.ms": Long = "3600000", at_least(0), High, read_only, later
        => METADATA_LOG;
    "metadata.log.segment.bytes": Int = "1073741824", at_least(8388608), High, read_only, not_here
        => METADATA_LOG;
    "metadata.log.segment.ms": Long = "604800000", ANY, High, read_only, not_here
        => METADATA_LOG;
    "metadata.max.idle.interval.ms": Int = "500", at_least(0), Low, read_only, not_here
        => METADATA_LOG;
    "metadata.max.retention.bytes": Long = "104857600", ANY, High, read_only, later
        => METADATA_LOG;
    "metadata.max.retention.ms": Long = "604800000", ANY, High, read_only, later
        => METADATA_LOG;
    "node.id": Int = null, at_least(0), High, read_only, acts
        => "Number of this node; also written to a new log directory, which then belongs to it. 1 unless set, \
            or what the log directory says.";
    "num.replica.fetchers": Int = "1", at_least(1), High, cluster_wide, not_here
        => REPLICATION;
    "process.roles": List = null, list_of(&["broker", "controller"]), High, read_only, acts
        => "What this process does: 'broker', 'controller' or both. Here the broker keeps the metadata itself, \
            so 'controller' alone is refused.";
    "quota.window.num": Int = "11", at_least(1), Low, read_only, later
        => QUOTA_WINDOWS;
    "quota.window.size.seconds": Int = "1", at_least(1), Low, read_only, later
        => QUOTA_WINDOWS;
    "replica.fetch.backoff.ms": Int = "1000", at_least(0), Medium, read_only, not_here
        => REPLICATION;
    "replica.fetch.max.bytes": Int = "1048576", at_least(0), Medium, read_only, not_here
        => REPLICATION;
    "replica.fetch.min.bytes": Int = "1", ANY, High, read_only, not_here
        => REPLICATION;
    "replica.fetch.response.max.bytes": Int = "10485760", at_least(0), Medium, read_only, not_here
        => REPLICATION;
    "replica.fetch.wait.max.ms": Int = "500", ANY, High, read_only, not_here
        => REPLICATION;
    "replica.high.watermark.checkpoint.interval.ms": Long = "5000", ANY, High, read_only, not_here
        => REPLICATION;
    "replica.lag.time.max.ms": Long = "30000", ANY, High, read_only, not_here
        => REPLICATION;
    "replica.selector.class": String = null, ANY, Medium, read_only, not_here
        => REPLICATION;
    "replica.socket.receive.buffer.bytes": Int = "65536", ANY, High, read_only, not_here
        => REPLICATION;
    "replica.socket.timeout.ms": Int = "30000", ANY, High, read_only, not_here
        => REPLICATION;
    "replication.quota.window.num": Int = "11", at_least(1), Low, read_only, later
        => QUOTA_WINDOWS;
    "replication.quota.window.size.seconds": Int = "1", at_least(1), Low, read_only, later
        => QUOTA_WINDOWS;
};
