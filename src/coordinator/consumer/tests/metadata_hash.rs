//! Values computed with hash4j 0.22, which Kafka 4.4 uses, fed as `Utils.computeTopicHash` feeds it.

use std::sync::Arc;

use super::super::metadata_hash::of_group;
use crate::coordinator::stepper::partition;
use crate::metadata::{Image, Topic};
use crate::types::{TopicName, Uuid};

fn topic(id: &str, name: &str, partitions: usize) -> Arc<Topic> {
    let id: Uuid = id.parse().expect("an id");
    let name = TopicName::new(name).expect("a name");
    let partitions = (0..partitions).map(|_| partition()).collect();
    Arc::new(Topic { id, name, partitions })
}

#[test]
fn the_hash_is_kafkas() {
    let orders = topic("AAAAAAAAAAAAAAAAAAAAAQ", "orders", 3);
    let payments = topic("wT8s9fJ2QdWmW2Qj8yqT0g", "payments", 40);
    let hash = |topics: &[&Arc<Topic>]| of_group(&Image::default(), topics.iter().copied());
    assert_eq!(hash(&[&orders]), -2_718_304_761_464_552_938);
    assert_eq!(hash(&[&payments, &orders]), 2_908_430_743_859_795_958);
    assert_eq!(hash(&[]), 0);
}
