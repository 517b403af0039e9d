//! The checks of topics against images made by hand. What Kafka answers is recorded in `tests/golden/admin` and compared over the
//! wire; here is what a recording cannot show.

use std::collections::HashMap;
use std::sync::Arc;

use super::create::{self, CreationRules};
use super::delete::{self, DeleteTopicError, TopicToDelete};
use super::grow::{self, GrowTopicError, TopicGrowth};
use super::placement::{self, Assignment, InvalidAssignment};
use super::{BATCH_RECORDS_MAX, CreateTopicError, TopicSpec, internal};
use crate::config::BrokerSettings;
use crate::metadata::{Image, PartitionState, Topic};
use crate::types::{BrokerId, LeaderEpoch, PartitionIndex, TopicId, TopicName, Uuid};

const NODE: BrokerId = BrokerId::new(1);

fn partition() -> PartitionState {
    PartitionState {
        replicas: vec![NODE],
        isr: vec![NODE],
        removing_replicas: Vec::new(),
        adding_replicas: Vec::new(),
        leader: NODE,
        leader_recovery_state: 0,
        leader_epoch: LeaderEpoch::new(0),
        partition_epoch: 0,
        directories: Vec::new(),
        eligible_leader_replicas: Vec::new(),
        last_known_elr: Vec::new(),
    }
}

fn id(number: u8) -> TopicId {
    Uuid::from_bytes([number; 16])
}

/// Topics with one partition each; the first one has id 1, the next 2, and so on.
fn image(names: &[&str]) -> Image {
    let topic = |(name, number): (&&str, u8)| {
        let name = TopicName::new(name).unwrap();
        Arc::new(Topic { id: id(number), name, partitions: vec![partition()] })
    };
    let topics: Vec<Arc<Topic>> = names.iter().zip(1..).map(topic).collect();
    let by_name: HashMap<_, _> = topics.iter().map(|t| (t.name.clone(), Arc::clone(t))).collect();
    let by_id: HashMap<_, _> = topics.iter().map(|t| (t.id, Arc::clone(t))).collect();
    Image { topics: Arc::new(by_name), topics_by_id: Arc::new(by_id), ..Image::default() }
}

fn plan(image: &Image, specs: Vec<TopicSpec>) -> Vec<(String, Option<CreateTopicError>)> {
    let settings = Arc::new(BrokerSettings { node_id: NODE, ..BrokerSettings::default() });
    let planned = create::plan(&CreationRules::of(&settings, image), specs);
    planned.into_iter().map(|topic| (topic.name, topic.result.err())).collect()
}

fn spec(name: &str, partitions: i32) -> TopicSpec {
    TopicSpec { partitions, ..TopicSpec::with_defaults(name) }
}

#[test]
fn outcomes_stand_in_the_order_of_the_request() {
    let specs = ["c", "a", "c", "b", "a"].map(TopicSpec::with_defaults).to_vec();
    let told = plan(&image(&[]), specs);
    let names: Vec<&str> = told.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["c", "a", "b"]);
    assert!(matches!(told[0].1, Some(CreateTopicError::Duplicate)));
    assert!(matches!(told[1].1, Some(CreateTopicError::Duplicate)));
    assert!(told[2].1.is_none());
}

#[test]
fn a_request_for_two_billion_partitions_costs_nothing() {
    let told = plan(&image(&[]), vec![spec("huge", i32::MAX), spec("small", 1)]);
    assert!(
        told.iter().all(|(_, error)| matches!(error, Some(CreateTopicError::TooManyPartitions)))
    );
}

#[test]
fn records_count_besides_partitions() {
    let most = i32::try_from(BATCH_RECORDS_MAX).unwrap();
    let told = plan(&image(&[]), vec![spec("just", most - 1)]);
    assert!(told[0].1.is_none());
    let told = plan(&image(&[]), vec![spec("over", most)]);
    assert!(matches!(told[0].1, Some(CreateTopicError::TooManyRecords)));
}

#[test]
fn names_collide_only_with_topics_that_are_there() {
    let told = plan(
        &image(&["a.b", "c"]),
        vec![spec("a_b", 1), spec("a.b", 1), spec("c", 1), spec("x.y", 1), spec("x_y", 1)],
    );
    assert!(matches!(told[0].1, Some(CreateTopicError::Collides { .. })));
    assert!(matches!(told[1].1, Some(CreateTopicError::Exists(_))));
    assert!(matches!(told[2].1, Some(CreateTopicError::Exists(_))));
    assert!(told[3].1.is_none() && told[4].1.is_none());
}

#[test]
fn internal_topics_are_laid_out_for_one_node_whatever_the_defaults() {
    let settings = BrokerSettings { default_replication_factor: 3, ..BrokerSettings::default() };
    for name in ["__consumer_offsets", "__transaction_state", "__share_group_state"] {
        let spec = internal::spec(&settings, name).unwrap();
        assert_eq!((spec.replication_factor, spec.partitions), (1, 50));
        let told = plan(&image(&[]), vec![spec]);
        assert!(told[0].1.is_none(), "{name}: {:?}", told[0].1);
    }
    assert!(internal::spec(&settings, "orders").is_none());
}

#[test]
fn assignments_must_cover_each_partition_once() {
    let assign = |partition: i32, replicas: &[i32]| Assignment {
        partition: PartitionIndex::new(partition),
        replicas: replicas.iter().copied().map(BrokerId::new).collect(),
    };
    let place = |all: &[Assignment]| placement::by_index(NODE, all);
    let swapped = place(&[assign(1, &[1]), assign(0, &[1])]).unwrap();
    assert_eq!(swapped, vec![vec![NODE], vec![NODE]]);
    let twice = InvalidAssignment::PartitionTwice(PartitionIndex::new(0));
    assert_eq!(place(&[assign(0, &[1]), assign(0, &[1])]), Err(twice));
    assert_eq!(place(&[assign(-1, &[1])]), Err(InvalidAssignment::Gap));
    assert_eq!(place(&[assign(i32::MAX, &[1])]), Err(InvalidAssignment::Gap));
}

fn doomed(
    image: &Image,
    topics: &[(Option<&str>, TopicId)],
) -> Vec<(Option<String>, TopicId, String)> {
    let topics =
        topics.iter().map(|&(name, id)| TopicToDelete { name: name.map(str::to_owned), id });
    let planned = delete::plan(image, topics.collect());
    let told = |result: Result<(), DeleteTopicError>| {
        result.err().map_or("deleted".to_owned(), |e| e.to_string())
    };
    planned.into_iter().map(|topic| (topic.name, topic.id, told(topic.result))).collect()
}

#[test]
fn a_topic_pointed_at_in_two_ways_is_answered_once_and_stays() {
    let image = image(&["a", "b"]);
    let told = doomed(&image, &[(None, id(1)), (Some("a"), Uuid::ZERO), (Some("b"), Uuid::ZERO)]);
    let expected = "The provided topic name maps to an ID that was already supplied.";
    assert_eq!(told[0], (Some("a".to_owned()), id(1), expected.to_owned()));
    assert_eq!(told[1], (Some("b".to_owned()), id(2), "deleted".to_owned()));
    assert_eq!(told.len(), 2);
}

#[test]
fn ids_that_come_twice_or_are_unknown_delete_nothing() {
    let told = doomed(&image(&["a"]), &[(None, id(1)), (None, id(9)), (None, id(1))]);
    assert_eq!(told[0], (None, id(1), "Duplicate topic id.".to_owned()));
    assert_eq!(told[1].2, DeleteTopicError::UnknownId.to_string());
    assert_eq!(told.len(), 2);
}

#[test]
fn growing_by_two_billion_partitions_costs_nothing() {
    let grow = |name: &str, count| TopicGrowth { name: name.to_owned(), count, assignments: None };
    let told = grow::plan(&image(&["a"]), NODE, vec![grow("a", i32::MAX), grow("b", i32::MAX)]);
    assert!(told.iter().all(|(_, r)| matches!(r, Err(GrowTopicError::TooManyPartitions))));
    let told = grow::plan(&image(&["a"]), NODE, vec![grow("b", i32::MAX), grow("a", 2)]);
    assert!(matches!(told[0].1, Err(GrowTopicError::UnknownTopic)));
    assert!(told[1].1.is_ok());
}
