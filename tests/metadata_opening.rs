//! Which metadata logs are opened, which are refused, and what the refusal says.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test may panic, and plays the machine"
)]

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use highwater::env::{Disk, Env};
use highwater::log::scan::scan;
use highwater::metadata::journal::{self, BatchWriter, ControlRecord};
use highwater::metadata::records::{FeatureLevel, MetadataRecord, TopicRecord, Versioned};
use highwater::metadata::{MetadataStore, OpenMetadata, Voter};
use highwater::storage::LogDirectory;
use highwater::types::{BrokerId, DirectoryId, LeaderEpoch, Offset, Timestamp, Uuid};
use support::metadata_logs::MetadataLog;
use tempfile::TempDir;

const NODE: BrokerId = BrokerId::new(1);
const OTHER: BrokerId = BrokerId::new(2);
const LOG: &str = "__cluster_metadata-0/00000000000000000000.log";

fn open(root: &Path) -> Result<MetadataStore, String> {
    let env = Env::system();
    let directory = LogDirectory::open(&env, root, NODE, None).map_err(|e| e.to_string())?;
    MetadataStore::open(OpenMetadata::new(env, &directory, NODE)).map_err(|e| e.to_string())
}

fn refusal(root: &Path) -> String {
    open(root).expect_err("it must not be opened")
}

/// A formatted directory whose metadata log `write` writes; its directory id.
fn by_hand(write: impl FnOnce(&mut BatchWriter, DirectoryId)) -> TempDir {
    let root = TempDir::new().unwrap();
    let directory = LogDirectory::open(&Env::system(), root.path(), NODE, None).unwrap();
    let mut batches = BatchWriter::new(Offset::ZERO, LeaderEpoch::new(1), Timestamp::new(1));
    write(&mut batches, directory.directory_id());
    fs::create_dir(root.path().join("__cluster_metadata-0")).unwrap();
    fs::write(root.path().join(LOG), batches.bytes()).unwrap();
    root
}

fn elected(batches: &mut BatchWriter, electors: &[BrokerId]) {
    let voters = electors.to_vec();
    batches.control(&[ControlRecord::LeaderChange { leader: NODE, voters }]);
}

fn data(batches: &mut BatchWriter, records: Vec<MetadataRecord>) {
    let values: Vec<Vec<u8>> =
        records.into_iter().map(|record| Versioned { version: 0, record }.encode()).collect();
    batches.data(&values);
}

fn level(level: i16) -> MetadataRecord {
    MetadataRecord::FeatureLevel(FeatureLevel { name: "metadata.version".to_owned(), level })
}

fn topic(name: &str) -> MetadataRecord {
    let topic_id = Uuid::from_bytes([name.as_bytes()[0]; 16]);
    MetadataRecord::Topic(TopicRecord { name: name.to_owned(), topic_id })
}

fn voter(id: BrokerId, directory_id: DirectoryId) -> Voter {
    Voter { id, directory_id, endpoints: Vec::new(), kraft_versions: (0, 1) }
}

#[test]
fn a_quorum_of_several_voters_is_refused() {
    let dynamic = by_hand(|batches, directory_id| {
        let voters = vec![voter(NODE, directory_id), voter(OTHER, directory_id)];
        batches.control(&[ControlRecord::KraftVersion(1), ControlRecord::Voters(voters)]);
    });
    let fixed = by_hand(|batches, _| elected(batches, &[NODE, OTHER]));
    for root in [dynamic, fixed] {
        let text = refusal(root.path());
        assert!(text.contains("controllers 1, 2"), "{text}");
        assert!(text.contains("kafka-metadata-quorum.sh remove-controller"), "{text}");
    }
}

/// The record that names the voters goes when Kafka cleans the log; the file beside it stays.
#[test]
fn a_static_quorum_that_only_quorum_state_names_is_refused_too() {
    let root = by_hand(|batches, _| data(batches, vec![level(14)]));
    let path = root.path().join("__cluster_metadata-0/quorum-state");
    let state = r#"{"clusterId":"","leaderId":1,"leaderEpoch":1,"votedId":-1,"appliedOffset":0,"currentVoters":[{"voterId":1},{"voterId":2}],"data_version":0}"#;
    fs::write(path, state).unwrap();
    let text = refusal(root.path());
    assert!(text.contains("controllers 1, 2"), "{text}");
}

#[test]
fn a_static_quorum_of_this_node_is_opened_and_stays_static() {
    let root = by_hand(|batches, _| {
        elected(batches, &[NODE]);
        data(batches, vec![level(14), topic("a")]);
    });
    let store = open(root.path()).unwrap();
    let image = store.image();
    assert_eq!((image.quorum.kraft_version, image.metadata_version()), (0, 14));
    assert!(image.topic("a").is_some());
    store.settle().unwrap();
    let state = fs::read_to_string(root.path().join("__cluster_metadata-0/quorum-state")).unwrap();
    assert_eq!(
        state,
        r#"{"clusterId":"","leaderId":1,"leaderEpoch":2,"votedId":-1,"appliedOffset":0,"currentVoters":[{"voterId":1}],"data_version":0}"#
    );
}

#[test]
fn a_directory_that_is_not_the_voters_is_refused_with_the_id_to_restore() {
    let lost = Uuid::from_bytes([7; 16]);
    let root = by_hand(|batches, _| {
        let voters = vec![voter(NODE, lost)];
        batches.control(&[ControlRecord::KraftVersion(1), ControlRecord::Voters(voters)]);
    });
    let text = refusal(root.path());
    assert!(text.contains(&lost.to_string()) && text.contains("meta.properties"), "{text}");
}

#[test]
fn a_log_older_than_kafka_3_3_is_refused() {
    let root = by_hand(|batches, _| data(batches, vec![level(6)]));
    let text = refusal(root.path());
    assert!(text.contains("level 6") && text.contains("Kafka 3.9"), "{text}");
}

#[test]
fn a_record_of_a_newer_kafka_is_refused_and_nothing_is_changed() {
    let root = by_hand(|batches, _| batches.data(&[vec![1, 99, 0, 0]]));
    let before = fs::read(root.path().join(LOG)).unwrap();
    let text = refusal(root.path());
    assert!(text.contains("record type 99") && text.contains("newer Kafka"), "{text}");
    assert_eq!(fs::read(root.path().join(LOG)).unwrap(), before);
}

#[test]
fn partitions_without_a_metadata_log_are_not_disowned() {
    let root = by_hand(|batches, _| data(batches, vec![level(25)]));
    fs::remove_dir_all(root.path().join("__cluster_metadata-0")).unwrap();
    fs::create_dir(root.path().join("orders-0")).unwrap();
    let text = refusal(root.path());
    assert!(text.contains("orders-0") && text.contains("restore"), "{text}");
}

#[test]
fn a_metadata_transaction_that_never_ended_has_no_effect_then_or_later() {
    let root = by_hand(|batches, _| {
        elected(batches, &[NODE]);
        data(batches, vec![level(25), topic("before")]);
        data(batches, vec![MetadataRecord::BeginTransaction { name: None }, topic("within")]);
    });
    for _ in 0..2 {
        let image = open(root.path()).unwrap().image();
        assert!(image.topic("before").is_some());
        assert!(image.topic("within").is_none());
        assert!(!image.broker(NODE).unwrap().fenced, "later records count again");
    }
}

#[test]
fn an_ended_metadata_transaction_counts_and_an_aborted_one_does_not() {
    let root = by_hand(|batches, _| {
        data(batches, vec![level(25), MetadataRecord::BeginTransaction { name: None }]);
        data(batches, vec![topic("a"), MetadataRecord::EndTransaction]);
        data(batches, vec![MetadataRecord::BeginTransaction { name: None }, topic("b")]);
        data(batches, vec![MetadataRecord::AbortTransaction { reason: None }]);
    });
    let image = open(root.path()).unwrap().image();
    assert!(image.topic("a").is_some());
    assert!(image.topic("b").is_none());
}

/// What Kafka 4.3's formatter leaves: identity, `bootstrap.checkpoint`, and a checkpoint at 0 with the voters.
#[test]
fn a_directory_that_kafka_formatted_and_never_started_keeps_its_levels_and_voters() {
    let golden = MetadataLog::copy("clean-4.3");
    let checkpoint = "__cluster_metadata-0/00000000000000000000-0000000000.checkpoint";
    let root = TempDir::new().unwrap();
    fs::create_dir(root.path().join("__cluster_metadata-0")).unwrap();
    for name in ["meta.properties", "bootstrap.checkpoint", checkpoint] {
        fs::copy(golden.root().join(name), root.path().join(name)).unwrap();
    }
    let voters = load(golden.root()).quorum.voters.clone();
    let found = open(root.path()).unwrap().image();
    let answered = golden.expected["cluster"]["finalizedFeatures"].as_object().unwrap();
    for (name, level) in answered {
        let found = found.finalized_features().get(name).copied();
        assert_eq!(found.map(i64::from), level.as_i64(), "{name}");
    }
    assert_eq!(found.quorum.voters, voters);
    let reopened = load(root.path());
    assert_eq!((&reopened.features, &reopened.quorum), (&found.features, &found.quorum));
}

fn load(root: &Path) -> highwater::metadata::Image {
    journal::load(&Disk, &root.join("__cluster_metadata-0"), "").unwrap().image
}

/// Bytes of the log that Kafka left when it was killed, and where its batches begin.
fn kafkas_log() -> (TempDir, Vec<u8>, Vec<usize>) {
    let golden = MetadataLog::copy("killed-4.4");
    let root = TempDir::new().unwrap();
    fs::create_dir(root.path().join("__cluster_metadata-0")).unwrap();
    fs::copy(golden.root().join("meta.properties"), root.path().join("meta.properties")).unwrap();
    let bytes = fs::read(golden.root().join(LOG)).unwrap();
    let starts = scan(&bytes).map(|(position, _)| position).collect();
    (root, bytes, starts)
}

fn first_offset(bytes: &[u8], at: usize) -> i64 {
    i64::from_be_bytes(bytes[at..at + 8].try_into().unwrap())
}

#[test]
fn a_torn_last_batch_is_cut_off_wherever_it_is_torn() {
    let (root, bytes, starts) = kafkas_log();
    let last = *starts.last().unwrap();
    for end in (last..bytes.len()).step_by(7) {
        fs::write(root.path().join(LOG), &bytes[..end]).unwrap();
        let image = load(root.path());
        assert_eq!(image.end_offset.get(), first_offset(&bytes, last), "cut at {end}");
    }
    fs::write(root.path().join(LOG), &bytes[..bytes.len() - 1]).unwrap();
    drop(open(root.path()).unwrap());
    let written = fs::read(root.path().join(LOG)).unwrap();
    assert_eq!(written[..last], bytes[..last]);
    assert!(scan(&written).all(|(_, batch)| batch.verify().is_ok()));
}

#[test]
fn a_flipped_bit_anywhere_in_a_batch_ends_the_log_before_it() {
    let (root, bytes, starts) = kafkas_log();
    let (batch, next) = (starts[starts.len() / 2], starts[starts.len() / 2 + 1]);
    let expected = first_offset(&bytes, batch);
    // No checksum covers the leader epoch.
    let epoch = batch + 12..batch + 16;
    for at in (batch..next).step_by(5).filter(|at| !epoch.contains(at)) {
        let mut flipped = bytes.clone();
        flipped[at] ^= 0x10;
        fs::write(root.path().join(LOG), &flipped).unwrap();
        assert_eq!(load(root.path()).end_offset.get(), expected, "flipped at {at}");
    }
}

/// Splits the log in two segments; the path of the second.
fn split(root: &Path, bytes: &[u8], at: usize) -> PathBuf {
    let name = format!("__cluster_metadata-0/{:020}.log", first_offset(bytes, at));
    fs::write(root.join(LOG), &bytes[..at]).unwrap();
    fs::write(root.join(&name), &bytes[at..]).unwrap();
    root.join(name)
}

#[test]
fn several_segments_are_one_log() {
    let (root, bytes, starts) = kafkas_log();
    fs::write(root.path().join(LOG), &bytes).unwrap();
    let whole = load(root.path());
    split(root.path(), &bytes, starts[starts.len() / 2]);
    let halves = load(root.path());
    assert_eq!(halves.end_offset, whole.end_offset);
    assert_eq!(halves.topics, whole.topics);
    assert_eq!(halves.configs, whole.configs);
}

#[test]
fn damage_with_more_of_the_log_behind_it_is_refused() {
    let (root, bytes, starts) = kafkas_log();
    let middle = starts[starts.len() / 2];
    split(root.path(), &bytes, middle);
    let mut damaged = bytes[..middle].to_vec();
    damaged[middle - 1] ^= 1;
    fs::write(root.path().join(LOG), &damaged).unwrap();
    let text = refusal(root.path());
    assert!(text.contains("damaged at byte") && text.contains("backup"), "{text}");
    fs::write(root.path().join(LOG), &bytes[..starts[1]]).unwrap();
    let text = refusal(root.path());
    assert!(text.contains("a segment is missing or damaged"), "{text}");
}

#[test]
fn a_log_that_begins_above_its_snapshots_is_refused() {
    let (root, bytes, starts) = kafkas_log();
    split(root.path(), &bytes, starts[starts.len() / 2]);
    fs::remove_file(root.path().join(LOG)).unwrap();
    let text = refusal(root.path());
    assert!(text.contains("the newest snapshot ends at 0"), "{text}");
}

#[test]
fn a_snapshot_without_its_end_is_refused() {
    let (root, bytes, _) = kafkas_log();
    fs::write(root.path().join(LOG), &bytes).unwrap();
    let store = {
        let env = Env::system();
        let directory = LogDirectory::open(&env, root.path(), NODE, None).unwrap();
        let mut args = OpenMetadata::new(env, &directory, NODE);
        args.snapshot_after_bytes = 1;
        MetadataStore::open(args).unwrap()
    };
    store.allocate_producer_ids().unwrap();
    drop(store);
    let listed = fs::read_dir(root.path().join("__cluster_metadata-0")).unwrap();
    let paths = listed.map(|entry| entry.unwrap().path());
    let snapshot = paths.filter(|path| path.to_string_lossy().ends_with(".checkpoint")).max();
    let whole = fs::read(snapshot.as_ref().unwrap()).unwrap();
    for cut in [whole.len() - 1, whole.len() - 80, 100, 0] {
        fs::write(snapshot.as_ref().unwrap(), &whole[..cut]).unwrap();
        let text = refusal(root.path());
        assert!(text.contains("not complete"), "cut at {cut}: {text}");
    }
    fs::write(snapshot.unwrap(), &whole).unwrap();
    open(root.path()).unwrap();
}
