//! One table of settings: Kafka name, type, default, bounds, scope, doc; parsing; the values in force.
//!
//! [`load()`] takes command line, environment and properties file together to [`BrokerSettings`]. [`TopicSettings::resolve`]
//! puts a topic's overrides over the [`Layers`] of broker values. The checks of overrides, DescribeConfigs, the page
//! `docs/configs.md` and `highwater config` are made from the same rows ([`table`]). Nothing here does I/O.

mod alter;
mod broker_overrides;
mod broker_settings;
mod cleaner_settings;
mod describe;
mod environment;
mod group_overrides;
mod layers;
mod listeners;
mod load;
mod page;
mod properties;
mod setting;
pub mod table;
#[cfg(test)]
mod tests;
mod topic_overrides;
mod topic_settings;
mod units;
mod valid;
mod value;

pub use alter::{ListChangeError, append, subtract};
pub use broker_overrides::{
    BrokerScope, InvalidBrokerOverride, refuse_restart_only, validate_broker_overrides,
    validate_changes,
};
pub use broker_settings::{
    BrokerSettings, Durability, Listener, UNLIMITED_CREATION_RATE, Validation,
};
pub use cleaner_settings::CleanerSettings;
pub use describe::{
    DescribedConfig, Synonym, describe_broker, describe_cluster_default, describe_group,
    describe_topic, status_text,
};
pub use environment::setting_of_variable;
pub use group_overrides::{InvalidGroupOverride, validate_group_overrides};
pub use layers::{Layers, Origin, Overrides, Source, StaticValue, StaticValues};
pub use load::{
    LoadError, Loaded, Note, Problem, PropertiesFile, Sources, accepted, load, similar,
};
pub use page::settings_page;
pub use properties::{MalformedEscape, Property, parse as parse_properties};
pub use setting::{Importance, Kind, Scope, Setting, Status, Update};
pub use topic_overrides::{InvalidOverride, validate_topic_overrides};
pub use topic_settings::{CleanupPolicy, Codec, TargetCodec, TimestampType, TopicSettings};
pub use valid::Valid;
pub use value::{InvalidValue, Value};
