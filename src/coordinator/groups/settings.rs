//! Settings of groups (Kafka's `GroupCoordinatorConfig` and `GroupConfig`).

/// Settings of the broker; a group's own (resource type GROUP) come from the image.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "fields are named as the settings")]
pub struct GroupSettings {
    pub group_initial_rebalance_delay_ms: i32,
    pub group_min_session_timeout_ms: i32,
    pub group_max_session_timeout_ms: i32,
    pub group_max_size: usize,
    pub offset_metadata_max_bytes: usize,
    pub offsets_retention_ms: i64,
    pub offsets_retention_check_interval_ms: i64,
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
            group_initial_rebalance_delay_ms: 0,
            group_min_session_timeout_ms: 6_000,
            group_max_session_timeout_ms: 1_800_000,
            group_max_size: i32::MAX as usize,
            offset_metadata_max_bytes: 4_096,
            offsets_retention_ms: 10_080 * 60_000,
            offsets_retention_check_interval_ms: 600_000,
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
            consumer_regex_refresh_interval_ms: 600_000,
            consumer_migration: Migration::Bidirectional,
        }
    }
}
