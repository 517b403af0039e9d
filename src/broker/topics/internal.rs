//! The topics that the broker keeps for itself.
//!
//! Partition counts and configs are those of Kafka's `GroupCoordinatorService.groupMetadataTopicConfigs` and its siblings for
//! transactions and share groups. One node holds one replica whatever the settings ask for.

use super::TopicSpec;
use crate::config::BrokerSettings;

/// The metadata log. Clients never see it as a topic, and cannot create one of its name.
pub(super) const CLUSTER_METADATA: &str = "__cluster_metadata";

/// A topic whose records are state of the broker (Kafka's `Topic.INTERNAL_TOPICS`).
struct InternalTopic {
    name: &'static str,
    configs: &'static [(&'static str, &'static str)],
}

const PARTITIONS: i32 = 50;

const INTERNAL_TOPICS: &[InternalTopic] = &[
    InternalTopic {
        name: "__consumer_offsets",
        configs: &[
            ("cleanup.policy", "compact"),
            ("compression.type", "producer"),
            ("segment.bytes", "104857600"),
        ],
    },
    InternalTopic {
        name: "__transaction_state",
        configs: &[
            ("cleanup.policy", "compact"),
            ("compression.type", "uncompressed"),
            ("min.insync.replicas", "1"),
            ("segment.bytes", "104857600"),
            ("unclean.leader.election.enable", "false"),
        ],
    },
    InternalTopic {
        name: "__share_group_state",
        configs: &[
            ("cleanup.policy", "delete"),
            ("compression.type", "producer"),
            ("min.insync.replicas", "1"),
            ("retention.ms", "-1"),
            ("segment.bytes", "104857600"),
        ],
    },
];

/// True for the topics of the group, transaction and share coordinators.
pub fn is_internal(name: &str) -> bool {
    by_name(name).is_some()
}

/// How an internal topic is created; `None` for every other name.
pub(super) fn spec(_settings: &BrokerSettings, name: &str) -> Option<TopicSpec> {
    let internal = by_name(name)?;
    let owned = |&(key, value): &(&str, &str)| (key.to_owned(), Some(value.to_owned()));
    Some(TopicSpec {
        partitions: PARTITIONS,
        replication_factor: 1,
        configs: internal.configs.iter().map(owned).collect(),
        ..TopicSpec::with_defaults(name)
    })
}

fn by_name(name: &str) -> Option<&'static InternalTopic> {
    INTERNAL_TOPICS.iter().find(|topic| topic.name == name)
}
