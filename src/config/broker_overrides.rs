//! Checks of what people want to change on a running broker (Kafka's `DynamicBrokerConfig.validate`).

use super::broker_settings::{Conflict, per_ip_overrides};
use super::layers::{Layers, Overrides, StaticValues};
use super::setting::{Scope, Update};
use super::table;
use super::topic_settings::TopicSettings;
use super::value::InvalidValue;

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
