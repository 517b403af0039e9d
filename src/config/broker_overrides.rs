//! Checks of what people want to change on a running broker (Kafka's `DynamicBrokerConfig.validate`).

use super::broker_settings::{Conflict, per_ip_overrides};
use super::layers::{Layers, Overrides, StaticValues};
use super::setting::{Scope, Update};
use super::table;
use super::topic_settings::TopicSettings;
use super::value::InvalidValue;

const CLEANER_THREADS: &str = "log.cleaner.threads";
const CONNECTION_CREATION_RATE: &str = "max.connection.creation.rate";

/// Which brokers an override is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BrokerScope {
    /// One broker.
    One,
    /// All brokers.
    All,
}

/// Why broker overrides are refused: INVALID_REQUEST with Kafka's text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidBrokerOverride {
    /// Only a restart changes it.
    #[error("Cannot update these configs dynamically: [{0}]")]
    ReadOnly(String),
    /// It cannot be set for all brokers at once.
    #[error(
        "Cannot update these configs at default cluster level, broker id must be specified: [{0}]"
    )]
    OneBrokerOnly(String),
    /// The value is not accepted.
    #[error(transparent)]
    Value(#[from] InvalidValue),
    /// Kafka can change it while it runs; here only a restart does.
    #[error(
        "These configs are not changed while the broker runs, set them where it is started: [{0}]"
    )]
    NeedsRestart(String),
    /// The value is not accepted, for a reason beyond its type.
    #[error("Invalid value for configuration {key}: {reason}")]
    Unusable {
        /// The setting.
        key: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// Accepted at a start, but not as a change from what is in force.
    #[error(
        "Invalid value org.apache.kafka.common.config.ConfigException: {0} for configuration Invalid dynamic configuration"
    )]
    Change(String),
    /// `log.retention.ms` of zero.
    #[error("log.retention.ms must be unlimited (-1) or, greater than or equal to 1")]
    Retention,
}

/// Checks all overrides of a broker, or of all brokers, as they would be after the change. Unknown keys are accepted, as in
/// Kafka: they may belong to a plug-in.
pub fn validate_broker_overrides(
    statics: &StaticValues,
    scope: BrokerScope,
    overrides: &Overrides,
) -> Result<(), InvalidBrokerOverride> {
    let read_only = names(overrides, |update| update == Update::ReadOnly);
    if !read_only.is_empty() {
        return Err(InvalidBrokerOverride::ReadOnly(read_only));
    }
    let one_only = names(overrides, |update| update == Update::PerBroker);
    if scope == BrokerScope::All && !one_only.is_empty() {
        return Err(InvalidBrokerOverride::OneBrokerOnly(one_only));
    }
    for (name, text) in overrides {
        table::broker(name).map(|setting| setting.parse(text)).transpose()?;
    }
    let none = Overrides::new();
    let layers = Layers { broker: overrides, cluster: &none, statics };
    per_ip_overrides(layers)
        .map_err(|Conflict { key, reason }| InvalidBrokerOverride::Unusable { key, reason })?;
    if TopicSettings::resolve(layers, &none).retention_ms == 0 {
        return Err(InvalidBrokerOverride::Retention);
    }
    Ok(())
}

/// Checks what may change in steps only, or never to some values (Kafka's `BrokerReconfigurable.validateReconfiguration`).
/// `current` is what is in force.
pub fn validate_changes(
    current: Layers<'_>,
    present: &Overrides,
    after: &Overrides,
) -> Result<(), InvalidBrokerOverride> {
    let changed = |key: &str| {
        let value = after.get(key).filter(|value| present.get(key) != Some(value))?;
        value.trim().parse::<i64>().ok()
    };
    if let Some(threads) = changed(CLEANER_THREADS) {
        check_cleaner_threads(current.number(CLEANER_THREADS), threads)?;
    }
    let is_rate = |key: &&String| key.ends_with(CONNECTION_CREATION_RATE);
    for key in after.keys().filter(is_rate).filter(|key| present.get(*key) != after.get(*key)) {
        let rate = &after[key];
        if !rate.trim().parse::<i32>().is_ok_and(|rate| rate > 0) {
            let reason = format!("Invalid {CONNECTION_CREATION_RATE} {rate}");
            return Err(InvalidBrokerOverride::Change(reason));
        }
    }
    Ok(())
}

/// Kafka's `LogCleaner.validateReconfiguration`.
fn check_cleaner_threads(current: i64, threads: i64) -> Result<(), InvalidBrokerOverride> {
    let reason = if threads < 1 {
        "Log cleaner threads should be at least 1".to_owned()
    } else if threads < current / 2 {
        format!(
            "Log cleaner threads cannot be reduced to less than half the current value {current}"
        )
    } else if threads > current.max(1).saturating_mul(2) {
        format!(
            "Log cleaner threads cannot be increased to more than double the current value {current}"
        )
    } else {
        return Ok(());
    };
    Err(InvalidBrokerOverride::Change(reason))
}

/// Refuses to set what belongs to the listeners of a broker (their addresses, protocols, certificates, mechanisms): it would
/// change nothing before the next start, and not even then. What an Apache Kafka broker left in the metadata stays.
pub fn refuse_restart_only(
    present: &Overrides,
    after: &Overrides,
) -> Result<(), InvalidBrokerOverride> {
    let mut set = after.clone();
    set.retain(|key, value| present.get(key) != Some(value));
    let names = names(&set, |update| update == Update::PerBroker);
    if names.is_empty() { Ok(()) } else { Err(InvalidBrokerOverride::NeedsRestart(names)) }
}

/// The overridden settings of one kind, as Kafka lists them.
fn names(overrides: &Overrides, kind: impl Fn(Update) -> bool) -> String {
    let of_kind = |name: &&String| match table::broker(name).map(|setting| setting.scope) {
        Some(Scope::Broker(update)) => kind(update),
        Some(Scope::Topic { .. } | Scope::Group { .. }) | None => false,
    };
    overrides.keys().filter(of_kind).map(String::as_str).collect::<Vec<_>>().join(", ")
}
