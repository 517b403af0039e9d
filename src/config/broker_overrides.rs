//! Checks of what people want to change on a running broker (Kafka's `DynamicBrokerConfig.validate`).

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

/// Why broker overrides are refused: INVALID_CONFIG with Kafka's text. Key and value together are Kafka's names.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidBrokerOverride {
    /// Only a restart changes it.
    #[error("Cannot update these configs dynamically: Set({0})")]
    ReadOnly(String),
    /// It cannot be set for all brokers at once.
    #[error(
        "Cannot update these configs at default cluster level, broker id must be specified: Set({0})"
    )]
    OneBrokerOnly(String),
    /// The value is not accepted.
    #[error(transparent)]
    Value(#[from] InvalidValue),
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
    for (name, text) in overrides {
        let Some(setting) = table::broker(name) else { continue };
        match (setting.scope, scope) {
            (Scope::Broker(Update::ReadOnly) | Scope::Topic { .. }, _) => {
                return Err(InvalidBrokerOverride::ReadOnly(name.clone()));
            }
            (Scope::Broker(Update::PerBroker), BrokerScope::All) => {
                return Err(InvalidBrokerOverride::OneBrokerOnly(name.clone()));
            }
            (Scope::Broker(Update::PerBroker | Update::ClusterWide), _) => {}
        }
        setting.parse(text)?;
    }
    let none = Overrides::new();
    let layers = Layers { broker: overrides, cluster: &none, statics };
    if TopicSettings::resolve(layers, &none).retention_ms == 0 {
        return Err(InvalidBrokerOverride::Retention);
    }
    Ok(())
}
