//! Checks of what people want to set on a topic (Kafka's `LogConfig.validate` and `ControllerConfigurationValidator`).

use super::layers::{Layers, Overrides};
use super::table;
use super::topic_settings::TopicSettings;
use super::value::InvalidValue;

/// Why topic overrides are refused: INVALID_CONFIG with Kafka's text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidOverride {
    /// No such topic setting.
    #[error("Unknown topic config name: {0}")]
    Unknown(String),
    /// The value is not accepted.
    #[error(transparent)]
    Value(#[from] InvalidValue),
    /// The values contradict each other.
    #[error(
        "conflict topic config setting min.compaction.lag.ms ({min}) > max.compaction.lag.ms ({max})"
    )]
    CompactionLags {
        /// In ms.
        min: i64,
        /// In ms.
        max: i64,
    },
    /// There is no tiered storage.
    #[error(
        "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage."
    )]
    TieredStorage,
}

/// Checks all overrides of a topic together, as they would be after the change.
pub fn validate_topic_overrides(
    layers: Layers<'_>,
    overrides: &Overrides,
) -> Result<(), InvalidOverride> {
    for name in overrides.keys() {
        table::topic(name).ok_or_else(|| InvalidOverride::Unknown(name.clone()))?;
    }
    for (name, text) in overrides {
        let setting = table::topic(name).expect("looked up above");
        setting.parse(text)?;
    }
    if overrides
        .get("remote.storage.enable")
        .is_some_and(|text| text.trim().eq_ignore_ascii_case("true"))
    {
        return Err(InvalidOverride::TieredStorage);
    }
    let TopicSettings { min_compaction_lag_ms: min, max_compaction_lag_ms: max, .. } =
        TopicSettings::resolve(layers, overrides);
    if min > max {
        return Err(InvalidOverride::CompactionLags { min, max });
    }
    Ok(())
}
