//! The one table of settings: every key of Apache Kafka 4.4 that is not internal, and our own.
//!
//! Names, types, defaults, bounds, importance and update modes are those of Kafka's `ConfigDef`s; the docs say what a setting does here.
//! A row generates parsing, DescribeConfigs, the checks of AlterConfigs, `docs/configs.md` and `highwater config`.

mod cluster;
mod group;
mod groups;
mod highwater;
mod network;
mod security;
mod storage;
mod tiered;
mod topic;
mod topics;
mod transactions;

use std::collections::HashMap;
use std::sync::LazyLock;

use super::setting::Setting;

/// Broker settings in groups, for people.
pub const BROKER_GROUPS: &[(&str, &[Setting])] = &[
    ("Highwater's own", highwater::ROWS),
    ("Identity, metadata, replication, quotas", cluster::ROWS),
    ("Network", network::ROWS),
    ("Storage", storage::ROWS),
    ("Topics", topics::ROWS),
    ("Groups and offsets", groups::ROWS),
    ("Transactions, producers, share state", transactions::ROWS),
    ("Security", security::ROWS),
    ("Tiered storage and metric reporters", tiered::ROWS),
];

/// Topic settings, by name.
pub const TOPIC: &[Setting] = topic::ROWS;

/// Group settings, by name.
pub const GROUP: &[Setting] = group::ROWS;

static BROKER_BY_NAME: LazyLock<HashMap<&'static str, &'static Setting>> =
    LazyLock::new(|| broker_settings().map(|row| (row.name, row)).collect());

static TOPIC_BY_NAME: LazyLock<HashMap<&'static str, &'static Setting>> =
    LazyLock::new(|| TOPIC.iter().map(|row| (row.name, row)).collect());

static GROUP_BY_NAME: LazyLock<HashMap<&'static str, &'static Setting>> =
    LazyLock::new(|| GROUP.iter().map(|row| (row.name, row)).collect());

/// All broker settings.
pub fn broker_settings() -> impl Iterator<Item = &'static Setting> {
    BROKER_GROUPS.iter().flat_map(|(_, rows)| rows.iter())
}

/// A broker setting by name.
pub fn broker(name: &str) -> Option<&'static Setting> {
    BROKER_BY_NAME.get(name).copied()
}

/// A topic setting by name.
pub fn topic(name: &str) -> Option<&'static Setting> {
    TOPIC_BY_NAME.get(name).copied()
}

/// A group setting by name.
pub fn group(name: &str) -> Option<&'static Setting> {
    GROUP_BY_NAME.get(name).copied()
}

/// True for a group setting that is shown only where it is set.
pub fn is_internal_group_setting(name: &str) -> bool {
    group::INTERNAL.contains(&name)
}
