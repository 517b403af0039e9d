use std::fs;

use super::*;
use crate::types::{Offset, PartitionIndex, TopicName};

const NODE: BrokerId = BrokerId::new(1);

fn open(path: &Path) -> Result<LogDirectory, OpenDirectoryError> {
    LogDirectory::open(&Env::system(), path, NODE, None)
}

fn partition(topic: &str, index: i32) -> TopicPartition {
    TopicPartition { topic: TopicName::new(topic).unwrap(), partition: PartitionIndex::new(index) }
}

#[test]
fn a_missing_directory_is_made_and_keeps_its_identity() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("a/b");
    let first = open(&path).unwrap();
    assert_eq!(first.last_stop(), LastStop::Fresh);
    let identity = (first.cluster_id().to_owned(), first.directory_id());
    assert_eq!(identity.0.len(), 22);
    drop(first);
    let second = open(&path).unwrap();
    assert_eq!((second.cluster_id().to_owned(), second.directory_id()), identity);
    assert_eq!(second.last_stop(), LastStop::Unclean);
}

#[test]
fn a_clean_stop_is_seen_once() {
    let root = tempfile::tempdir().unwrap();
    let mark = CleanShutdown { broker_epoch: Some(7) };
    open(root.path()).unwrap().close_cleanly(mark).unwrap();
    assert!(!root.path().join(".lock").exists());
    assert_eq!(open(root.path()).unwrap().last_stop(), LastStop::Clean(mark));
    assert_eq!(open(root.path()).unwrap().last_stop(), LastStop::Unclean);
}

#[test]
fn a_second_owner_is_refused_with_the_directory() {
    let root = tempfile::tempdir().unwrap();
    let owner = open(root.path()).unwrap();
    let refused = open(root.path()).unwrap_err();
    assert!(matches!(refused, OpenDirectoryError::Lock { .. }));
    assert!(refused.to_string().contains(root.path().to_str().unwrap()), "{refused}");
    drop(owner);
    open(root.path()).unwrap();
}

#[test]
fn another_node_or_cluster_is_refused_with_what_to_do() {
    let root = tempfile::tempdir().unwrap();
    let env = Env::system();
    drop(LogDirectory::open(&env, root.path(), NODE, Some("ours")).unwrap());
    let other_node = LogDirectory::open(&env, root.path(), BrokerId::new(2), None).unwrap_err();
    assert!(other_node.to_string().contains("set node.id=1"), "{other_node}");
    let other_cluster = LogDirectory::open(&env, root.path(), NODE, Some("theirs")).unwrap_err();
    assert!(other_cluster.to_string().contains("cluster.id=ours"), "{other_cluster}");
}

#[test]
fn data_without_an_identity_is_not_formatted_over() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("topic-0")).unwrap();
    let refused = open(root.path()).unwrap_err();
    assert!(matches!(refused, OpenDirectoryError::NotFormatted { .. }));
    assert!(!root.path().join("meta.properties").exists());
}

#[test]
fn a_missing_directory_id_is_made_once() {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("meta.properties");
    fs::write(&file, "version=1\ncluster.id=c\nnode.id=1\n").unwrap();
    let made = open(root.path()).unwrap().directory_id();
    assert!(!made.is_zero());
    assert_eq!(open(root.path()).unwrap().directory_id(), made);
}

#[test]
fn directories_are_told_apart() {
    let root = tempfile::tempdir().unwrap();
    drop(open(root.path()).unwrap());
    let hex = "00112233445566778899aabbccddeeff";
    let deleted = format!("old-0.{hex}-delete");
    for name in ["a-0", "a-b-11", "lost+found", "__cluster_metadata-0", &deleted] {
        fs::create_dir(root.path().join(name)).unwrap();
    }
    fs::write(root.path().join("file-0"), "").unwrap();
    let directory = open(root.path()).unwrap();
    let mut partitions = directory.partitions().to_vec();
    partitions.sort();
    assert_eq!(partitions, [partition("a", 0), partition("a-b", 11)]);
    assert_eq!(directory.being_deleted(), [deleted]);
}

#[test]
fn checkpoints_are_kept_and_damaged_ones_are_refused() {
    let root = tempfile::tempdir().unwrap();
    let directory = open(root.path()).unwrap();
    let kind = Checkpoint::RecoveryPoint;
    assert!(directory.read_checkpoint(kind).unwrap().is_empty());
    let offsets = OffsetCheckpoint::from([(partition("a", 0), Offset::new(5))]);
    directory.write_checkpoint(kind, &offsets).unwrap();
    assert_eq!(directory.read_checkpoint(kind).unwrap(), offsets);
    fs::write(root.path().join("recovery-point-offset-checkpoint"), "0\n1\n").unwrap();
    let refused = directory.read_checkpoint(kind).unwrap_err();
    assert!(matches!(refused, OpenDirectoryError::Damaged { .. }));
}
