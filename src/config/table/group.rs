//! What a group can set for itself (resource type GROUP, Kafka's `GroupConfig`).

use super::super::setting::{Setting, group_settings};
use super::super::valid::*;

const ASSIGNOR_THREAD: &str =
    "In Kafka, whether another thread makes assignments; internal there, without meaning here.";
const SHARE_GROUPS: &str = "For share groups (KIP-932), which are not built yet.";
const STREAMS_GROUPS: &str = "For streams groups (KIP-1071), which are not built.";

/// The rows, by name.
pub(super) const ROWS: &[Setting] = group_settings! {
    "consumer.assignment.interval.ms": Int = "1000", at_least(0), Medium, ["group.consumer.assignment.interval.ms"], acts
        => "Shortest time between two assignments of a consumer group.";
    "consumer.assignor.offload.enable": Boolean = "true", ANY, Medium, [], not_here
        => ASSIGNOR_THREAD;
    "consumer.heartbeat.interval.ms": Int = "5000", at_least(1), Medium, ["group.consumer.heartbeat.interval.ms"], acts
        => "How often members of a consumer group of the new protocol (KIP-848) are told to send heartbeats.";
    "consumer.session.timeout.ms": Int = "45000", at_least(1), Medium, ["group.consumer.session.timeout.ms"], acts
        => "A member of a consumer group of the new protocol (KIP-848) is out once it was silent for this time.";
    "errors.deadletterqueue.copy.record.enable": Boolean = "false", ANY, Medium, [], later
        => SHARE_GROUPS;
    "errors.deadletterqueue.topic.name": String = "", ANY, Medium, [], later
        => SHARE_GROUPS;
    "share.assignment.interval.ms": Int = "1000", at_least(0), Medium, ["group.share.assignment.interval.ms"], later
        => SHARE_GROUPS;
    "share.assignor.offload.enable": Boolean = "true", ANY, Medium, [], not_here
        => ASSIGNOR_THREAD;
    "share.auto.offset.reset": String = "latest", OFFSET_RESET, Medium, [], later
        => SHARE_GROUPS;
    "share.delivery.count.limit": Int = "5", at_least(2), Medium, ["group.share.delivery.count.limit"], later
        => SHARE_GROUPS;
    "share.heartbeat.interval.ms": Int = "5000", at_least(1), Medium, ["group.share.heartbeat.interval.ms"], later
        => SHARE_GROUPS;
    "share.isolation.level": String = "read_uncommitted", one_of(&["read_committed", "read_uncommitted"]), Medium, [], later
        => SHARE_GROUPS;
    "share.partition.max.record.locks": Int = "2000", at_least(100), Medium, ["group.share.partition.max.record.locks"], later
        => SHARE_GROUPS;
    "share.record.lock.duration.ms": Int = "30000", at_least(1000), Medium, ["group.share.record.lock.duration.ms"], later
        => SHARE_GROUPS;
    "share.renew.acknowledge.enable": Boolean = "true", ANY, Medium, [], later
        => SHARE_GROUPS;
    "share.session.timeout.ms": Int = "45000", at_least(1), Medium, ["group.share.session.timeout.ms"], later
        => SHARE_GROUPS;
    "streams.acceptable.recovery.lag": Long = "10000", at_least(0), Medium, [], not_here
        => STREAMS_GROUPS;
    "streams.assignment.interval.ms": Int = "1000", at_least(0), Medium, ["group.streams.assignment.interval.ms"], not_here
        => STREAMS_GROUPS;
    "streams.assignor.name": String = null, ANY, Medium, ["group.streams.assignors"], not_here
        => STREAMS_GROUPS;
    "streams.assignor.offload.enable": Boolean = "true", ANY, Medium, [], not_here
        => ASSIGNOR_THREAD;
    "streams.heartbeat.interval.ms": Int = "5000", at_least(1), Medium, ["group.streams.heartbeat.interval.ms"], not_here
        => STREAMS_GROUPS;
    "streams.initial.rebalance.delay.ms": Int = "3000", at_least(0), Medium, ["group.streams.initial.rebalance.delay.ms"], not_here
        => STREAMS_GROUPS;
    "streams.num.standby.replicas": Int = "0", at_least(0), Medium, ["group.streams.num.standby.replicas"], not_here
        => STREAMS_GROUPS;
    "streams.num.warmup.replicas": Int = "2", at_least(0), Medium, [], not_here
        => STREAMS_GROUPS;
    "streams.rack.aware.assignment.tags": List = "", ANY, Low, ["group.streams.rack.aware.assignment.tags"], not_here
        => STREAMS_GROUPS;
    "streams.session.timeout.ms": Int = "45000", at_least(1), Medium, ["group.streams.session.timeout.ms"], not_here
        => STREAMS_GROUPS;
    "streams.task.offset.interval.ms": Int = "60000", at_least(1), Medium, [], not_here
        => STREAMS_GROUPS;
};

/// Kafka shows these only where they are set.
pub(super) const INTERNAL: &[&str] = &[
    "consumer.assignor.offload.enable",
    "share.assignor.offload.enable",
    "streams.acceptable.recovery.lag",
    "streams.assignor.offload.enable",
    "streams.num.warmup.replicas",
    "streams.task.offset.interval.ms",
];
