//! Cluster, topics and partitions under the names that kafka_exporter and the JMX exporter give them, so that dashboards and
//! alerts written for those work unchanged.
//!
//! Offsets are there for partitions whose log is open; one that nobody has touched since the start has none, and a scrape
//! opens nothing.

use std::fmt::Write as _;

use super::exposition::single;
use crate::broker::{Broker, Partition};
use crate::metadata::{Image, PartitionState, Topic};
use crate::observe::header;
use crate::types::Offset;

/// Name, help and value of a gauge that every partition has.
type PartitionGauge<T> = (&'static str, &'static str, fn(&T) -> i64);

pub(super) fn expose(out: &mut String, broker: &Broker) {
    let image = broker.metadata.image();
    cluster(out, broker, &image);
    partitions_of_topics(out, &image);
    offsets(out, broker);
}

fn cluster(out: &mut String, broker: &Broker, image: &Image) {
    single(out, "kafka_brokers", "Brokers of the cluster.", 1);
    header(out, "kafka_broker_info", "gauge", "The broker and its address.");
    let id = broker.settings.node_id;
    for listener in &broker.settings.listeners {
        let (host, port) = (&listener.advertised_host, listener.advertised_port);
        let _ = writeln!(out, "kafka_broker_info{{id=\"{id}\",address=\"{host}:{port}\"}} 1");
    }
    let partitions: usize = image.topics.values().map(|topic| topic.partitions.len()).sum();
    let offline = broker.partitions.placement().offline_count();
    for (name, help, value) in [
        (
            "kafka_controller_kafkacontroller_activecontrollercount",
            "1: this node decides for itself.",
            1,
        ),
        ("kafka_server_replicamanager_partitioncount", "Partitions on this broker.", partitions),
        ("kafka_server_replicamanager_leadercount", "Partitions led by this broker.", partitions),
        (
            "kafka_server_replicamanager_underreplicatedpartitions",
            "Partitions with replicas out of sync.",
            0,
        ),
        (
            "kafka_server_replicamanager_underminisrpartitioncount",
            "Partitions below min.insync.replicas.",
            0,
        ),
        ("kafka_log_logmanager_offlinelogdirectorycount", "Log directories that failed.", offline),
        (
            "kafka_server_replicamanager_partitionswithlatetransactionscount",
            "Partitions with an open transaction that should have ended long ago.",
            broker.partitions_with_late_transactions(),
        ),
    ] {
        single(out, name, help, value);
    }
}

fn partitions_of_topics(out: &mut String, image: &Image) {
    header(out, "kafka_topic_partitions", "gauge", "Partitions of the topic.");
    let mut topics: Vec<&Topic> = image.topics.values().map(AsRef::as_ref).collect();
    topics.sort_by(|a, b| a.name.cmp(&b.name));
    for topic in &topics {
        let _ = writeln!(
            out,
            "kafka_topic_partitions{{topic=\"{}\"}} {}",
            topic.name,
            topic.partitions.len()
        );
    }
    let states: [PartitionGauge<PartitionState>; 5] = [
        ("kafka_topic_partition_leader", "Node that leads the partition.", |state| {
            i64::from(state.leader.get())
        }),
        ("kafka_topic_partition_leader_is_preferred", "1 if the first replica leads.", |state| {
            i64::from(state.replicas.first() == Some(&state.leader))
        }),
        ("kafka_topic_partition_replicas", "Replicas of the partition.", |state| {
            count(state.replicas.len())
        }),
        ("kafka_topic_partition_in_sync_replica", "Replicas in sync.", |state| {
            count(state.isr.len())
        }),
        (
            "kafka_topic_partition_under_replicated_partition",
            "1 if replicas are out of sync.",
            |state| i64::from(state.isr.len() < state.replicas.len()),
        ),
    ];
    for (name, help, value) in states {
        header(out, name, "gauge", help);
        for topic in &topics {
            for (index, state) in topic.partitions.iter().enumerate() {
                let _ = writeln!(
                    out,
                    "{name}{{topic=\"{}\",partition=\"{index}\"}} {}",
                    topic.name,
                    value(state)
                );
            }
        }
    }
}

fn count(len: usize) -> i64 {
    i64::try_from(len).unwrap_or(i64::MAX)
}

fn offsets(out: &mut String, broker: &Broker) {
    let mut partitions = broker.partitions.open_partitions();
    partitions.sort_by_key(|partition| partition.name());
    let values: [PartitionGauge<Partition>; 4] = [
        ("kafka_topic_partition_current_offset", "High watermark.", |partition| {
            partition.high_watermark().get()
        }),
        ("kafka_topic_partition_oldest_offset", "First offset.", |partition| {
            first_offset(partition).get()
        }),
        (
            "kafka_cluster_partition_laststableoffsetlag",
            "Offsets below the high watermark that read_committed consumers cannot see yet.",
            |partition| {
                let ends = partition.ends();
                ends.high_watermark.get() - ends.last_stable_offset.get()
            },
        ),
        ("kafka_log_log_size", "Bytes on disk.", |partition| {
            i64::try_from(partition.ends().view.size_bytes()).unwrap_or(i64::MAX)
        }),
    ];
    for (name, help, value) in values {
        header(out, name, "gauge", help);
        for partition in &partitions {
            let (topic, index) = (&partition.topic().name, partition.index());
            let _ = writeln!(
                out,
                "{name}{{topic=\"{topic}\",partition=\"{index}\"}} {}",
                value(partition)
            );
        }
    }
}

fn first_offset(partition: &Partition) -> Offset {
    partition.ends().view.log_start
}
