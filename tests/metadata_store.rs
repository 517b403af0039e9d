//! The metadata store against a model, through restarts and power cuts.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test may panic, and plays the machine"
)]

mod support;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Barrier, Mutex};

use highwater::env::{Random, SeededRandom};
use highwater::metadata::{
    ConfigChange, ConfigResource, MetadataError, MetadataStore, NewTopic, OpenMetadata, TopicRef,
};
use highwater::storage::LogDirectory;
use highwater::types::{BrokerId, PartitionIndex, TopicId, TopicName};
use support::simulated_disk::{SimulatedDisk, below};

const NODE: BrokerId = BrokerId::new(3);

fn try_open(disk: &SimulatedDisk, seed: u64, snapshot_after: u64) -> Result<MetadataStore, String> {
    let env = disk.env(seed);
    let directory = LogDirectory::open(&env, Path::new("/data"), NODE, None);
    let directory = directory.map_err(|e| e.to_string())?;
    let mut args = OpenMetadata::new(env, &directory, NODE);
    args.snapshot_after_bytes = snapshot_after;
    MetadataStore::open(args).map_err(|e| e.to_string())
}

/// What the store must show: topics with their ids, partition counts and overrides, cluster defaults, producer ids.
#[derive(Clone, Debug, Default, PartialEq)]
struct Model {
    topics: BTreeMap<String, (TopicId, usize, BTreeMap<String, String>)>,
    defaults: BTreeMap<String, String>,
    producer_ids: i64,
}

#[derive(Clone, Debug)]
enum Change {
    Create {
        name: String,
        partitions: usize,
    },
    Delete {
        name: String,
    },
    Grow {
        name: String,
    },
    /// Sets or deletes a config of a topic and the cluster's default of it, in one change.
    Configure {
        name: String,
        value: Option<String>,
    },
    ProducerIds,
}

const KEY: &str = "max.message.bytes";

impl Change {
    fn random(random: &SeededRandom) -> Self {
        let name = format!("topic-{}", below(random, 6));
        match below(random, 6) {
            0 | 1 => Self::Create { name, partitions: below(random, 4) + 1 },
            2 => Self::Delete { name },
            3 => Self::Grow { name },
            4 => {
                let value = below(random, 3);
                Self::Configure { name, value: (value > 0).then(|| value.to_string()) }
            }
            _ => Self::ProducerIds,
        }
    }

    /// Asks the store for it; `false` if it must be refused in the state of `model` and was.
    fn make(&self, store: &MetadataStore, model: &Model) -> Result<bool, MetadataError> {
        match (self.ask(store, model), self.is_possible(model)) {
            (Err(MetadataError::Journal(e)), _) => Err(MetadataError::Journal(e)),
            (Ok(()), true) => Ok(true),
            (Err(MetadataError::TopicExists(_) | MetadataError::UnknownTopic), false) => Ok(false),
            (result, _) => panic!("{self:?} gave {result:?} in {model:?}"),
        }
    }

    fn ask(&self, store: &MetadataStore, model: &Model) -> Result<(), MetadataError> {
        let topic_name = |name: &String| TopicName::new(name).unwrap();
        match self {
            Self::Create { name, partitions } => {
                let topic = NewTopic {
                    name: topic_name(name),
                    partitions: vec![vec![NODE]; *partitions],
                    configs: vec![("retention.ms".to_owned(), "5".to_owned())],
                };
                store.create_topics(vec![topic]).remove(0).map(|_| ())
            }
            Self::Delete { name } => {
                let by_id = model.topics.get(name).map(|(id, ..)| *id);
                let topic = match by_id.filter(|id| id.to_bytes()[0] % 2 == 0) {
                    Some(id) => TopicRef::Id(id),
                    None => TopicRef::Name(topic_name(name)),
                };
                store.delete_topics(vec![topic]).remove(0).map(|_| ())
            }
            Self::Grow { name } => {
                let (id, count) = model.topics.get(name).map_or((TopicId::ZERO, 0), |t| (t.0, t.1));
                let present = PartitionIndex::new(count as i32);
                store.create_partitions(id, present, vec![vec![NODE]; 2])
            }
            Self::Configure { name, value } => {
                let change =
                    |resource| ConfigChange { resource, key: KEY.to_owned(), value: value.clone() };
                let topic = ConfigResource::Topic(topic_name(name));
                store.change_configs(vec![change(ConfigResource::ClusterDefault), change(topic)])
            }
            Self::ProducerIds => {
                let block = store.allocate_producer_ids()?;
                assert_eq!((block.first.get(), block.count), (model.producer_ids, 1000));
                Ok(())
            }
        }
    }

    fn is_possible(&self, model: &Model) -> bool {
        match self {
            Self::Create { name, .. } => !model.topics.contains_key(name),
            Self::Delete { name } | Self::Grow { name } | Self::Configure { name, .. } => {
                model.topics.contains_key(name)
            }
            Self::ProducerIds => true,
        }
    }
}

impl Model {
    fn of(store: &MetadataStore) -> Self {
        let image = store.image();
        let topics = image.topics.values().map(|topic| {
            let overrides = image.overrides(&ConfigResource::Topic(topic.name.clone()));
            let state = (topic.id, topic.partitions.len(), overrides.as_ref().clone());
            (topic.name.to_string(), state)
        });
        Self {
            topics: topics.collect(),
            defaults: image.overrides(&ConfigResource::ClusterDefault).as_ref().clone(),
            producer_ids: image.next_producer_id.get(),
        }
    }

    /// The model after a change that is possible; ids of new topics are those that the store shows.
    fn after(&self, change: &Change, shown: &Self) -> Self {
        let mut model = self.clone();
        match change {
            Change::Create { name, partitions } => {
                let id = shown.topics.get(name).map_or(TopicId::ZERO, |topic| topic.0);
                let overrides = BTreeMap::from([("retention.ms".to_owned(), "5".to_owned())]);
                model.topics.insert(name.clone(), (id, *partitions, overrides));
            }
            Change::Delete { name } => {
                model.topics.remove(name);
            }
            Change::Grow { name } => {
                model.topics.entry(name.clone()).and_modify(|topic| topic.1 += 2);
            }
            Change::Configure { name, value } => {
                let topic = model.topics.get_mut(name).expect("possible");
                for overrides in [&mut topic.2, &mut model.defaults] {
                    match value {
                        Some(value) => overrides.insert(KEY.to_owned(), value.clone()),
                        None => overrides.remove(KEY),
                    };
                }
            }
            Change::ProducerIds => model.producer_ids += 1000,
        }
        model
    }

    /// Makes a random change and checks that the store shows it.
    fn step(&mut self, store: &MetadataStore, change: &Change) -> Result<(), MetadataError> {
        if change.make(store, self)? {
            *self = self.after(change, &Self::of(store));
        }
        assert_eq!(Self::of(store), *self);
        Ok(())
    }
}

#[test]
fn random_changes_and_restarts_leave_what_the_model_says() {
    for seed in 0..30 {
        println!("seed {seed}");
        let random = SeededRandom::new(seed);
        let disk = SimulatedDisk::new();
        let mut model = Model::default();
        for life in 0..5 {
            let store = try_open(&disk, seed * 100 + life, 2000).unwrap();
            assert_eq!(Model::of(&store), model);
            for _ in 0..below(&random, 30) {
                model.step(&store, &Change::random(&random)).unwrap();
            }
            if below(&random, 2) == 0 {
                store.close().unwrap();
            }
        }
    }
}

#[test]
fn a_power_cut_loses_no_acknowledged_change() {
    for seed in 0..200 {
        println!("seed {seed}");
        let random = SeededRandom::new(seed);
        let mut disk = SimulatedDisk::new();
        let mut model = Model::default();
        for life in 0..4 {
            let store = try_open(&disk, seed * 100 + life, 1500).unwrap();
            assert_eq!(Model::of(&store), model, "life {life}");
            for _ in 0..below(&random, 12) {
                model.step(&store, &Change::random(&random)).unwrap();
            }
            if below(&random, 3) == 0 {
                store.settle().unwrap();
            }
            disk = disk.crashed(random.next_u64());
        }
    }
}

/// The disk breaks in the middle of a start or of a change, then the power goes.
#[test]
fn a_failing_disk_ends_the_store_and_tears_no_change() {
    for seed in 0..300 {
        println!("seed {seed}");
        let random = SeededRandom::new(seed);
        let disk = SimulatedDisk::new();
        disk.fail_after(below(&random, 60));
        let mut model = Model::default();
        let mut in_flight = None;
        if let Ok(store) = try_open(&disk, seed, 1500) {
            let mut changes = (0..100).map(|_| Change::random(&random));
            in_flight = changes.find(|change| model.step(&store, change).is_err());
            assert!(in_flight.is_some(), "the disk failed");
            assert_eq!(Model::of(&store), model, "a change that failed is not shown");
            let again = store.allocate_producer_ids();
            assert!(matches!(again, Err(MetadataError::Journal(_))));
        }
        let left = disk.crashed(random.next_u64());
        let found = Model::of(&try_open(&left, seed + 1, 1500).unwrap());
        let completed = in_flight.filter(|change| change.is_possible(&model));
        let completed = completed.map(|change| model.after(&change, &found));
        assert!(found == model || Some(&found) == completed.as_ref(), "{found:?} after {model:?}");
    }
}

#[test]
fn partitions_are_added_only_to_as_many_as_the_caller_believes() {
    let disk = SimulatedDisk::new();
    let store = try_open(&disk, 1, u64::MAX).unwrap();
    let topic = NewTopic {
        name: TopicName::new("t").unwrap(),
        partitions: vec![vec![NODE]; 3],
        configs: Vec::new(),
    };
    let id = store.create_topics(vec![topic]).remove(0).unwrap();
    let stale = store.create_partitions(id, PartitionIndex::new(2), vec![vec![NODE]]);
    assert!(matches!(stale, Err(MetadataError::PartitionCountChanged(3))));
    assert_eq!(store.image().partition_count, 3);
}

#[test]
fn changes_of_many_threads_are_all_made_and_each_listener_sees_them_in_order() {
    let disk = SimulatedDisk::new();
    let store = Arc::new(try_open(&disk, 1, u64::MAX).unwrap());
    let seen = Arc::new(Mutex::new(vec![store.image().end_offset]));
    store.subscribe({
        let seen = Arc::clone(&seen);
        Box::new(move |old, new| {
            let mut seen = seen.lock().unwrap();
            assert_eq!(seen.last(), Some(&old.end_offset));
            seen.push(new.end_offset);
        })
    });
    let barrier = Arc::new(Barrier::new(8));
    let threads: Vec<_> = (0..8)
        .map(|thread| {
            let (store, barrier) = (Arc::clone(&store), Arc::clone(&barrier));
            std::thread::spawn(move || {
                barrier.wait();
                for i in 0..20 {
                    let name = TopicName::new(&format!("t-{thread}-{i}")).unwrap();
                    let topic = NewTopic {
                        name: name.clone(),
                        partitions: vec![vec![NODE]],
                        configs: vec![],
                    };
                    let id = store.create_topics(vec![topic]).remove(0).unwrap();
                    assert_eq!(store.image().topic(name.as_str()).map(|t| t.id), Some(id));
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(store.image().topics.len(), 160);
    assert!(seen.lock().unwrap().len() > 1);
    drop(store);
    assert_eq!(try_open(&disk, 2, u64::MAX).unwrap().image().topics.len(), 160);
}

#[test]
fn a_thousand_partitions_are_one_append() {
    let disk = SimulatedDisk::new();
    let store = try_open(&disk, 1, u64::MAX).unwrap();
    // One write and one sync, and not one more.
    disk.fail_after(2);
    let name = TopicName::new("wide").unwrap();
    let topic = NewTopic { name, partitions: vec![vec![NODE]; 1000], configs: vec![] };
    store.create_topics(vec![topic]).remove(0).unwrap();
    assert_eq!(store.image().partition_count, 1000);
}

#[test]
fn a_closed_store_takes_no_change() {
    let disk = SimulatedDisk::new();
    let store = try_open(&disk, 1, u64::MAX).unwrap();
    store.close().unwrap();
    assert!(matches!(store.allocate_producer_ids(), Err(MetadataError::Journal(_))));
}
