//! What AlterConfigs and IncrementalAlterConfigs share: resource types, error codes, order of answers.

use std::collections::HashSet;

use crate::broker::Broker;
use crate::broker::configs::{
    AlterConfigError, AlterConfigOutcome, AlterConfigs, KeyChange, ResourceChange, ResourceName,
    ResourceType,
};
use crate::broker::topics::Mode;
use crate::kafka::ErrorCode;

/// One resource of a request.
pub(super) struct Asked {
    pub(super) resource_type: i8,
    pub(super) name: String,
    pub(super) change: KeyChange,
}

/// One resource of the answer.
pub(super) struct Told {
    pub(super) resource_type: i8,
    pub(super) name: String,
    pub(super) code: ErrorCode,
    pub(super) message: Option<String>,
}

pub(super) fn mode(validate_only: bool) -> Mode {
    if validate_only { Mode::ValidateOnly } else { Mode::Apply }
}

/// Makes the changes; the answers stand in the order of the request. Blocks.
pub(super) fn make(broker: &Broker, asked: Vec<Asked>, mode: Mode) -> Vec<Told> {
    let heads: Vec<(i8, String)> =
        asked.iter().map(|a| (a.resource_type, a.name.clone())).collect();
    let known = asked.into_iter().filter_map(change_of).collect();
    let mut outcomes = broker.alter_configs(AlterConfigs { resources: known, mode }).into_iter();
    let repeated = repeated(&heads);
    let mut tell = |(resource_type, name): (i8, String)| {
        let (code, message) = match ResourceType::from_code(resource_type) {
            Some(_) => told(outcomes.next().expect("one outcome per resource")),
            None if repeated.contains(&(resource_type, name.clone())) => {
                failure(&AlterConfigError::DuplicateResource)
            }
            None => {
                (ErrorCode::InvalidRequest, Some(format!("Unknown resource type {resource_type}")))
            }
        };
        Told { resource_type, name, code, message }
    };
    heads.iter().cloned().map(&mut tell).collect()
}

/// `None` for a resource of a type that there is not.
fn change_of(asked: Asked) -> Option<ResourceChange> {
    let kind = ResourceType::from_code(asked.resource_type)?;
    Some(ResourceChange { resource: ResourceName { kind, name: asked.name }, change: asked.change })
}

fn repeated(heads: &[(i8, String)]) -> HashSet<(i8, String)> {
    let mut seen = HashSet::new();
    heads.iter().filter(|head| !seen.insert(*head)).cloned().collect()
}

fn told(outcome: AlterConfigOutcome) -> (ErrorCode, Option<String>) {
    match outcome.result {
        Ok(()) => (ErrorCode::None, None),
        Err(error) => failure(&error),
    }
}

fn failure(error: &AlterConfigError) -> (ErrorCode, Option<String>) {
    (code(error), Some(error.to_string()))
}

fn code(error: &AlterConfigError) -> ErrorCode {
    match error {
        AlterConfigError::DuplicateResource
        | AlterConfigError::DuplicateKeys
        | AlterConfigError::NullValue(_)
        | AlterConfigError::UnknownOperation(_)
        | AlterConfigError::TopicWithoutName
        | AlterConfigError::Broker(_)
        | AlterConfigError::BrokerNotANumber(_)
        | AlterConfigError::AnotherBroker { .. }
        | AlterConfigError::GroupWithoutName
        | AlterConfigError::SubscriptionWithoutName
        | AlterConfigError::UnknownSubscriptionConfig(_) => ErrorCode::InvalidRequest,
        AlterConfigError::InvalidTopicName(_) => ErrorCode::InvalidTopicException,
        AlterConfigError::UnknownTopic(_) => ErrorCode::UnknownTopicOrPartition,
        AlterConfigError::Topic(_)
        | AlterConfigError::List(_)
        | AlterConfigError::ValueTooLong
        | AlterConfigError::UnknownLogger(_)
        | AlterConfigError::Group(_) => ErrorCode::InvalidConfig,
        AlterConfigError::Storage(_) => ErrorCode::KafkaStorageError,
    }
}
