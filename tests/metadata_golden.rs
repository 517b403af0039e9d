//! Metadata logs written by Apache Kafka 3.9, 4.3 and 4.4: read, compared with Kafka's own answers, written again.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test may panic, and plays the machine"
)]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use highwater::env::{Disk, Env};
use highwater::log::batch::HEADER_LEN;
use highwater::log::record::Records;
use highwater::log::scan::{ScanEnd, scan};
use highwater::metadata::journal::{self, ControlRecord, Loaded};
use highwater::metadata::records::Versioned;
use highwater::metadata::{
    ConfigChange, ConfigResource, Image, MetadataStore, NewTopic, OpaqueKey, OpenMetadata, Topic,
};
use highwater::storage::LogDirectory;
use highwater::types::{BrokerId, LeaderEpoch, PartitionIndex, ProducerId, TopicName};
use serde_json::Value;
use support::metadata_logs::MetadataLog;

const NODE: BrokerId = BrokerId::new(1);
const FIXTURES: [&str; 4] = ["clean-4.4", "clean-4.3", "clean-3.9", "killed-4.4"];
const CLEAN: [&str; 3] = ["clean-4.4", "clean-4.3", "clean-3.9"];

fn load(golden: &MetadataLog) -> Loaded {
    let directory = golden.directory();
    journal::load(&Disk, &directory, "Z29sZGVuLWNsdXN0ZXItMQ").unwrap()
}

fn open(golden: &MetadataLog, snapshot_after_bytes: u64) -> MetadataStore {
    let env = Env::system();
    let directory = LogDirectory::open(&env, golden.root(), NODE, None).unwrap();
    let mut args = OpenMetadata::new(env, &directory, NODE);
    args.snapshot_after_bytes = snapshot_after_bytes;
    MetadataStore::open(args).unwrap()
}

/// Kafka's answers: those of the running broker before a clean stop, or after the start that followed a kill.
fn answers(golden: &MetadataLog) -> &Value {
    let after_kill = &golden.expected["afterKafkaStart"]["answers"];
    if after_kill.is_null() { golden.expected } else { after_kill }
}

fn text_map(json: &Value) -> BTreeMap<String, String> {
    let object = json.as_object().expect("an object");
    object.iter().map(|(key, value)| (key.clone(), value.as_str().unwrap().to_owned())).collect()
}

#[test]
fn every_record_is_written_again_as_kafka_wrote_it() {
    for fixture in FIXTURES {
        let golden = MetadataLog::copy(fixture);
        let mut records = 0;
        for path in record_files(&golden) {
            records += rewrite_records(&std::fs::read(&path).unwrap());
        }
        assert!(records > 100, "{fixture}: {records} records");
    }
}

/// Segments and snapshots of the metadata log, and the formatter's checkpoint.
fn record_files(golden: &MetadataLog) -> Vec<PathBuf> {
    let listed = std::fs::read_dir(golden.directory()).unwrap();
    let mut paths: Vec<PathBuf> = listed.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| {
        path.extension().is_some_and(|e| e == "log")
            || path.to_string_lossy().ends_with(".checkpoint")
    });
    paths.extend(Some(golden.root().join("bootstrap.checkpoint")).filter(|path| path.exists()));
    paths
}

/// Decodes and encodes all records of a file, and compares; the number of data records.
fn rewrite_records(bytes: &[u8]) -> usize {
    let mut batches = scan(bytes);
    let mut records = 0;
    for (_, batch) in batches.by_ref() {
        let header = batch.header().unwrap();
        for record in Records::new(&batch.bytes()[HEADER_LEN..], header.records_count) {
            let record = record.unwrap();
            let value = record.value.unwrap();
            if header.is_control() {
                let key = record.key.unwrap();
                let read = ControlRecord::decode(key, value).unwrap();
                assert_eq!(read.encode(), (key.to_vec(), value.to_vec()), "{read:?}");
            } else {
                let read = Versioned::decode(value).unwrap();
                assert_eq!(read.encode(), value, "{read:?}");
                records += 1;
            }
        }
    }
    assert_eq!(batches.ending(), Some(ScanEnd::Exhausted));
    records
}

#[test]
fn topics_ids_partitions_and_configs_are_those_that_kafka_answers() {
    for fixture in FIXTURES {
        let golden = MetadataLog::copy(fixture);
        let image = load(&golden).image;
        let expected = answers(&golden)["topics"].as_object().unwrap();
        let names: Vec<&str> = expected.keys().map(String::as_str).collect();
        let mut found: Vec<&str> = image.topics.keys().map(TopicName::as_str).collect();
        found.sort_unstable();
        // After the kill the cluster went on: internal topics may have been created since.
        found.retain(|name| fixture != "killed-4.4" || names.contains(name));
        assert_eq!(found, names, "{fixture}");
        for (name, answer) in expected {
            let topic = image.topic(name).unwrap();
            assert_eq!(topic.id.to_string(), answer["topicId"].as_str().unwrap());
            let partitions = answer["partitions"].as_object().unwrap();
            assert_eq!(topic.partitions.len(), partitions.len(), "{fixture} {name}");
            let overrides = image.overrides(&ConfigResource::Topic(topic.name.clone()));
            assert_eq!(*overrides, text_map(&answer["configs"]), "{fixture} {name}");
        }
    }
}

#[test]
fn features_voters_and_what_else_is_kept_are_those_that_kafka_answers() {
    for fixture in CLEAN {
        let golden = MetadataLog::copy(fixture);
        let image = load(&golden).image;
        let cluster = &golden.expected["cluster"];
        for (name, level) in cluster["finalizedFeatures"].as_object().unwrap() {
            let found = image.finalized_features().get(name).copied();
            assert_eq!(found.map(i64::from), level.as_i64(), "{fixture} {name}");
        }
        let voter = &cluster["quorum"]["voters"][0];
        assert_eq!(image.quorum.voters[0].directory_id.to_string(), voter["directoryId"]);
        let kept = |which: fn(&OpaqueKey) -> bool| image.opaque.keys().filter(|k| which(k)).count();
        let acls = golden.expected["acls"].as_array().unwrap().len();
        assert_eq!(kept(|key| matches!(key, OpaqueKey::Acl(_))), acls);
        let quotas = golden.expected["quotas"].as_object().unwrap().len();
        assert_eq!(kept(|key| matches!(key, OpaqueKey::Quota(..))), quotas);
        // Kafka itself answers only one of alice's two credentials after a restart: see the README of the golden data.
        assert_eq!(kept(|key| matches!(key, OpaqueKey::Scram(user, _) if user == "alice")), 2);
        assert_eq!(kept(|key| matches!(key, OpaqueKey::Scram(user, _) if user != "alice")), 0);
    }
}

#[test]
fn configs_of_other_resources_are_those_that_kafka_answers() {
    let golden = MetadataLog::copy("clean-4.4");
    let image = load(&golden).image;
    let other = &golden.expected["otherConfigs"];
    let metrics = image.overrides(&ConfigResource::ClientMetrics("golden-metrics".to_owned()));
    assert_eq!(*metrics, text_map(&other["clientMetrics"]["golden-metrics"]));
    let group = image.overrides(&ConfigResource::Group("g-share".to_owned()));
    assert_eq!(*group, text_map(&other["group"]["g-share"]));
    let defaults = image.overrides(&ConfigResource::ClusterDefault);
    assert_eq!(*defaults, text_map(&golden.expected["brokerConfigs"][""]));
    let node = image.overrides(&ConfigResource::Broker(NODE));
    assert_eq!(node["max.connections.per.ip"], "500");
}

/// Three lives of a broker: each start and each stop raised the epochs, so the last data are of epoch 4 and the stop is 5.
#[test]
fn a_clean_stop_left_every_partition_without_a_leader_in_its_sixth_epoch() {
    for (fixture, isr, elr) in [("clean-4.4", 0, 1), ("clean-4.3", 0, 1), ("clean-3.9", 1, 0)] {
        let image = load(&MetadataLog::copy(fixture)).image;
        let plain = image.topic("plain").unwrap().partition(PartitionIndex::new(0)).unwrap();
        assert_eq!(plain.leader, BrokerId::new(-1), "{fixture}");
        assert_eq!(plain.leader_epoch, LeaderEpoch::new(5), "{fixture}");
        assert_eq!(
            (plain.isr.len(), plain.eligible_leader_replicas.len()),
            (isr, elr),
            "{fixture}"
        );
        assert!(image.broker(NODE).unwrap().fenced);
    }
}

#[test]
fn opening_makes_this_node_leader_in_an_epoch_above_all_data() {
    for fixture in FIXTURES {
        let golden = MetadataLog::copy(fixture);
        let before = load(&golden);
        let last_epochs = golden.expected["leaderEpochs"].clone();
        let store = open(&golden, u64::MAX);
        let image = store.image();
        for topic in image.topics.values() {
            let old = &before.image.topics[&topic.name];
            for (index, (state, old)) in topic.partitions.iter().zip(&old.partitions).enumerate() {
                assert_eq!(state.leader, NODE);
                assert_eq!(state.isr, [NODE]);
                assert!(state.eligible_leader_replicas.is_empty());
                assert_eq!(state.leader_epoch.get(), old.leader_epoch.get() + 1);
                let written = &last_epochs[format!("{}-{index}", topic.name)];
                let last = written.as_array().and_then(|epochs| epochs.last()?.get(0)?.as_i64());
                assert!(last.is_none_or(|last| last < i64::from(state.leader_epoch.get())));
            }
        }
        let registration = image.broker(NODE).unwrap();
        assert!(!registration.fenced);
        assert_eq!(registration.broker_epoch, store.broker_epoch());
        assert_eq!(image.features, before.image.features, "levels are never raised");
    }
}

#[test]
fn a_clean_stop_of_ours_leaves_what_kafkas_leaves() {
    for fixture in CLEAN {
        let golden = MetadataLog::copy(fixture);
        let before = load(&golden).image;
        open(&golden, u64::MAX).close().unwrap();
        let after = load(&golden).image;
        for (name, topic) in after.topics.iter() {
            let old = &before.topics[name];
            for (state, old) in topic.partitions.iter().zip(&old.partitions) {
                let mut expected = old.clone();
                expected.leader_epoch = LeaderEpoch::new(old.leader_epoch.get() + 2);
                expected.partition_epoch += 2;
                assert_eq!(*state, expected, "{fixture} {name}");
            }
        }
        let (ours, kafkas) = (after.broker(NODE).unwrap(), before.broker(NODE).unwrap());
        assert_eq!((ours.fenced, ours.in_controlled_shutdown), (true, true));
        assert_eq!(kafkas.fenced, ours.fenced);
        assert_eq!(kafkas.in_controlled_shutdown, ours.in_controlled_shutdown);
        assert_eq!(kafkas.log_dirs, ours.log_dirs);
    }
}

#[test]
fn a_snapshot_of_ours_loses_nothing() {
    for fixture in FIXTURES {
        let golden = MetadataLog::copy(fixture);
        let store = open(&golden, 1);
        store.change_configs(vec![a_change()]).unwrap();
        let expected = store.image();
        drop(store);
        let segments = std::fs::read_dir(golden.directory()).unwrap();
        let names: Vec<String> =
            segments.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        assert_eq!(names.iter().filter(|name| name.ends_with(".log")).count(), 1, "{names:?}");
        assert_eq!(names.iter().filter(|name| name.ends_with(".checkpoint")).count(), 1);
        assert_same_state(&load(&golden).image, &expected);
    }
}

/// Alice and bob got credentials of one mechanism and bob's was removed: a Kafka that replays that forgets alice's.
#[test]
fn a_log_in_which_kafka_would_lose_a_credential_gets_a_snapshot_that_has_it() {
    for fixture in FIXTURES {
        let golden = MetadataLog::copy(fixture);
        assert!(load(&golden).misleads_kafka, "{fixture}");
        let store = open(&golden, u64::MAX);
        store.settle().unwrap();
        let expected = store.image();
        // As a kill would leave it.
        drop(store);
        let given_back = load(&golden);
        assert!(!given_back.misleads_kafka, "{fixture}");
        assert_eq!(given_back.snapshot.unwrap().end, expected.end_offset, "{fixture}");
        assert_same_state(&given_back.image, &expected);
        let store = open(&golden, u64::MAX);
        store.settle().unwrap();
        drop(store);
        assert_eq!(load(&golden).snapshot, given_back.snapshot, "{fixture}: one is enough");
    }
}

#[test]
fn acls_users_quotas_tokens_and_configs_are_given_back_byte_for_byte() {
    for fixture in CLEAN {
        let golden = MetadataLog::copy(fixture);
        let kafkas: BTreeSet<Vec<u8>> = record_files(&golden)
            .iter()
            .flat_map(|path| record_values(&std::fs::read(path).unwrap()))
            .collect();
        let before = load(&golden).image;
        let kinds: BTreeSet<u8> = before.opaque.values().map(|value| value[1]).collect();
        assert!([10, 11, 14, 18].iter().all(|kind| kinds.contains(kind)), "{fixture}: {kinds:?}");
        for (key, value) in before.opaque.iter() {
            assert!(kafkas.contains(value.as_ref()), "{fixture}: {key:?} is not as Kafka wrote it");
        }
        let store = open(&golden, 1);
        store.change_configs(vec![a_change()]).unwrap();
        store.settle().unwrap();
        store.close().unwrap();
        let after = load(&golden).image;
        assert_eq!(after.opaque, before.opaque, "{fixture}");
        assert_eq!(after.features, before.features, "{fixture}");
        let changed = a_change();
        for (resource, configs) in before.configs.iter() {
            assert_eq!(after.configs.get(resource), Some(configs), "{fixture} {resource:?}");
        }
        assert_eq!(after.overrides(&changed.resource)[&changed.key], "latest");
    }
}

/// Values of all records in batches.
fn record_values(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut values = Vec::new();
    for (_, stored) in scan(bytes) {
        let header = stored.header().unwrap();
        for record in Records::new(&stored.bytes()[HEADER_LEN..], header.records_count) {
            values.extend(record.unwrap().value.map(<[u8]>::to_vec));
        }
    }
    values
}

fn a_change() -> ConfigChange {
    ConfigChange {
        resource: ConfigResource::Group("new".to_owned()),
        key: "share.auto.offset.reset".to_owned(),
        value: Some("latest".to_owned()),
    }
}

fn assert_same_state(found: &Image, expected: &Image) {
    assert_eq!(found.end_offset, expected.end_offset);
    assert_eq!(sorted(found), sorted(expected));
    assert_eq!(found.configs, expected.configs);
    assert_eq!(found.features, expected.features);
    assert_eq!(found.brokers, expected.brokers);
    assert_eq!(found.next_producer_id, expected.next_producer_id);
    assert_eq!(found.opaque, expected.opaque);
    assert_eq!(found.quorum.voters, expected.quorum.voters);
    assert_eq!(found.quorum.kraft_version, expected.quorum.kraft_version);
    assert_eq!(found.partition_count, expected.partition_count);
}

fn sorted(image: &Image) -> Vec<&Topic> {
    let mut topics: Vec<&Topic> = image.topics.values().map(AsRef::as_ref).collect();
    topics.sort_by(|a, b| a.name.cmp(&b.name));
    topics
}

#[test]
fn producer_ids_and_topics_go_on_where_kafka_stopped() {
    let golden = MetadataLog::copy("clean-4.4");
    let next = load(&golden).image.next_producer_id;
    assert!(next > ProducerId::new(0));
    let store = open(&golden, u64::MAX);
    assert_eq!(store.allocate_producer_ids().unwrap().first, next);
    let name = TopicName::new("ours").unwrap();
    let topic = NewTopic { name, partitions: vec![vec![NODE]], configs: Vec::new() };
    store.create_topics(vec![topic]).remove(0).unwrap();
    assert!(store.image().topic("ours").is_some());
}
