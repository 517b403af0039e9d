//! Settings of groups (Kafka's `GroupCoordinatorConfig` and `GroupConfig`).

use std::str::FromStr;

use crate::config::Layers;
use crate::metadata::{ConfigResource, Image};
use crate::types::BrokerId;

/// How often Kafka's coordinator matches patterns against new topics at most (its internal
/// `group.consumer.regex.refresh.interval.ms`).
const REGEX_REFRESH_INTERVAL_MS: i32 = 600_000;

/// Settings of the broker; a group's own (resource type GROUP) come from the image.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "fields are named as the settings")]
pub struct GroupSettings {
    /// Whose overrides count, of those in the image.
    pub node_id: BrokerId,
    pub group_initial_rebalance_delay_ms: i32,
    pub group_min_session_timeout_ms: i32,
    pub group_max_session_timeout_ms: i32,
    pub group_max_size: usize,
    pub offset_metadata_max_bytes: usize,
    pub offsets_retention_ms: i64,
    pub offsets_retention_check_interval_ms: i64,
    pub producer_id_expiration_ms: i64,
    pub consumer_assignors: Vec<String>,
    pub consumer_heartbeat_interval_ms: i32,
    pub consumer_min_heartbeat_interval_ms: i32,
    pub consumer_max_heartbeat_interval_ms: i32,
    pub consumer_session_timeout_ms: i32,
    pub consumer_min_session_timeout_ms: i32,
    pub consumer_max_session_timeout_ms: i32,
    pub consumer_max_size: usize,
    pub consumer_assignment_interval_ms: i32,
    pub consumer_min_assignment_interval_ms: i32,
    pub consumer_max_assignment_interval_ms: i32,
    pub consumer_regex_refresh_interval_ms: i32,
    pub consumer_migration: Migration,
}

/// `group.consumer.migration.policy`: which way a group may change its protocol with members in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "named as in Kafka's ConsumerGroupMigrationPolicy")]
pub enum Migration {
    Disabled,
    Upgrade,
    Downgrade,
    Bidirectional,
}

impl GroupSettings {
    /// The settings that the broker was started with. But for those that [`GroupSettings::assignment_interval_ms`] and its
    /// like look up, nothing changes them while it runs.
    pub fn of(node_id: BrokerId, layers: Layers<'_>) -> Self {
        let consumer = |name: &str| layers.int(&format!("group.consumer.{name}"));
        Self {
            node_id,
            group_initial_rebalance_delay_ms: layers.int("group.initial.rebalance.delay.ms"),
            group_min_session_timeout_ms: layers.int("group.min.session.timeout.ms"),
            group_max_session_timeout_ms: layers.int("group.max.session.timeout.ms"),
            group_max_size: layers.size("group.max.size"),
            offset_metadata_max_bytes: layers.size("offset.metadata.max.bytes"),
            offsets_retention_ms: layers.number("offsets.retention.minutes") * 60_000,
            offsets_retention_check_interval_ms: layers
                .number("offsets.retention.check.interval.ms"),
            producer_id_expiration_ms: layers.number("producer.id.expiration.ms"),
            consumer_assignors: layers.list("group.consumer.assignors"),
            consumer_heartbeat_interval_ms: consumer("heartbeat.interval.ms"),
            consumer_min_heartbeat_interval_ms: consumer("min.heartbeat.interval.ms"),
            consumer_max_heartbeat_interval_ms: consumer("max.heartbeat.interval.ms"),
            consumer_session_timeout_ms: consumer("session.timeout.ms"),
            consumer_min_session_timeout_ms: consumer("min.session.timeout.ms"),
            consumer_max_session_timeout_ms: consumer("max.session.timeout.ms"),
            consumer_max_size: layers.size("group.consumer.max.size"),
            consumer_assignment_interval_ms: consumer("assignment.interval.ms"),
            consumer_min_assignment_interval_ms: consumer("min.assignment.interval.ms"),
            consumer_max_assignment_interval_ms: consumer("max.assignment.interval.ms"),
            consumer_regex_refresh_interval_ms: REGEX_REFRESH_INTERVAL_MS,
            consumer_migration: migration(layers),
        }
    }

    /// `group.consumer.assignment.interval.ms` as it is now: Kafka changes it while it runs.
    pub fn assignment_interval_ms(&self, image: &Image) -> i32 {
        self.changed(image, "group.consumer.assignment.interval.ms")
            .unwrap_or(self.consumer_assignment_interval_ms)
    }

    /// `producer.id.expiration.ms` as it is now.
    pub fn producer_id_expiration_ms(&self, image: &Image) -> i64 {
        self.changed(image, "producer.id.expiration.ms").unwrap_or(self.producer_id_expiration_ms)
    }

    /// What a setting of the broker was changed to.
    fn changed<T: FromStr>(&self, image: &Image, key: &str) -> Option<T> {
        let changed = |resource| image.overrides(&resource).get(key)?.trim().parse().ok();
        changed(ConfigResource::Broker(self.node_id))
            .or_else(|| changed(ConfigResource::ClusterDefault))
    }
}

fn migration(layers: Layers<'_>) -> Migration {
    let policy = layers.text("group.consumer.migration.policy").unwrap_or_default();
    match policy.to_ascii_lowercase().as_str() {
        "disabled" => Migration::Disabled,
        "upgrade" => Migration::Upgrade,
        "downgrade" => Migration::Downgrade,
        _ => Migration::Bidirectional,
    }
}

impl Migration {
    /// True if a classic group may become one of the new protocol.
    pub fn upgrades(self) -> bool {
        matches!(self, Self::Upgrade | Self::Bidirectional)
    }

    /// True if a group of the new protocol may become a classic one.
    pub fn downgrades(self) -> bool {
        matches!(self, Self::Downgrade | Self::Bidirectional)
    }
}

impl Default for GroupSettings {
    /// Kafka 4.4's, but for the first rebalance, which here waits for nobody.
    fn default() -> Self {
        Self {
            node_id: BrokerId::new(1),
            group_initial_rebalance_delay_ms: 0,
            group_min_session_timeout_ms: 6_000,
            group_max_session_timeout_ms: 1_800_000,
            group_max_size: i32::MAX as usize,
            offset_metadata_max_bytes: 4_096,
            offsets_retention_ms: 10_080 * 60_000,
            offsets_retention_check_interval_ms: 600_000,
            producer_id_expiration_ms: 86_400_000,
            consumer_assignors: vec!["uniform".to_owned(), "range".to_owned()],
            consumer_heartbeat_interval_ms: 5_000,
            consumer_min_heartbeat_interval_ms: 5_000,
            consumer_max_heartbeat_interval_ms: 15_000,
            consumer_session_timeout_ms: 45_000,
            consumer_min_session_timeout_ms: 45_000,
            consumer_max_session_timeout_ms: 60_000,
            consumer_max_size: i32::MAX as usize,
            consumer_assignment_interval_ms: 1_000,
            consumer_min_assignment_interval_ms: 0,
            consumer_max_assignment_interval_ms: 15_000,
            consumer_regex_refresh_interval_ms: REGEX_REFRESH_INTERVAL_MS,
            consumer_migration: Migration::Bidirectional,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{BrokerSettings, Overrides, PropertiesFile, Sources, load};

    fn of(settings: &BrokerSettings) -> GroupSettings {
        let none = Overrides::new();
        GroupSettings::of(settings.node_id, settings.layers(&none, &none))
    }

    fn of_file(text: &str) -> GroupSettings {
        let file = PropertiesFile { path: "server.properties".into(), bytes: text.into() };
        of(&load(Sources { file: Some(file), ..Sources::default() }).expect("accepted").settings)
    }

    #[test]
    fn a_start_without_a_file_has_the_defaults_and_one_with_a_file_waits_as_kafka_does() {
        assert_eq!(of(&BrokerSettings::default()), GroupSettings::default());
        let with_file =
            GroupSettings { group_initial_rebalance_delay_ms: 3_000, ..GroupSettings::default() };
        assert_eq!(of_file("node.id=1\n"), with_file);
    }

    #[test]
    fn what_the_file_says_counts() {
        let settings = of_file(
            "group.initial.rebalance.delay.ms=7\noffsets.retention.minutes=2\n\
             group.consumer.migration.policy=Upgrade\ngroup.consumer.assignors=range\n\
             group.consumer.session.timeout.ms=50000\ngroup.max.size=3\n",
        );
        assert_eq!(settings.group_initial_rebalance_delay_ms, 7);
        assert_eq!(settings.offsets_retention_ms, 120_000);
        assert_eq!(settings.consumer_migration, Migration::Upgrade);
        assert_eq!(settings.consumer_assignors, ["range"]);
        assert_eq!((settings.consumer_session_timeout_ms, settings.group_max_size), (50_000, 3));
    }
}
