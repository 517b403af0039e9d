//! DescribeConfigs: what is in force, where it comes from and what else there would be (Kafka's `ConfigHelper`).

use super::resource::{NotThisBroker, ResourceName, ResourceType, broker_resource};
use super::{Broker, BrokerConfigs};
use crate::config::{DescribedConfig, describe_broker, describe_cluster_default};
use crate::metadata::{ConfigResource, Image};
use crate::types::{BrokerId, InvalidTopicName, TopicName};

/// One resource and the keys that are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceToDescribe {
    /// Which resource.
    pub resource: ResourceName,
    /// Only these keys; `None` or an empty list for all of them.
    pub keys: Option<Vec<String>>,
}

/// Why a resource cannot be described; the texts are Kafka's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DescribeConfigError {
    /// INVALID_TOPIC_EXCEPTION.
    #[error("Topic name is invalid: {0}")]
    InvalidTopicName(#[from] InvalidTopicName),
    /// UNKNOWN_TOPIC_OR_PARTITION; Kafka sends no text.
    #[error("there is no such topic")]
    UnknownTopic,
    /// INVALID_REQUEST.
    #[error("Broker id must be an integer, but it is: {0}")]
    BrokerNotANumber(String),
    /// INVALID_REQUEST.
    #[error("Unexpected broker id, expected {node} or empty string, but received {received}")]
    AnotherBroker {
        /// This node.
        node: BrokerId,
        /// What was asked for.
        received: String,
    },
    /// INVALID_REQUEST.
    #[error("Broker id must not be empty")]
    LoggersOfNoBroker,
    /// INVALID_REQUEST.
    #[error("Unexpected broker id, expected {node} but received {received}")]
    LoggersOfAnotherBroker {
        /// This node.
        node: BrokerId,
        /// What was asked for.
        received: String,
    },
    /// INVALID_REQUEST.
    #[error("Group name must not be empty")]
    GroupWithoutName,
    /// INVALID_REQUEST.
    #[error("Client metrics subscription name must not be empty")]
    SubscriptionWithoutName,
}

impl Broker {
    /// The configs of one resource at `image`. Does not block.
    pub fn describe_configs(
        &self,
        image: &Image,
        asked: &ResourceToDescribe,
    ) -> Result<Vec<DescribedConfig>, DescribeConfigError> {
        let all = self.all_configs(image, &asked.resource)?;
        let keys = asked.keys.as_deref().unwrap_or_default();
        let wanted =
            |entry: &DescribedConfig| keys.is_empty() || keys.iter().any(|k| k == entry.name);
        Ok(all.into_iter().filter(wanted).collect())
    }

    fn all_configs(
        &self,
        image: &Image,
        resource: &ResourceName,
    ) -> Result<Vec<DescribedConfig>, DescribeConfigError> {
        let configs = BrokerConfigs::at(&self.settings, image);
        let name = &resource.name;
        match resource.kind {
            ResourceType::Topic => {
                let topic = TopicName::new(name)?;
                image.topic(name).ok_or(DescribeConfigError::UnknownTopic)?;
                Ok(configs.of_topic(&image.overrides(&ConfigResource::Topic(topic))))
            }
            ResourceType::Broker => self.broker_configs(&configs, name),
            ResourceType::BrokerLogger => self.logger_configs(name),
            ResourceType::ClientMetrics if name.is_empty() => {
                Err(DescribeConfigError::SubscriptionWithoutName)
            }
            ResourceType::Group if name.is_empty() => Err(DescribeConfigError::GroupWithoutName),
            // A group need not exist to have configs.
            ResourceType::Group => {
                Ok(configs.of_group(&image.overrides(&ConfigResource::Group(name.clone()))))
            }
            // Client metrics are not collected, so they have no configs.
            ResourceType::ClientMetrics => Ok(Vec::new()),
        }
    }

    fn broker_configs(
        &self,
        configs: &BrokerConfigs,
        name: &str,
    ) -> Result<Vec<DescribedConfig>, DescribeConfigError> {
        let node = self.settings.node_id;
        match broker_resource(node, name) {
            Ok(ConfigResource::ClusterDefault) => Ok(describe_cluster_default(configs.layers())),
            Ok(_) => Ok(describe_broker(configs.layers())),
            Err(NotThisBroker::NotANumber) => {
                Err(DescribeConfigError::BrokerNotANumber(name.to_owned()))
            }
            Err(NotThisBroker::AnotherBroker) => {
                Err(DescribeConfigError::AnotherBroker { node, received: name.to_owned() })
            }
        }
    }

    /// Log levels are set at start; there are no loggers with levels of their own.
    fn logger_configs(&self, name: &str) -> Result<Vec<DescribedConfig>, DescribeConfigError> {
        let node = self.settings.node_id;
        match broker_resource(node, name) {
            Ok(ConfigResource::ClusterDefault) => Err(DescribeConfigError::LoggersOfNoBroker),
            Ok(_) => Ok(Vec::new()),
            Err(NotThisBroker::NotANumber) => {
                Err(DescribeConfigError::BrokerNotANumber(name.to_owned()))
            }
            Err(NotThisBroker::AnotherBroker) => {
                Err(DescribeConfigError::LoggersOfAnotherBroker { node, received: name.to_owned() })
            }
        }
    }
}
