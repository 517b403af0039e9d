//! One table of settings: Kafka name, type, default, bounds, scope, doc; parsing; the values in force.

mod broker_settings;
mod topic_settings;

pub use broker_settings::{BrokerSettings, Durability, Listener};
pub use topic_settings::{CleanupPolicy, Codec, TargetCodec, TimestampType, TopicSettings};
