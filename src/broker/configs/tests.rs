//! Changes of configs against images made by hand. What Kafka answers is recorded in `tests/golden/admin` and compared over the
//! wire; here is what a recording cannot show: which records a change writes.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::alter::{AlterConfigError, ConfigOperation, KeyChange, Plan, ResourceChange};
use super::{BrokerConfigs, ResourceName, ResourceType};
use crate::config::BrokerSettings;
use crate::metadata::{ConfigResource, Image, Topic};
use crate::types::{TopicName, Uuid};

/// One topic `t` with these overrides.
fn image(overrides: &[(&str, &str)]) -> Image {
    let name = TopicName::new("t").unwrap();
    let topic = Topic { id: Uuid::from_bytes([7; 16]), name: name.clone(), partitions: Vec::new() };
    let set: BTreeMap<String, String> =
        overrides.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Image {
        topics: Arc::new(HashMap::from([(name.clone(), Arc::new(topic))])),
        configs: Arc::new(HashMap::from([(ConfigResource::Topic(name), Arc::new(set))])),
        ..Image::default()
    }
}

type Written = Result<Vec<(String, Option<String>)>, AlterConfigError>;

fn change(image: &Image, change: KeyChange) -> Written {
    let settings = Arc::new(BrokerSettings::default());
    let plan = Plan { node: settings.node_id, image, configs: BrokerConfigs::at(&settings, image) };
    let resource = ResourceName { kind: ResourceType::Topic, name: "t".to_owned() };
    let mut planned = plan.all(vec![ResourceChange { resource, change }]);
    let changes = planned.remove(0).result?;
    Ok(changes.into_iter().map(|change| (change.key, change.value)).collect())
}

fn incremental(changes: &[(&str, ConfigOperation)]) -> KeyChange {
    let owned = |(key, operation): &(&str, ConfigOperation)| ((*key).to_owned(), operation.clone());
    KeyChange::Incremental(changes.iter().map(owned).collect())
}

fn set(value: &str) -> ConfigOperation {
    ConfigOperation::Set(Some(value.to_owned()))
}

fn append(value: &str) -> ConfigOperation {
    ConfigOperation::Append(Some(value.to_owned()))
}

fn written(key: &str, value: Option<&str>) -> (String, Option<String>) {
    (key.to_owned(), value.map(str::to_owned))
}

#[test]
fn what_stays_equal_is_not_written() {
    let image = image(&[("retention.ms", "5"), ("flush.ms", "9")]);
    let changes = incremental(&[("retention.ms", set("5")), ("flush.ms", ConfigOperation::Delete)]);
    assert_eq!(change(&image, changes).unwrap(), [written("flush.ms", None)]);
    let changes = incremental(&[("segment.ms", ConfigOperation::Delete)]);
    assert_eq!(change(&image, changes).unwrap(), []);
}

#[test]
fn replacing_unsets_what_is_not_named() {
    let image = image(&[("retention.ms", "5"), ("flush.ms", "9")]);
    let values = vec![("flush.ms".to_owned(), Some("8".to_owned()))];
    let expected = [written("flush.ms", Some("8")), written("retention.ms", None)];
    assert_eq!(change(&image, KeyChange::Replace(values)).unwrap(), expected);
}

#[test]
fn appending_starts_from_the_override_or_else_the_default() {
    let changes = || incremental(&[("cleanup.policy", append("compact"))]);
    let expected = [written("cleanup.policy", Some("delete,compact"))];
    assert_eq!(change(&image(&[]), changes()).unwrap(), expected);
    let compacted = image(&[("cleanup.policy", "compact")]);
    assert_eq!(change(&compacted, changes()).unwrap(), []);
}

#[test]
fn values_are_checked_together_with_the_overrides_that_are_there() {
    let image = image(&[("max.compaction.lag.ms", "5")]);
    let changes = incremental(&[("min.compaction.lag.ms", set("6"))]);
    assert!(matches!(change(&image, changes), Err(AlterConfigError::Topic(_))));
}

#[test]
fn a_value_too_long_for_the_log_is_refused() {
    let longest = vec!["0:0"; 8192].join(",");
    assert_eq!(longest.len(), 32_767);
    let key = "leader.replication.throttled.replicas";
    assert!(change(&image(&[]), incremental(&[(key, set(&longest))])).is_ok());
    let changes = incremental(&[(key, set(&format!("{longest},0:1")))]);
    assert!(matches!(change(&image(&[]), changes), Err(AlterConfigError::ValueTooLong)));
}

#[test]
fn an_operation_that_there_is_not_changes_nothing() {
    let changes = incremental(&[("flush.ms", ConfigOperation::Unknown(9))]);
    assert!(matches!(change(&image(&[]), changes), Err(AlterConfigError::UnknownOperation(9))));
}
