//! Use cases on configs: describe, change key by key, replace.
//!
//! Overrides live in the metadata image; what they mean, and what is accepted, is the table of `config`. A change is checked
//! together with the overrides that are there and then written in one append to the metadata log, under
//! [`Broker::changes`](crate::broker::Broker). It blocks on that append and belongs on the blocking pool.

mod alter;
mod describe;
mod resource;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use alter::{
    AlterConfigError, AlterConfigOutcome, AlterConfigs, ConfigOperation, KeyChange, ResourceChange,
};
pub use describe::{DescribeConfigError, ResourceToDescribe};
pub use resource::{ResourceName, ResourceType};

use super::Broker;
use crate::config::{
    BrokerSettings, DescribedConfig, Layers, Overrides, describe_group, describe_topic,
};
use crate::metadata::{ConfigResource, Image};

/// The broker's own settings at one image: what topics fall back on.
#[derive(Debug)]
pub struct BrokerConfigs {
    settings: Arc<BrokerSettings>,
    of_this_broker: Arc<Overrides>,
    of_all_brokers: Arc<Overrides>,
}

impl BrokerConfigs {
    /// Those of a broker with these settings at `image`.
    pub fn at(settings: &Arc<BrokerSettings>, image: &Image) -> Self {
        Self {
            settings: Arc::clone(settings),
            of_this_broker: image.overrides(&ConfigResource::Broker(settings.node_id)),
            of_all_brokers: image.overrides(&ConfigResource::ClusterDefault),
        }
    }

    /// As layers, the strongest first.
    pub fn layers(&self) -> Layers<'_> {
        self.settings.layers(&self.of_this_broker, &self.of_all_brokers)
    }

    /// All configs of a topic with these overrides, by name.
    pub fn of_topic(&self, overrides: &BTreeMap<String, String>) -> Vec<DescribedConfig> {
        describe_topic(self.layers(), overrides)
    }

    /// All configs of a group with these overrides, by name.
    pub fn of_group(&self, overrides: &BTreeMap<String, String>) -> Vec<DescribedConfig> {
        describe_group(self.layers(), overrides)
    }
}
