//! The topics that the broker keeps for itself.
//!
//! Partition counts and configs are those of Kafka's `GroupCoordinatorService.groupMetadataTopicConfigs` and its siblings for
//! transactions and share groups. One node holds one replica whatever the settings ask for.

use super::TopicSpec;
use crate::config::{BrokerSettings, Layers, Value, table};

/// The metadata log. Clients never see it as a topic, and cannot create one of its name.
pub(super) const CLUSTER_METADATA: &str = "__cluster_metadata";

/// A topic whose records are state of the broker (Kafka's `Topic.INTERNAL_TOPICS`).
struct InternalTopic {
    name: &'static str,
    /// Broker setting with its number of partitions.
    partitions: &'static str,
    /// Broker setting with the size of its segments.
    segment_bytes: &'static str,
    /// Its other configs.
    configs: &'static [(&'static str, &'static str)],
}

const INTERNAL_TOPICS: &[InternalTopic] = &[
    InternalTopic {
        name: "__consumer_offsets",
        partitions: "offsets.topic.num.partitions",
        segment_bytes: "offsets.topic.segment.bytes",
        configs: &[("cleanup.policy", "compact"), ("compression.type", "producer")],
    },
    InternalTopic {
        name: "__transaction_state",
        partitions: "transaction.state.log.num.partitions",
        segment_bytes: "transaction.state.log.segment.bytes",
        configs: &[
            ("cleanup.policy", "compact"),
            ("compression.type", "uncompressed"),
            ("min.insync.replicas", "1"),
            ("unclean.leader.election.enable", "false"),
        ],
    },
    InternalTopic {
        name: "__share_group_state",
        partitions: "share.coordinator.state.topic.num.partitions",
        segment_bytes: "share.coordinator.state.topic.segment.bytes",
        configs: &[
            ("cleanup.policy", "delete"),
            ("compression.type", "producer"),
            ("min.insync.replicas", "1"),
            ("retention.ms", "-1"),
        ],
    },
];

/// True for the topics of the group, transaction and share coordinators.
pub fn is_internal(name: &str) -> bool {
    by_name(name).is_some()
}

/// How an internal topic is created; `None` for every other name.
pub(super) fn spec(settings: &BrokerSettings, name: &str) -> Option<TopicSpec> {
    let internal = by_name(name)?;
    let owned = |&(key, value): &(&str, &str)| (key.to_owned(), Some(value.to_owned()));
    let segment_bytes = number(settings, internal.segment_bytes).to_string();
    let mut configs: Vec<_> = internal.configs.iter().map(owned).collect();
    configs.push(("segment.bytes".to_owned(), Some(segment_bytes)));
    Some(TopicSpec {
        partitions: i32::try_from(number(settings, internal.partitions)).unwrap_or(i32::MAX),
        replication_factor: 1,
        configs,
        ..TopicSpec::with_defaults(name)
    })
}

fn by_name(name: &str) -> Option<&'static InternalTopic> {
    INTERNAL_TOPICS.iter().find(|topic| topic.name == name)
}

/// A setting that is given at start or has its default.
fn number(settings: &BrokerSettings, key: &str) -> i64 {
    let setting = table::broker(key).expect("settings of internal topics are rows of the table");
    match Layers::of_statics(&settings.statics).value(setting) {
        Some(Value::Number(number)) => number,
        other => unreachable!("{key} is no number with a default: {other:?}"),
    }
}
