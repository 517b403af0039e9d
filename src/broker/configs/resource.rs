//! What a config can belong to, as requests name it.

use crate::metadata::ConfigResource;
use crate::types::{BrokerId, TopicName};

/// Kind of a resource (Kafka's `ConfigResource.Type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ResourceType {
    /// A topic.
    Topic,
    /// A broker, or with an empty name all of them.
    Broker,
    /// Log levels of a broker.
    BrokerLogger,
    /// A subscription to client metrics.
    ClientMetrics,
    /// A group.
    Group,
}

impl ResourceType {
    /// The number on the wire.
    pub fn code(self) -> i8 {
        match self {
            Self::Topic => 2,
            Self::Broker => 4,
            Self::BrokerLogger => 8,
            Self::ClientMetrics => 16,
            Self::Group => 32,
        }
    }

    /// From the number on the wire.
    pub fn from_code(code: i8) -> Option<Self> {
        match code {
            2 => Some(Self::Topic),
            4 => Some(Self::Broker),
            8 => Some(Self::BrokerLogger),
            16 => Some(Self::ClientMetrics),
            32 => Some(Self::Group),
            _ => None,
        }
    }
}

/// A resource as a request names it; the name is not checked yet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ResourceName {
    /// What it is.
    pub kind: ResourceType,
    /// Its name.
    pub name: String,
}

/// A name that does not point at this broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotThisBroker {
    NotANumber,
    AnotherBroker,
}

/// The broker resource that a name stands for: this broker, or with the empty name all of them.
pub(super) fn broker_resource(node: BrokerId, name: &str) -> Result<ConfigResource, NotThisBroker> {
    if name.is_empty() {
        return Ok(ConfigResource::ClusterDefault);
    }
    match name.parse::<i32>() {
        Ok(id) if id == node.get() => Ok(ConfigResource::Broker(node)),
        Ok(_) => Err(NotThisBroker::AnotherBroker),
        Err(_) => Err(NotThisBroker::NotANumber),
    }
}

/// The topic resource of a legal name.
pub(super) fn topic_resource(name: &TopicName) -> ConfigResource {
    ConfigResource::Topic(name.clone())
}
