use std::path::Path;

use super::*;
use crate::types::LeaderEpoch;

const NODE: BrokerId = BrokerId::new(1);

struct Node {
    _directory: LogDirectory,
    store: MetadataStore,
}

fn open(path: &Path) -> Node {
    let env = Env::system();
    let directory = LogDirectory::open(&env, path, NODE, None).unwrap();
    let store = MetadataStore::open(OpenMetadata::new(env, &directory, NODE)).unwrap();
    Node { _directory: directory, store }
}

fn topic(name: &str, partitions: usize) -> NewTopic {
    NewTopic {
        name: TopicName::new(name).unwrap(),
        partitions: vec![vec![NODE]; partitions],
        configs: vec![("retention.ms".to_owned(), "1000".to_owned())],
    }
}

#[test]
fn a_fresh_directory_has_the_levels_of_kafka_4_0() {
    let root = tempfile::tempdir().unwrap();
    let node = open(root.path());
    let features = node.store.image().finalized_features();
    let expected = [
        ("group.version", 1),
        ("kraft.version", 1),
        ("metadata.version", 25),
        ("transaction.version", 2),
    ];
    assert!(features.iter().map(|(name, level)| (name.as_str(), *level)).eq(expected));
}

#[test]
fn what_was_changed_is_there_after_a_restart() {
    let root = tempfile::tempdir().unwrap();
    let node = open(root.path());
    let created = node.store.create_topics(vec![topic("a", 3), topic("b", 1), topic("a", 1)]);
    let [Ok(a), Ok(b), Err(MetadataError::TopicExists(_))] = created[..] else {
        panic!("{created:?}")
    };
    node.store.delete_topics(vec![TopicRef::Id(b)]).remove(0).unwrap();
    node.store.create_partitions(a, PartitionIndex::new(3), vec![vec![NODE]; 2]).unwrap();
    let block = node.store.allocate_producer_ids().unwrap();
    assert_eq!(block, ProducerIdBlock { first: ProducerId::new(0), count: 1000 });
    let before = node.store.image();
    assert_eq!(before.partition_count, 5);
    drop(node);
    let node = open(root.path());
    let image = node.store.image();
    let a = image.topic("a").unwrap();
    assert_eq!(a.partitions.len(), 5);
    assert_eq!(a.partitions[0].leader_epoch, LeaderEpoch::new(1));
    assert_eq!(a.partitions[4].leader, NODE);
    assert!(image.topic("b").is_none());
    assert_eq!(image.partition_count, 5);
    let overrides = image.overrides(&ConfigResource::Topic(a.name.clone()));
    assert_eq!(overrides.get("retention.ms").map(String::as_str), Some("1000"));
    assert_eq!(node.store.allocate_producer_ids().unwrap().first, ProducerId::new(1000));
}
