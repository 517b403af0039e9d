//! IncrementalAlterConfigs and AlterConfigs: all or nothing for each resource, one append for all resources that passed.
//!
//! The checks, their order and their texts are those of Kafka's `ConfigAdminManager`, `ConfigurationControlManager` and
//! `ControllerConfigurationValidator`.

use std::collections::{BTreeMap, HashSet};

use super::resource::{NotThisBroker, ResourceName, ResourceType, broker_resource, topic_resource};
use super::{Broker, BrokerConfigs};
use crate::broker::topics::Mode;
use crate::config::{
    self, BrokerScope, InvalidBrokerOverride, InvalidGroupOverride, InvalidOverride,
    ListChangeError, Overrides, Setting, refuse_restart_only, validate_broker_overrides,
    validate_changes, validate_group_overrides, validate_topic_overrides,
};
use crate::metadata::{ConfigChange, ConfigResource, Image};
use crate::types::{BrokerId, InvalidTopicName, TopicName};

/// Longest value, in bytes (Kafka writes its length in 15 bits).
const VALUE_BYTES_MAX: usize = 32_767;

/// Resources to change.
#[derive(Clone, Debug)]
pub struct AlterConfigs {
    /// In the order of the request.
    pub resources: Vec<ResourceChange>,
    /// Whether they are changed or only checked.
    pub mode: Mode,
}

/// What shall become of one resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceChange {
    /// Which resource.
    pub resource: ResourceName,
    /// How.
    pub change: KeyChange,
}

/// How the keys of a resource change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyChange {
    /// These keys change, the others stay.
    Incremental(Vec<(String, ConfigOperation)>),
    /// These become all overrides that there are. `None` is no value and refused.
    Replace(Vec<(String, Option<String>)>),
}

/// How one key changes. `None` is no value and refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigOperation {
    /// Gets this value.
    Set(Option<String>),
    /// Goes back to its default.
    Delete,
    /// A list gets these entries too.
    Append(Option<String>),
    /// A list loses these entries.
    Subtract(Option<String>),
    /// A number that is no operation.
    Unknown(i8),
}

/// What became of one resource.
#[derive(Debug)]
pub struct AlterConfigOutcome {
    /// As in the request.
    pub resource: ResourceName,
    /// Changed, or why not.
    pub result: Result<(), AlterConfigError>,
}

/// Why the configs of a resource do not change; the texts are Kafka's.
#[derive(Clone, Debug, thiserror::Error)]
pub enum AlterConfigError {
    /// INVALID_REQUEST.
    #[error("Each resource must appear at most once.")]
    DuplicateResource,
    /// INVALID_REQUEST.
    #[error("Error due to duplicate config keys")]
    DuplicateKeys,
    /// INVALID_REQUEST.
    #[error("Null value not supported for : {0}")]
    NullValue(String),
    /// INVALID_REQUEST.
    #[error("Unknown config operation {0}")]
    UnknownOperation(i8),
    /// INVALID_REQUEST.
    #[error("Default topic resources are not allowed.")]
    TopicWithoutName,
    /// INVALID_TOPIC_EXCEPTION.
    #[error("Topic name is invalid: {0}")]
    InvalidTopicName(#[from] InvalidTopicName),
    /// UNKNOWN_TOPIC_OR_PARTITION.
    #[error("The topic '{0}' does not exist.")]
    UnknownTopic(TopicName),
    /// INVALID_CONFIG.
    #[error(transparent)]
    Topic(#[from] InvalidOverride),
    /// INVALID_CONFIG.
    #[error(transparent)]
    List(#[from] ListChangeError),
    /// INVALID_CONFIG.
    #[error(
        "The configuration value cannot be added because it exceeds the maximum value size of {VALUE_BYTES_MAX} bytes."
    )]
    ValueTooLong,
    /// INVALID_REQUEST.
    #[error(transparent)]
    Broker(#[from] InvalidBrokerOverride),
    /// INVALID_REQUEST.
    #[error("Node id must be an integer, but it is: {0}")]
    BrokerNotANumber(String),
    /// INVALID_REQUEST.
    #[error("Unexpected broker id, expected {node}, but received {received}")]
    AnotherBroker {
        /// This node.
        node: BrokerId,
        /// What was asked for.
        received: String,
    },
    /// INVALID_CONFIG.
    #[error("Logger {0} does not exist!")]
    UnknownLogger(String),
    /// INVALID_REQUEST.
    #[error("Default group resources are not allowed.")]
    GroupWithoutName,
    /// INVALID_CONFIG.
    #[error(transparent)]
    Group(#[from] InvalidGroupOverride),
    /// INVALID_REQUEST.
    #[error("Subscription name can't be empty")]
    SubscriptionWithoutName,
    /// INVALID_REQUEST.
    #[error("Unknown client metrics configuration: {0}")]
    UnknownSubscriptionConfig(String),
    /// KAFKA_STORAGE_ERROR.
    #[error("The metadata log cannot be written: {0}")]
    Storage(String),
}

impl Broker {
    /// Changes the configs of resources in one append to the metadata log. One outcome per resource, in the order of the
    /// request. Blocks.
    pub fn alter_configs(&self, request: AlterConfigs) -> Vec<AlterConfigOutcome> {
        let _changes = self.changes.lock();
        let image = self.metadata.image();
        let plan = Plan {
            node: self.settings.node_id,
            image: &image,
            configs: BrokerConfigs::at(&self.settings, &image),
        };
        let planned = plan.all(request.resources);
        match request.mode {
            Mode::ValidateOnly => planned.into_iter().map(PlannedChange::outcome).collect(),
            Mode::Apply => self.write_changes(planned),
        }
    }

    fn write_changes(&self, mut planned: Vec<PlannedChange>) -> Vec<AlterConfigOutcome> {
        let passed = planned.iter_mut().filter_map(|p| p.result.as_mut().ok());
        let changes: Vec<ConfigChange> = passed.flat_map(std::mem::take).collect();
        if changes.is_empty() {
            return planned.into_iter().map(PlannedChange::outcome).collect();
        }
        match self.metadata.change_configs(changes) {
            Ok(()) => self.apply_image(),
            Err(error) => {
                for change in planned.iter_mut().filter(|p| p.result.is_ok()) {
                    change.result = Err(AlterConfigError::Storage(error.to_string()));
                }
            }
        }
        planned.into_iter().map(PlannedChange::outcome).collect()
    }
}

/// A resource with the changes that it needs.
pub(super) struct PlannedChange {
    resource: ResourceName,
    pub(super) result: Result<Vec<ConfigChange>, AlterConfigError>,
}

impl PlannedChange {
    fn outcome(self) -> AlterConfigOutcome {
        AlterConfigOutcome { resource: self.resource, result: self.result.map(drop) }
    }
}

/// Checks changes against one image. Pure.
pub(super) struct Plan<'a> {
    pub(super) node: BrokerId,
    pub(super) image: &'a Image,
    pub(super) configs: BrokerConfigs,
}

impl Plan<'_> {
    pub(super) fn all(&self, resources: Vec<ResourceChange>) -> Vec<PlannedChange> {
        let mut seen = HashSet::new();
        let repeated: HashSet<ResourceName> = resources
            .iter()
            .filter(|change| !seen.insert(&change.resource))
            .map(|change| change.resource.clone())
            .collect();
        let plan = |change: ResourceChange| {
            let result = if repeated.contains(&change.resource) {
                Err(AlterConfigError::DuplicateResource)
            } else {
                self.one(&change)
            };
            PlannedChange { resource: change.resource, result }
        };
        resources.into_iter().map(plan).collect()
    }

    fn one(&self, change: &ResourceChange) -> Result<Vec<ConfigChange>, AlterConfigError> {
        check_form(&change.change)?;
        let name = &change.resource.name;
        match change.resource.kind {
            ResourceType::Topic => self.topic(name, &change.change),
            ResourceType::Broker => self.broker(name, &change.change),
            ResourceType::BrokerLogger => self.loggers(name, &change.change),
            ResourceType::ClientMetrics => subscription(name, &change.change),
            ResourceType::Group => self.group(name, &change.change),
        }
    }

    fn topic(&self, name: &str, change: &KeyChange) -> Result<Vec<ConfigChange>, AlterConfigError> {
        let present = match TopicName::new(name) {
            Ok(name) => self.image.overrides(&topic_resource(&name)),
            Err(_) => Default::default(),
        };
        let after = after_change(&present, change, config::table::topic)?;
        if name.is_empty() {
            return Err(AlterConfigError::TopicWithoutName);
        }
        let topic = TopicName::new(name)?;
        validate_topic_overrides(self.configs.layers(), &after)?;
        if self.image.topic(name).is_none() {
            return Err(AlterConfigError::UnknownTopic(topic));
        }
        Ok(differences(&topic_resource(&topic), &present, &after))
    }

    fn broker(
        &self,
        name: &str,
        change: &KeyChange,
    ) -> Result<Vec<ConfigChange>, AlterConfigError> {
        let resource = self.broker_resource(name)?;
        let scope = match resource {
            ConfigResource::ClusterDefault => BrokerScope::All,
            _ => BrokerScope::One,
        };
        let present = self.image.overrides(&resource);
        let after = after_change(&present, change, config::table::broker)?;
        validate_broker_overrides(self.configs.layers().statics, scope, &after)?;
        refuse_restart_only(&present, &after)?;
        validate_changes(self.configs.layers(), &present, &after)?;
        Ok(differences(&resource, &present, &after))
    }

    /// A group need not exist to have configs.
    fn group(&self, name: &str, change: &KeyChange) -> Result<Vec<ConfigChange>, AlterConfigError> {
        let resource = ConfigResource::Group(name.to_owned());
        let present = self.image.overrides(&resource);
        let after = after_change(&present, change, config::table::group)?;
        if name.is_empty() {
            return Err(AlterConfigError::GroupWithoutName);
        }
        validate_group_overrides(self.configs.layers(), &after)?;
        Ok(differences(&resource, &present, &after))
    }

    /// There are no loggers with levels of their own, so only "nothing" can be set.
    fn loggers(
        &self,
        name: &str,
        change: &KeyChange,
    ) -> Result<Vec<ConfigChange>, AlterConfigError> {
        self.broker_resource(name)?;
        match first_key(change) {
            Some(logger) => Err(AlterConfigError::UnknownLogger(logger)),
            None => Ok(Vec::new()),
        }
    }

    fn broker_resource(&self, name: &str) -> Result<ConfigResource, AlterConfigError> {
        broker_resource(self.node, name).map_err(|why| match why {
            NotThisBroker::NotANumber => AlterConfigError::BrokerNotANumber(name.to_owned()),
            NotThisBroker::AnotherBroker => {
                AlterConfigError::AnotherBroker { node: self.node, received: name.to_owned() }
            }
        })
    }
}

/// Client metrics are not collected: there is nothing to configure.
fn subscription(name: &str, change: &KeyChange) -> Result<Vec<ConfigChange>, AlterConfigError> {
    if name.is_empty() {
        return Err(AlterConfigError::SubscriptionWithoutName);
    }
    match first_key(change) {
        Some(key) => Err(AlterConfigError::UnknownSubscriptionConfig(key)),
        None => Ok(Vec::new()),
    }
}

fn first_key(change: &KeyChange) -> Option<String> {
    match change {
        KeyChange::Incremental(changes) => changes.first().map(|(key, _)| key.clone()),
        KeyChange::Replace(values) => values.first().map(|(key, _)| key.clone()),
    }
}

fn no_repetition<'a>(mut keys: impl Iterator<Item = &'a String>) -> Result<(), AlterConfigError> {
    let mut seen = HashSet::new();
    match keys.all(|key| seen.insert(key)) {
        true => Ok(()),
        false => Err(AlterConfigError::DuplicateKeys),
    }
}

/// What is wrong with a request whatever the resource.
fn check_form(change: &KeyChange) -> Result<(), AlterConfigError> {
    match change {
        KeyChange::Incremental(changes) => {
            no_repetition(changes.iter().map(|(key, _)| key))?;
            no_nulls(changes.iter().filter(|(_, op)| op.lacks_value()).map(|(key, _)| key))
        }
        KeyChange::Replace(values) => {
            no_repetition(values.iter().map(|(key, _)| key))?;
            no_nulls(values.iter().filter(|(_, value)| value.is_none()).map(|(key, _)| key))
        }
    }
}

fn no_nulls<'a>(keys: impl Iterator<Item = &'a String>) -> Result<(), AlterConfigError> {
    let keys: Vec<&str> = keys.map(String::as_str).collect();
    if keys.is_empty() { Ok(()) } else { Err(AlterConfigError::NullValue(keys.join(", "))) }
}

impl ConfigOperation {
    fn lacks_value(&self) -> bool {
        matches!(self, Self::Set(None) | Self::Append(None) | Self::Subtract(None))
    }
}

/// All overrides of a resource once it is changed.
fn after_change(
    present: &Overrides,
    change: &KeyChange,
    setting: impl Fn(&str) -> Option<&'static Setting>,
) -> Result<Overrides, AlterConfigError> {
    let after = match change {
        KeyChange::Replace(values) => {
            values.iter().filter_map(|(key, value)| Some((key.clone(), value.clone()?))).collect()
        }
        KeyChange::Incremental(changes) => {
            let mut after = present.clone();
            for (key, operation) in changes {
                match value_after(key, operation, present.get(key), setting(key))? {
                    Some(value) => after.insert(key.clone(), value),
                    None => after.remove(key),
                };
            }
            after
        }
    };
    let changed = after.iter().filter(|(key, value)| present.get(*key) != Some(value));
    if changed.into_iter().any(|(_, value)| value.len() > VALUE_BYTES_MAX) {
        return Err(AlterConfigError::ValueTooLong);
    }
    Ok(after)
}

/// The value of one key once it is changed; `None` if it is no longer set.
fn value_after(
    key: &str,
    operation: &ConfigOperation,
    present: Option<&String>,
    setting: Option<&'static Setting>,
) -> Result<Option<String>, AlterConfigError> {
    let not_a_list = |verb| ListChangeError::NotAList { verb, name: key.to_owned() };
    let current = || {
        let default = setting.and_then(|setting| setting.default).unwrap_or_default();
        present.map_or(default, String::as_str)
    };
    match operation {
        ConfigOperation::Set(value) => Ok(value.clone()),
        ConfigOperation::Delete => Ok(None),
        ConfigOperation::Append(entries) => {
            let setting = setting.ok_or_else(|| not_a_list("APPEND"))?;
            let entries = entries.as_deref().unwrap_or_default();
            Ok(Some(config::append(setting, current(), entries)?))
        }
        ConfigOperation::Subtract(entries) => {
            let setting = setting.ok_or_else(|| not_a_list("SUBTRACT"))?;
            let entries = entries.as_deref().unwrap_or_default();
            Ok(Some(config::subtract(setting, current(), entries)?))
        }
        ConfigOperation::Unknown(code) => Err(AlterConfigError::UnknownOperation(*code)),
    }
}

/// The records that lead from one set of overrides to another; what stays equal needs none.
fn differences(
    resource: &ConfigResource,
    present: &BTreeMap<String, String>,
    after: &BTreeMap<String, String>,
) -> Vec<ConfigChange> {
    let change = |key: &String, value: Option<&String>| ConfigChange {
        resource: resource.clone(),
        key: key.clone(),
        value: value.cloned(),
    };
    let set = after.iter().filter(|(key, value)| present.get(*key) != Some(value));
    let unset = present.keys().filter(|key| !after.contains_key(*key));
    let set = set.map(|(key, value)| change(key, Some(value)));
    set.chain(unset.map(|key| change(key, None))).collect()
}
