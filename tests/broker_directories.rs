//! Several log directories: where partitions go, and what a directory that fails takes with it.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test may panic, and plays the machine and the operator"
)]

mod support;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use highwater::broker::cluster::LeaderState;
use highwater::broker::{Acks, FetchError, OpenPartitionError, ProduceError};
use highwater::storage::OpenDirectoryError;
use highwater::types::{BrokerId, DirectoryId};
use support::batches::batch;
use support::broker::{Life, NODE, Node, now};
use support::data_directories::DataDirectories;

fn value(text: &str) -> Vec<u8> {
    batch(&[(text.as_bytes(), now())], None)
}

async fn write_all(life: &Life, topic: &str, partitions: i32) {
    for partition in 0..partitions {
        life.send(topic, partition, Acks::All, &value("kept")).await.expect("acknowledged");
    }
}

/// Partitions of a topic by the log directory that has a directory of theirs.
fn held(node: &Node, topic: &str) -> BTreeMap<PathBuf, Vec<i32>> {
    let prefix = format!("{topic}-");
    let partitions = |path: &Path| {
        let names = std::fs::read_dir(path).unwrap().map(|e| e.unwrap().file_name());
        let names = names.map(|name| name.into_string().unwrap());
        let mut partitions: Vec<i32> =
            names.filter_map(|name| name.strip_prefix(&prefix)?.parse().ok()).collect();
        partitions.sort_unstable();
        partitions
    };
    node.paths().into_iter().map(|path| (path.clone(), partitions(&path))).collect()
}

/// The directory that the metadata names for each partition of a topic.
fn named(life: &Life, topic: &str) -> Vec<DirectoryId> {
    let image = life.broker.metadata.image();
    let states = &image.topic(topic).unwrap().partitions;
    states.iter().map(|state| state.directory_of(NODE).expect("a directory")).collect()
}

fn leader(life: &Life, topic: &str, partition: usize) -> (LeaderState, Vec<BrokerId>) {
    let image = life.broker.metadata.image();
    let told = life.broker.leadership(&image.topic(topic).unwrap().partitions[partition]);
    (told.state, told.offline_replicas)
}

fn path_of(life: &Life, id: DirectoryId) -> PathBuf {
    let mut directories = life.broker.partitions.directories().iter();
    directories.find(|directory| directory.id() == id).unwrap().path().to_owned()
}

/// Partitions of topic `t` in the directory `path`, as the metadata has them.
fn in_directory(life: &Life, path: &Path) -> Vec<i32> {
    let named = named(life, "t");
    (0..).zip(named).filter(|(_, id)| path_of(life, *id) == path).map(|(index, _)| index).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn new_partitions_go_where_there_are_fewest_and_the_metadata_names_the_place() {
    let node = Node::with_directories(3);
    let life = node.start();
    life.create("t", 7, &[]);
    write_all(&life, "t", 7).await;
    let counts: Vec<usize> = held(&node, "t").values().map(Vec::len).collect();
    assert_eq!(counts.iter().sum::<usize>(), 7);
    assert!(counts.iter().all(|count| (2..=3).contains(count)), "{counts:?}");
    for (path, partitions) in held(&node, "t") {
        assert_eq!(in_directory(&life, &path), partitions, "{path:?}");
    }
    let registered = life.broker.metadata.image().broker(NODE).unwrap().log_dirs.clone();
    let directories = life.broker.partitions.directories();
    assert_eq!(registered, directories.iter().map(|d| d.id()).collect::<Vec<_>>());
    life.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partition_found_elsewhere_than_the_metadata_says_is_served_from_there() {
    let node = Node::with_directories(2);
    let life = node.start();
    life.create("t", 1, &[]);
    write_all(&life, "t", 1).await;
    let from = path_of(&life, named(&life, "t")[0]);
    life.stop().await;
    let to = node.paths().into_iter().find(|path| *path != from).unwrap();
    // What an operator does who moves a directory by hand.
    copy(&from.join("t-0"), &to.join("t-0"));
    std::fs::remove_dir_all(from.join("t-0")).unwrap();
    let life = node.start();
    assert_eq!(path_of(&life, named(&life, "t")[0]), to);
    assert_eq!(life.values("t", 0, 0).await.len(), 1);
    life.stop().await;
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_directories_of_one_partition_the_one_counts_that_the_metadata_names() {
    let node = Node::with_directories(2);
    node.directories.are_spoilt();
    let life = node.start();
    life.create("t", 1, &[]);
    write_all(&life, "t", 1).await;
    let right = path_of(&life, named(&life, "t")[0]);
    life.stop().await;
    let wrong = node.paths().into_iter().find(|path| *path != right).unwrap();
    copy(&right.join("t-0"), &wrong.join("t-0"));
    std::fs::write(wrong.join("t-0/00000000000000000000.log"), b"").unwrap();
    let life = node.start();
    assert_eq!(path_of(&life, named(&life, "t")[0]), right);
    assert_eq!(life.values("t", 0, 0).await.len(), 1);
    assert!(!wrong.join("t-0").exists(), "set aside: kafka would not start with both");
    life.stop().await;
}

/// Some partitions of `t` lie in the second directory, which breaks. Those of the first are told first.
async fn broken(node: &Node) -> (Life, Vec<i32>, Vec<i32>) {
    let life = node.start();
    life.create("t", 4, &[]);
    write_all(&life, "t", 4).await;
    let paths = node.paths();
    let (kept, lost) = (in_directory(&life, &paths[0]), in_directory(&life, &paths[1]));
    assert_eq!((kept.len(), lost.len()), (2, 2));
    (life, kept, lost)
}

async fn assert_offline(life: &Life, partition: i32) {
    let sent = life.send("t", partition, Acks::All, &value("lost")).await;
    assert!(
        matches!(
            sent,
            Err(ProduceError::Open(
                OpenPartitionError::Offline | OpenPartitionError::NoSuchDirectory(_)
            ) | ProduceError::Append(_))
        ),
        "{sent:?}"
    );
    let read = life.read("t", partition, 0).await;
    assert!(matches!(read, Err(FetchError::Storage)), "{read:?}");
    assert_eq!(leader(life, "t", partition as usize), (LeaderState::NoLeader, vec![NODE]));
}

async fn assert_served(life: &Life, partition: i32, records: usize) {
    assert_eq!(life.values("t", partition, 0).await.len(), records);
    assert_eq!(leader(life, "t", partition as usize), (LeaderState::Led, vec![]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_directory_that_fails_takes_only_its_partitions_offline_until_the_next_start() {
    let node = Node::with_directories(2);
    let (life, kept, lost) = broken(&node).await;
    node.faults.break_below(Some(&node.paths()[1]));
    let sent = life.send("t", lost[0], Acks::All, &value("lost")).await;
    assert!(sent.is_err(), "{sent:?}");
    for &partition in &lost {
        assert_offline(&life, partition).await;
    }
    for &partition in &kept {
        life.send("t", partition, Acks::All, &value("more")).await.expect("acknowledged");
        assert_served(&life, partition, 2).await;
    }
    assert_eq!(life.broker.health.offline().len(), 1);
    assert!(!life.shutdown.is_requested(), "one is left");
    // New partitions go to the one that works.
    life.create("later", 2, &[]);
    write_all(&life, "later", 2).await;
    life.stop().await;

    node.faults.break_below(None);
    let life = node.start();
    for &partition in &lost {
        assert_served(&life, partition, 1).await;
        life.send("t", partition, Acks::All, &value("more")).await.expect("acknowledged");
    }
    life.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_directory_that_cannot_be_used_at_the_start_takes_only_its_partitions_offline() {
    let node = Node::with_directories(2);
    let (life, kept, lost) = broken(&node).await;
    life.stop().await;
    node.faults.break_below(Some(&node.paths()[1]));
    let life = node.start();
    for &partition in &lost {
        assert_offline(&life, partition).await;
    }
    for &partition in &kept {
        assert_served(&life, partition, 1).await;
    }
    assert_eq!(life.broker.health.offline()[0].path, node.paths()[1]);
    assert_eq!(life.broker.partitions.placement().offline_count(), 1);
    life.stop().await;

    node.faults.break_below(None);
    let life = node.start();
    for &partition in &lost {
        assert_served(&life, partition, 1).await;
    }
    life.stop().await;
}

/// What a disk that was not mounted looks like: an empty directory, which must not be taken for one without partitions.
#[tokio::test(flavor = "multi_thread")]
async fn partitions_of_a_directory_that_comes_back_empty_are_offline_and_not_made_anew() {
    let mut node = Node::with_directories(2);
    let (life, kept, lost) = broken(&node).await;
    life.stop().await;
    let full = node.directories.replace_last(tempfile::TempDir::new().unwrap());
    let life = node.start();
    for &partition in &lost {
        assert_offline(&life, partition).await;
    }
    for &partition in &kept {
        assert_served(&life, partition, 1).await;
    }
    life.stop().await;
    drop(node.directories.replace_last(full));
    let life = node.start();
    for &partition in &lost {
        assert_served(&life, partition, 1).await;
    }
    life.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_of_the_directory_with_the_metadata_ends_the_broker() {
    let node = Node::with_directories(2);
    let (life, kept, _) = broken(&node).await;
    node.faults.break_below(Some(node.path()));
    assert!(life.send("t", kept[0], Acks::All, &value("lost")).await.is_err());
    life.shutdown.requested().await;
    node.faults.break_below(None);
    life.crash().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn directories_of_another_node_or_cluster_or_named_twice_refuse_the_start() {
    let node = Node::with_directories(2);
    node.start().stop().await;
    let meta = node.paths()[1].join("meta.properties");
    let right = std::fs::read_to_string(&meta).unwrap();

    std::fs::write(&meta, right.replace("node.id=1", "node.id=2")).unwrap();
    assert!(matches!(node.try_start(), Err(OpenDirectoryError::OtherNode { .. })));

    let cluster = right.lines().find(|line| line.starts_with("cluster.id=")).unwrap();
    std::fs::write(&meta, right.replace(cluster, "cluster.id=AAAAAAAAAAAAAAAAAAAAAA")).unwrap();
    assert!(matches!(node.try_start(), Err(OpenDirectoryError::OtherCluster { .. })));

    std::fs::copy(node.path().join("meta.properties"), &meta).unwrap();
    assert!(matches!(node.try_start(), Err(OpenDirectoryError::Twice { .. })));

    std::fs::write(&meta, &right).unwrap();
    node.start().stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_identity_takes_a_directory_offline_but_for_the_one_with_the_metadata() {
    let node = Node::with_directories(2);
    node.directories.are_spoilt();
    node.start().stop().await;
    let [first, second] = [0, 1].map(|at: usize| node.paths()[at].join("meta.properties"));
    let right = std::fs::read(&second).unwrap();
    std::fs::write(&second, b"version=1\n").unwrap();
    let life = node.start();
    assert_eq!(life.broker.health.offline().len(), 1);
    life.stop().await;
    std::fs::write(&second, right).unwrap();
    std::fs::write(&first, b"version=1\n").unwrap();
    assert!(matches!(node.try_start(), Err(OpenDirectoryError::Damaged { .. })));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_metadata_may_have_a_directory_of_its_own_which_holds_no_partition() {
    let node = Node { directories: DataDirectories::with_metadata_apart(2), ..Node::new() };
    let metadata = node.directories.metadata();
    for stop in ["clean", "crash", "clean"] {
        let life = node.start();
        if life.broker.metadata.image().topic("t").is_none() {
            life.create("t", 4, &[]);
        }
        write_all(&life, "t", 4).await;
        let image = life.broker.metadata.image();
        let registered = image.brokers[&NODE].log_dirs.clone();
        let ids = life.broker.partitions.directories().iter().map(|directory| directory.id());
        assert_eq!(registered, ids.collect::<Vec<_>>(), "the log directories and no other");
        assert!(named(&life, "t").iter().all(|id| registered.contains(id)));
        let held = held(&node, "t");
        assert_eq!(held.values().map(Vec::len).collect::<Vec<_>>(), [2, 2]);
        // Nobody else may have it meanwhile.
        assert!(matches!(node.try_start(), Err(OpenDirectoryError::Lock { .. })));
        match stop {
            "clean" => {
                life.stop().await;
                node.check();
            }
            _ => life.crash().await,
        }
        let names = std::fs::read_dir(metadata).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
        names.sort();
        assert_eq!(names, [".lock", "__cluster_metadata-0", "meta.properties"]);
        assert!(node.paths().iter().all(|path| !path.join("__cluster_metadata-0").exists()));
    }
    // Its identity is checked like that of any other.
    node.directories.are_spoilt();
    let identity = metadata.join("meta.properties");
    let other = std::fs::read_to_string(&identity).unwrap().replace("node.id=1", "node.id=2");
    std::fs::write(&identity, other).unwrap();
    assert!(matches!(node.try_start(), Err(OpenDirectoryError::OtherNode { .. })));
}
