//! Consumer, share and streams groups and their offsets.

use super::super::setting::{Setting, settings};
use super::super::valid::*;

/// The rows, by name.
pub(super) const ROWS: &[Setting] = settings! {
    "group.consumer.assignment.interval.ms": Int = "1000", at_least(0), Medium, cluster_wide, later
        => "The interval between assignment updates for a consumer group.";
    "group.consumer.assignors": List = "uniform,range", ANY, Medium, read_only, later
        => "The server side assignors as a list of either names for builtin assignors or full class names \
            for customer assignors.";
    "group.consumer.heartbeat.interval.ms": Int = "5000", at_least(1), Medium, read_only, later
        => "The heartbeat interval given to the members of a consumer group.";
    "group.consumer.max.assignment.interval.ms": Int = "15000", at_least(0), Medium, read_only, later
        => "The maximum interval between assignment updates for a consumer group.";
    "group.consumer.max.heartbeat.interval.ms": Int = "15000", at_least(1), Medium, read_only, later
        => "The maximum heartbeat interval for registered consumers.";
    "group.consumer.max.session.timeout.ms": Int = "60000", at_least(1), Medium, read_only, later
        => "The maximum allowed session timeout for registered consumers.";
    "group.consumer.max.size": Int = "2147483647", at_least(1), Medium, read_only, later
        => "The maximum number of consumers that a single consumer group can accommodate.";
    "group.consumer.migration.policy": String = "bidirectional", one_of_ignoring_case(&["DISABLED", "DOWNGRADE", "UPGRADE", "BIDIRECTIONAL"]), Medium, read_only, later
        => "The config that enables converting the non-empty classic group using the consumer embedded \
            protocol to the non-empty consumer group using the consumer group protocol and vice versa; \
            conversions of empty groups in both directions are always enabled regardless of this policy.";
    "group.consumer.min.assignment.interval.ms": Int = "0", at_least(0), Medium, read_only, later
        => "The minimum interval between assignment updates for a consumer group.";
    "group.consumer.min.heartbeat.interval.ms": Int = "5000", at_least(1), Medium, read_only, later
        => "The minimum heartbeat interval for registered consumers.";
    "group.consumer.min.session.timeout.ms": Int = "45000", at_least(1), Medium, read_only, later
        => "The minimum allowed session timeout for registered consumers.";
    "group.consumer.session.timeout.ms": Int = "45000", at_least(1), Medium, read_only, later
        => "The timeout to detect client failures when using the consumer group protocol.";
    "group.coordinator.append.linger.ms": Int = "-1", at_least(-1), Medium, read_only, not_here
        => "The duration in milliseconds that the coordinator will wait for writes to accumulate before \
            flushing them to disk.";
    "group.coordinator.background.threads": Int = "2", at_least(1), High, read_only, not_here
        => "The number of threads used by the group coordinator for processing background tasks (e.g. \
            updating regular expression subscriptions and offloaded assignments).";
    "group.coordinator.cached.buffer.max.bytes": Int = "1048588", at_least(524288), Medium, cluster_wide, not_here
        => "The maximum buffer size that the GroupCoordinator will retain for reuse.";
    "group.coordinator.rebalance.protocols": List = "classic,consumer,streams", list_of(&["consumer", "classic", "share", "streams"]), Medium, read_only, not_here
        => "This configuration is deprecated and will be removed in Kafka 5.0. The list of enabled rebalance \
            protocols.";
    "group.coordinator.threads": Int = "4", at_least(1), High, read_only, not_here
        => "The number of threads used by the group coordinator for processing requests.";
    "group.initial.rebalance.delay.ms": Int = "3000", ANY, Medium, read_only, later
        => "The amount of time the group coordinator will wait for more consumers to join a new group before \
            performing the first rebalance.";
    "group.max.session.timeout.ms": Int = "1800000", ANY, Medium, read_only, later
        => "The maximum allowed session timeout for registered consumers.";
    "group.max.size": Int = "2147483647", at_least(1), Medium, read_only, later
        => "The maximum number of consumers that a single consumer group can accommodate.";
    "group.min.session.timeout.ms": Int = "6000", ANY, Medium, read_only, later
        => "The minimum allowed session timeout for registered consumers.";
    "group.share.assignment.interval.ms": Int = "1000", at_least(0), Medium, cluster_wide, later
        => "The interval between assignment updates for a share group.";
    "group.share.assignors": List = "simple", ANY, Medium, read_only, later
        => "The server-side assignors as a list of either names for built-in assignors or full class names \
            for custom assignors.";
    "group.share.delivery.count.limit": Int = "5", between(2, 10), Medium, read_only, later
        => "The maximum number of delivery attempts for a record delivered to a share group.";
    "group.share.heartbeat.interval.ms": Int = "5000", at_least(1), Medium, read_only, later
        => "The heartbeat interval given to the members of a share group.";
    "group.share.max.assignment.interval.ms": Int = "15000", at_least(0), Medium, read_only, later
        => "The maximum interval between assignment updates for a share group.";
    "group.share.max.delivery.count.limit": Int = "10", between(5, 25), Medium, read_only, later
        => "The maximum value of a group configuration for the maximum number of delivery attempts for a \
            record delivered to a share group.";
    "group.share.max.heartbeat.interval.ms": Int = "15000", at_least(1), Medium, read_only, later
        => "The maximum heartbeat interval for share group members.";
    "group.share.max.partition.max.record.locks": Int = "4000", between(2000, 10000), Medium, read_only, later
        => "The maximum value of a group configuration for the record lock limit per share-partition.";
    "group.share.max.record.lock.duration.ms": Int = "60000", between(30000, 3600000), Medium, read_only, later
        => "The maximum value of a group configuration for record acquisition lock duration in milliseconds.";
    "group.share.max.session.timeout.ms": Int = "60000", at_least(1), Medium, read_only, later
        => "The maximum allowed session timeout for share group members.";
    "group.share.max.share.sessions": Int = "2000", at_least(1), Medium, read_only, later
        => "The maximum number of share sessions per broker.";
    "group.share.max.size": Int = "200", between(1, 1000), Medium, read_only, later
        => "The maximum number of members that a single share group can accommodate.";
    "group.share.min.assignment.interval.ms": Int = "0", at_least(0), Medium, read_only, later
        => "The minimum interval between assignment updates for a share group.";
    "group.share.min.delivery.count.limit": Int = "2", between(2, 5), Medium, read_only, later
        => "The minimum value of a group configuration for the maximum number of delivery attempts for a \
            record delivered to a share group.";
    "group.share.min.heartbeat.interval.ms": Int = "5000", at_least(1), Medium, read_only, later
        => "The minimum heartbeat interval for share group members.";
    "group.share.min.partition.max.record.locks": Int = "100", between(100, 2000), Medium, read_only, later
        => "The minimum value of a group configuration for the record lock limit per share-partition.";
    "group.share.min.record.lock.duration.ms": Int = "15000", between(1000, 30000), Medium, read_only, later
        => "The minimum value of a group configuration for record acquisition lock duration in milliseconds.";
    "group.share.min.session.timeout.ms": Int = "45000", at_least(1), Medium, read_only, later
        => "The minimum allowed session timeout for share group members.";
    "group.share.partition.max.record.locks": Int = "2000", between(100, 10000), Medium, read_only, later
        => "Share-group record lock limit per share-partition.";
    "group.share.record.lock.duration.ms": Int = "30000", between(1000, 3600000), Medium, read_only, later
        => "The record acquisition lock duration in milliseconds for share groups.";
    "group.share.session.timeout.ms": Int = "45000", at_least(1), Medium, read_only, later
        => "The timeout to detect client failures when using the share group protocol.";
    "group.streams.assignment.interval.ms": Int = "1000", at_least(0), Medium, cluster_wide, not_here
        => "The interval between assignment updates for a streams group.";
    "group.streams.assignors": List = "sticky", ANY, Medium, read_only, not_here
        => "The server side task assignors for streams groups as a list of either names for built-in \
            assignors or fully qualified class names for custom assignors.";
    "group.streams.heartbeat.interval.ms": Int = "5000", at_least(1), Medium, read_only, not_here
        => "The heartbeat interval given to the members.";
    "group.streams.initial.rebalance.delay.ms": Int = "3000", at_least(0), Medium, read_only, not_here
        => "The amount of time the group coordinator will wait for more streams clients to join a new group \
            before performing the first rebalance.";
    "group.streams.max.assignment.interval.ms": Int = "15000", at_least(0), Medium, read_only, not_here
        => "The maximum interval between assignment updates for a streams group.";
    "group.streams.max.heartbeat.interval.ms": Int = "15000", at_least(1), Medium, read_only, not_here
        => "The maximum allowed value for the group-level configuration of streams.heartbeat.interval.ms.";
    "group.streams.max.session.timeout.ms": Int = "60000", at_least(1), Medium, read_only, not_here
        => "The maximum allowed value for the group-level configuration of streams.session.timeout.ms.";
    "group.streams.max.size": Int = "2147483647", at_least(1), Medium, read_only, not_here
        => "The maximum number of streams clients that a single streams group can accommodate.";
    "group.streams.max.standby.replicas": Int = "2", at_least(0), Medium, read_only, not_here
        => "The maximum allowed value for the group-level configuration of streams.num.standby.replicas.";
    "group.streams.min.assignment.interval.ms": Int = "0", at_least(0), Medium, read_only, not_here
        => "The minimum interval between assignment updates for a streams group.";
    "group.streams.min.heartbeat.interval.ms": Int = "5000", at_least(1), Medium, read_only, not_here
        => "The minimum allowed value for the group-level configuration of streams.heartbeat.interval.ms.";
    "group.streams.min.session.timeout.ms": Int = "45000", at_least(1), Medium, read_only, not_here
        => "The minimum allowed value for the group-level configuration of streams.session.timeout.ms.";
    "group.streams.num.standby.replicas": Int = "0", at_least(0), Medium, read_only, not_here
        => "The number of standby replicas for each task.";
    "group.streams.rack.aware.assignment.tags": List = "", ANY, Low, read_only, not_here
        => "List of client tag keys used to distribute standby replicas across Kafka Streams instances.";
    "group.streams.session.timeout.ms": Int = "45000", at_least(1), Medium, read_only, not_here
        => "The timeout to detect client failures when using the streams group protocol.";
    "group.streams.topology.description.plugin.class": Class = null, ANY, Medium, read_only, not_here
        => "The fully qualified class name of a StreamsGroupTopologyDescriptionPlugin implementation.";
    "offset.metadata.max.bytes": Int = "4096", ANY, High, read_only, later
        => "The maximum size for a metadata entry associated with an offset commit.";
    "offsets.commit.timeout.ms": Int = "5000", at_least(1), High, read_only, later
        => "Offset commit will be delayed until all replicas for the offsets topic receive the commit or \
            this timeout is reached.";
    "offsets.load.buffer.size": Int = "5242880", at_least(1), High, read_only, later
        => "Batch size for reading from the offsets segments when loading group metadata into the cache \
            (soft-limit, overridden if records are too large).";
    "offsets.retention.check.interval.ms": Long = "600000", at_least(1), High, read_only, later
        => "Frequency at which to check for stale offsets.";
    "offsets.retention.minutes": Int = "10080", at_least(1), High, read_only, later
        => "For subscribed consumers, committed offset of a specific partition will be expired and discarded \
            when 1) this retention period has elapsed after the consumer group loses all its consumers (i.e. \
            becomes empty); 2) this retention period has elapsed since the last time an offset is committed \
            for the partition and the group is no longer subscribed to the corresponding topic.";
    "offsets.topic.compression.codec": Int = "0", ANY, High, read_only, later
        => "Compression codec for the offsets topic - compression may be used to achieve 'atomic' commits.";
    "offsets.topic.num.partitions": Int = "50", at_least(1), High, read_only, later
        => "The number of partitions for the offset commit topic (should not change after deployment).";
    "offsets.topic.replication.factor": Short = "3", at_least(1), High, read_only, later
        => "The replication factor for the offsets topic (set higher to ensure availability).";
    "offsets.topic.segment.bytes": Int = "104857600", at_least(1), High, read_only, later
        => "The offsets topic segment bytes should be kept relatively small in order to facilitate faster \
            log compaction and cache loads.";
};
