//! What a start refuses before it has changed anything: each by its name, with the way out, and every byte as it was.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test may panic, and plays the machine"
)]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use highwater::app::{StartArgs, Understanding, start};
use highwater::config::{BrokerSettings, Sources, load};
use highwater::env::{Disk, Env};
use highwater::metadata::journal::{BatchWriter, ControlRecord, Voter};
use highwater::metadata::records::{
    ConfigRecord, FeatureLevel, MetadataRecord, PartitionRecord, RegisterBroker, TopicRecord,
};
use highwater::types::{
    BrokerId, DirectoryId, LeaderEpoch, Offset, PartitionIndex, Timestamp, Uuid,
};
use tempfile::TempDir;

const NODE: BrokerId = BrokerId::new(1);
const OTHER: BrokerId = BrokerId::new(2);
const HERE: DirectoryId = Uuid::from_bytes([3; 16]);
const ELSEWHERE: DirectoryId = Uuid::from_bytes([4; 16]);
const TOPIC: Uuid = Uuid::from_bytes([9; 16]);

/// A node's directory, stopped cleanly, with this metadata.
fn node(records: Vec<MetadataRecord>) -> TempDir {
    node_with(&[ControlRecord::KraftVersion(1), voters(&[NODE])], records)
}

fn node_with(quorum: &[ControlRecord], records: Vec<MetadataRecord>) -> TempDir {
    let root = TempDir::new().unwrap();
    let mut batches =
        BatchWriter::new(Offset::ZERO, LeaderEpoch::new(1), Timestamp::new(1_700_000_000_000));
    batches.control(quorum);
    let values: Vec<Vec<u8>> =
        records.into_iter().map(|record| record.at_level(33).encode()).collect();
    batches.data(&values);
    fs::create_dir(root.path().join("__cluster_metadata-0")).unwrap();
    let log = root.path().join("__cluster_metadata-0/00000000000000000000.log");
    fs::write(log, batches.bytes()).unwrap();
    let meta =
        format!("version=1\ncluster.id=Z29sZGVuLWNsdXN0ZXItMQ\nnode.id=1\ndirectory.id={HERE}\n");
    fs::write(root.path().join("meta.properties"), meta).unwrap();
    fs::write(root.path().join(".kafka_cleanshutdown"), r#"{"version":0,"brokerEpoch":5}"#)
        .unwrap();
    root
}

fn voters(ids: &[BrokerId]) -> ControlRecord {
    let voter = |id: &BrokerId| Voter {
        id: *id,
        directory_id: HERE,
        endpoints: Vec::new(),
        kraft_versions: (0, 1),
    };
    ControlRecord::Voters(ids.iter().map(voter).collect())
}

fn feature(name: &str, level: i16) -> MetadataRecord {
    MetadataRecord::FeatureLevel(FeatureLevel { name: name.to_owned(), level })
}

fn topic(name: &str) -> MetadataRecord {
    MetadataRecord::Topic(TopicRecord { name: name.to_owned(), topic_id: TOPIC })
}

fn partition(replica: BrokerId, directory: DirectoryId) -> MetadataRecord {
    MetadataRecord::Partition(PartitionRecord {
        partition: PartitionIndex::new(0),
        topic_id: TOPIC,
        replicas: vec![replica],
        isr: vec![replica],
        removing_replicas: Vec::new(),
        adding_replicas: Vec::new(),
        leader: replica,
        leader_recovery_state: 0,
        leader_epoch: LeaderEpoch::new(0),
        partition_epoch: 0,
        directories: vec![directory],
        eligible_leader_replicas: None,
        last_known_elr: None,
    })
}

fn registration(log_dirs: Vec<DirectoryId>) -> MetadataRecord {
    MetadataRecord::RegisterBroker(RegisterBroker {
        broker_id: NODE,
        is_migrating_zk_broker: false,
        incarnation_id: Uuid::from_bytes([5; 16]),
        broker_epoch: 4,
        endpoints: Vec::new(),
        features: Vec::new(),
        rack: None,
        fenced: true,
        in_controlled_shutdown: false,
        log_dirs,
        cordoned_log_dirs: None,
    })
}

fn settings(directories: &[&Path], more: &[(&str, &str)]) -> BrokerSettings {
    let listed: Vec<&str> = directories.iter().map(|path| path.to_str().unwrap()).collect();
    let mut flags = vec![
        ("log.dirs".to_owned(), listed.join(",")),
        ("listeners".to_owned(), "PLAINTEXT://127.0.0.1:0".to_owned()),
    ];
    flags.extend(more.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())));
    let sources =
        Sources { flags, variables: Vec::new(), file: None, host_name: "here".to_owned() };
    load(sources).unwrap().settings
}

/// Every name below a directory, with the content of files.
fn everything(root: &Path) -> BTreeMap<String, Option<Vec<u8>>> {
    let mut found = BTreeMap::new();
    let mut left = vec![root.to_owned()];
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            let is_directory = path.is_dir();
            found.insert(name, (!is_directory).then(|| fs::read(&path).unwrap()));
            if is_directory {
                left.push(path);
            }
        }
    }
    found
}

/// The text of the refusal; the directories are as they were, whoever tries.
fn refusal(directories: &[&Path], more: &[(&str, &str)]) -> String {
    let before: Vec<_> = directories.iter().map(|path| everything(path)).collect();
    let settings = settings(directories, more);
    let looked = Understanding::read(&Env::system(), settings.clone()).unwrap_err().to_string();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let started = runtime.block_on(start(StartArgs { env: Env::system(), settings }));
    assert_eq!(started.unwrap_err().to_string(), looked);
    let after: Vec<_> = directories.iter().map(|path| everything(path)).collect();
    assert!(after == before, "refused and changed: {looked}");
    looked
}

#[track_caller]
fn assert_says(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "{word:?} is missing: {text}");
    }
}

#[test]
fn a_quorum_of_several_controllers() {
    let root = node_with(
        &[ControlRecord::KraftVersion(1), voters(&[NODE, OTHER])],
        vec![feature("metadata.version", 33)],
    );
    let text = refusal(&[root.path()], &[]);
    assert_says(&text, &["controllers 1, 2", "remove-controller"]);
}

#[test]
fn a_quorum_of_another_kind() {
    let root = node_with(
        &[ControlRecord::KraftVersion(2), voters(&[NODE])],
        vec![feature("metadata.version", 33)],
    );
    assert_says(&refusal(&[root.path()], &[]), &["kraft.version is at level 2"]);
}

#[test]
fn a_directory_of_the_zookeeper_age() {
    let root = TempDir::new().unwrap();
    fs::create_dir(root.path().join("orders-0")).unwrap();
    fs::write(root.path().join("meta.properties"), "version=0\nbroker.id=1\ncluster.id=x\n")
        .unwrap();
    assert_says(&refusal(&[root.path()], &[]), &["ZooKeeper", "migrate it to KRaft"]);
}

#[test]
fn tiered_topics() {
    let on = MetadataRecord::Config(ConfigRecord {
        resource_type: 2,
        resource_name: "orders".to_owned(),
        name: "remote.storage.enable".to_owned(),
        value: Some("true".to_owned()),
    });
    let root =
        node(vec![feature("metadata.version", 33), topic("orders"), partition(NODE, HERE), on]);
    assert_says(&refusal(&[root.path()], &[]), &["orders", "remote.storage.enable=false"]);
}

#[test]
fn features_of_a_newer_kafka() {
    for (name, level) in [("metadata.version", 34), ("share.version", 3), ("nine.lives", 1)] {
        let root = node(vec![feature("metadata.version", 33), feature(name, level)]);
        let text = refusal(&[root.path()], &[]);
        assert_says(&text, &[&format!("{name} at level {level}"), "kafka-features.sh"]);
    }
}

#[test]
fn a_level_older_than_any_kafka_that_upgrades() {
    let root = node(vec![feature("metadata.version", 6)]);
    assert_says(&refusal(&[root.path()], &[]), &["level 6", "Kafka 3.9"]);
}

#[test]
fn partitions_that_other_brokers_have() {
    let root = node(vec![feature("metadata.version", 33), topic("orders"), partition(OTHER, HERE)]);
    assert_says(&refusal(&[root.path()], &[]), &["orders-0", "kafka-reassign-partitions.sh"]);
}

#[test]
fn a_log_directory_that_nobody_names_any_more() {
    let root = node(vec![
        feature("metadata.version", 33),
        registration(vec![HERE, ELSEWHERE]),
        topic("orders"),
        partition(NODE, ELSEWHERE),
    ]);
    let text = refusal(&[root.path()], &[]);
    assert_says(&text, &["orders-0", &ELSEWHERE.to_string(), "log.dirs"]);
    // With an empty one in its place the node starts: that is the way out.
    let empty = TempDir::new().unwrap();
    let both = settings(&[root.path(), empty.path()], &[]);
    Understanding::read(&Env::system(), both).unwrap();
}

#[test]
fn another_node_and_another_cluster() {
    let root = node(vec![feature("metadata.version", 33)]);
    let text = refusal(&[root.path()], &[("node.id", "7")]);
    assert_says(&text, &["node.id=1", "configured as 7"]);
    let text = refusal(&[root.path()], &[("highwater.cluster.id", "another")]);
    assert_says(&text, &["cluster.id=Z29sZGVuLWNsdXN0ZXItMQ", "another"]);
    let other = node(vec![feature("metadata.version", 33)]);
    let meta = format!("version=1\ncluster.id=another\nnode.id=1\ndirectory.id={ELSEWHERE}\n");
    fs::write(other.path().join("meta.properties"), meta).unwrap();
    assert_says(&refusal(&[root.path(), other.path()], &[]), &["cluster.id=another"]);
}

#[test]
fn metadata_that_lies_in_another_of_the_directories() {
    let data = TempDir::new().unwrap();
    let meta = format!(
        "version=1\ncluster.id=Z29sZGVuLWNsdXN0ZXItMQ\nnode.id=1\ndirectory.id={ELSEWHERE}\n"
    );
    fs::write(data.path().join("meta.properties"), meta).unwrap();
    fs::create_dir(data.path().join("orders-0")).unwrap();
    let empty = TempDir::new().unwrap();
    let text = refusal(&[empty.path(), data.path()], &[]);
    assert_says(&text, &["no metadata log", "orders-0", "metadata.log.dir"]);
}

#[test]
fn a_directory_that_another_process_uses() {
    let root = node(vec![feature("metadata.version", 33)]);
    let files = Disk;
    let held = highwater::env::FileSystem::lock(&files, &root.path().join(".lock")).unwrap();
    let text = refusal(&[root.path()], &[]);
    assert_says(&text, &["in use"]);
    drop(held);
}

/// The id that `meta.properties` has lost is the one that the quorum knows; Kafka makes a new one, and then waits for ever.
#[test]
fn a_lost_directory_id_is_taken_from_the_quorum() {
    let root = node(vec![feature("metadata.version", 33)]);
    let meta = root.path().join("meta.properties");
    fs::write(&meta, "version=1\ncluster.id=Z29sZGVuLWNsdXN0ZXItMQ\nnode.id=1\n").unwrap();
    let understood = Understanding::read(&Env::system(), settings(&[root.path()], &[])).unwrap();
    let claimed = understood.claim(&Env::system()).unwrap();
    assert_eq!(claimed.directories[0].directory_id(), HERE);
    assert!(fs::read_to_string(meta).unwrap().contains(&HERE.to_string()));
}
