//! A broker without front ends, on a directory of its own.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use highwater::app::{StartError, Understanding};
use highwater::broker::configs::{
    AlterConfigs, ConfigOperation, KeyChange, ResourceChange, ResourceName, ResourceType,
};
use highwater::broker::topics::Mode;
use highwater::broker::{
    Acks, Broker, Fetch, FetchError, FetchPartition, Fetched, ListedOffset, Lookup, OffsetQuery,
    OffsetQuestion, OpenBroker, Produce, ProduceBatch, ProduceError, Produced, Step,
};
use highwater::config::BrokerSettings;
use highwater::env::{ByteBudget, Clock, Env, ManualClock, Shutdown, SystemClock};
use highwater::log::batch::HEADER_LEN;
use highwater::log::record::Records;
use highwater::log::{Appended, Isolation, scan};
use highwater::metadata::{ConfigChange, ConfigResource, NewTopic, TopicRef};
use highwater::observe::{Health, Metrics};
use highwater::storage::OpenDirectoryError;
use highwater::types::{BrokerId, LeaderEpoch, Offset, PartitionIndex, Timestamp, TopicName};

use super::batches;
use super::data_directories::DataDirectories;
use super::faulty_files::{Faults, FaultyFiles};
use super::logs::bytes_of;
use super::simulated_disk::SimulatedDisk;

pub const NODE: BrokerId = BrokerId::new(1);
/// Longer than any test; nothing waits for it.
pub const LONG: Duration = Duration::from_secs(600);

/// A log directory that broker after broker opens.
pub struct Node {
    /// Looked at strictly when the node goes.
    pub directories: DataDirectories,
    pub faults: Arc<Faults>,
    pub settings: BrokerSettings,
    pub clock: Arc<dyn Clock>,
    pub budget_bytes: usize,
}

/// One life of a broker.
pub struct Life {
    pub broker: Arc<Broker>,
    pub shutdown: Shutdown,
    faults: Arc<Faults>,
}

impl Node {
    pub fn new() -> Self {
        Self {
            directories: DataDirectories::one(),
            faults: Arc::default(),
            settings: BrokerSettings::default(),
            clock: Arc::new(SystemClock::default()),
            budget_bytes: 256 << 20,
        }
    }

    /// A node whose clock stands still until the test moves it.
    pub fn in_frozen_time() -> (Self, Arc<ManualClock>) {
        let clock = Arc::new(ManualClock::new(Timestamp::new(now())));
        (Self { clock: Arc::<ManualClock>::clone(&clock), ..Self::new() }, clock)
    }

    pub fn path(&self) -> &Path {
        self.directories.path()
    }

    /// One with so many log directories.
    pub fn with_directories(count: usize) -> Self {
        Self { directories: DataDirectories::several(count), ..Self::new() }
    }

    /// Its log directories in order.
    pub fn paths(&self) -> Vec<PathBuf> {
        self.directories.paths()
    }

    /// Starts a broker. Called inside a runtime; blocks it, which no test minds.
    pub fn start(&self) -> Life {
        self.try_start().expect("free directories")
    }

    /// As [`Node::start`], where a directory may be refused.
    pub fn try_start(&self) -> Result<Life, OpenDirectoryError> {
        self.begin().map_err(|error| match error {
            StartError::Directory(error) => error,
            error => panic!("usable metadata: {error}"),
        })
    }

    /// As [`Node::start`], where anything may be wrong.
    pub fn begin(&self) -> Result<Life, StartError> {
        let files = Arc::new(FaultyFiles(Arc::clone(&self.faults)));
        let env = Env { files, clock: Arc::clone(&self.clock), ..Env::system() };
        let settings = BrokerSettings {
            node_id: NODE,
            log_dirs: self.paths(),
            metadata_log_dir: self.directories.metadata().to_owned(),
            ..self.settings.clone()
        };
        let opened = Understanding::read(&env, settings).and_then(|it| it.claim(&env))?;
        let shutdown = Shutdown::default();
        let health = Arc::new(Health::default());
        let broker = Broker::open(OpenBroker {
            env,
            settings: Arc::new(opened.settings),
            metadata: Arc::new(opened.metadata),
            directories: opened.directories,
            failed_directories: opened.failed,
            budget: ByteBudget::new(self.budget_bytes),
            shutdown: shutdown.clone(),
            metrics: Arc::new(Metrics::default()),
            health,
        })
        .map_err(StartError::Directory)?;
        Ok(Life { broker, shutdown, faults: Arc::clone(&self.faults) })
    }

    /// A node on a disk that can be made to fail, at its side `clock`.
    pub fn on(disk: &SimulatedDisk, clock: &Arc<ManualClock>) -> Self {
        let faults = Arc::new(Faults::of(Arc::new(disk.clone())));
        Self { faults, clock: Arc::<ManualClock>::clone(clock), ..Self::new() }
    }

    /// A strict look at everything now, after a life in which each partition was opened and that ended with a clean stop.
    pub fn check(&self) {
        self.directories.check_on(self.faults.below());
    }

    /// Names in the log directory that begin with `prefix`.
    pub fn names(&self, prefix: &str) -> Vec<String> {
        let entries = self.faults.below().list(self.path()).unwrap().into_iter();
        let names = entries.map(|entry| entry.name).filter(|name| name.starts_with(prefix));
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }
}

impl Life {
    /// A clean stop.
    pub async fn stop(self) {
        let broker = Arc::clone(&self.broker);
        tokio::task::spawn_blocking(move || broker.close()).await.unwrap();
        self.end().await;
    }

    /// Ends without closing anything, as a killed process does. Waits until the directory is free again.
    pub async fn crash(self) {
        self.end().await;
    }

    async fn end(self) {
        self.shutdown.request();
        drop(self.broker);
        // Housekeeping and the sync thread let go once they have seen the request; the lock is the last to go.
        let mut locked = self.faults.locked.subscribe();
        locked.wait_for(|locked| *locked == 0).await.expect("the faults outlive the broker");
    }

    pub fn create(&self, name: &str, partitions: usize, configs: &[(&str, &str)]) {
        let topic = NewTopic {
            name: TopicName::new(name).unwrap(),
            partitions: vec![vec![NODE]; partitions],
            configs: configs.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect(),
        };
        for created in self.broker.metadata.create_topics(vec![topic]) {
            created.expect("created");
        }
    }

    /// Changes configs of a topic past the checks of requests.
    pub fn configure(&self, topic: &str, configs: &[(&str, &str)]) {
        let change = |(key, value): &(&str, &str)| ConfigChange {
            resource: ConfigResource::Topic(TopicName::new(topic).unwrap()),
            key: (*key).to_owned(),
            value: Some((*value).to_owned()),
        };
        let changes = configs.iter().map(change).collect();
        self.broker.metadata.change_configs(changes).expect("changed");
        self.broker.apply_image();
    }

    pub fn set_for_all_brokers(&self, key: &str, value: &str) {
        let set = ConfigOperation::Set(Some(value.to_owned()));
        let change = ResourceChange {
            resource: ResourceName { kind: ResourceType::Broker, name: String::new() },
            change: KeyChange::Incremental(vec![(key.to_owned(), set)]),
        };
        let request = AlterConfigs { resources: vec![change], mode: Mode::Apply };
        for outcome in self.broker.alter_configs(request) {
            outcome.result.expect("changed");
        }
    }

    /// Waits until the syncs that were asked for before have been done: one that is asked for now comes behind them. Wants the
    /// topic `probe`, whose durability is `fsync`.
    pub async fn synced_so_far(&self) {
        self.send("probe", 0, Acks::All, &super::batches::batch(&[(b"probe", now())], None))
            .await
            .expect("acknowledged");
    }

    /// The end of what is known to be on disk.
    pub fn synced_end(&self, topic: &str, partition: i32) -> Offset {
        match self.find(topic, partition) {
            Lookup::Open(partition) => partition.synced_end(),
            other => panic!("{topic}-{partition} is not open: {other:?}"),
        }
    }

    pub fn delete(&self, name: &str) {
        delete(&self.broker, name);
    }

    /// Deletes a topic in the middle of something else.
    pub fn deletion(&self, name: &str) -> impl FnOnce() + Send + use<> {
        let (broker, name) = (Arc::clone(&self.broker), name.to_owned());
        move || delete(&broker, &name)
    }

    pub fn is_offline(&self) -> bool {
        self.broker.partitions.directories().iter().any(|directory| directory.is_offline())
    }

    pub fn find(&self, topic: &str, partition: i32) -> Lookup {
        self.broker.find_by_name(topic, PartitionIndex::new(partition))
    }

    /// Begins to produce one batch.
    pub fn produce(
        &self,
        topic: &str,
        partition: i32,
        acks: Acks,
        records: &[u8],
    ) -> Step<Produced> {
        self.produce_within(topic, partition, acks, records, LONG)
    }

    pub fn produce_within(
        &self,
        topic: &str,
        partition: i32,
        acks: Acks,
        records: &[u8],
        timeout: Duration,
    ) -> Step<Produced> {
        let records = Bytes::copy_from_slice(records);
        let batches = vec![ProduceBatch::new(self.find(topic, partition), records)];
        let (zstd_allowed, transaction) = (true, None);
        self.broker.produce(Produce { acks, timeout, zstd_allowed, transaction, batches })
    }

    /// Produces one batch and waits for the answer.
    pub async fn send(
        &self,
        topic: &str,
        partition: i32,
        acks: Acks,
        records: &[u8],
    ) -> Result<Appended, ProduceError> {
        only(self.produce(topic, partition, acks, records).finish().await)
    }

    /// Sends one record with this value, acks=all.
    pub async fn send_value(&self, topic: &str, value: &str) -> Offset {
        let now = self.broker.env.clock.wall().get();
        let batch = batches::batch(&[(value.as_bytes(), now)], None);
        self.send(topic, 0, Acks::All, &batch).await.expect("acknowledged").base_offset
    }

    pub fn fetch_of(&self, topic: &str, partition: i32, offset: i64) -> FetchPartition {
        FetchPartition {
            partition: self.find(topic, partition),
            offset: Offset::new(offset),
            current_leader_epoch: LeaderEpoch::NONE,
            last_fetched_epoch: LeaderEpoch::NONE,
            bytes_max: 1 << 20,
        }
    }

    /// A fetch of one partition; with a wait if `bytes_min` is given.
    pub fn fetch(&self, asked: FetchPartition, bytes_min: Option<usize>) -> Step<Answers> {
        self.fetch_as(Isolation::ReadUncommitted, asked, bytes_min)
    }

    pub fn fetch_as(
        &self,
        isolation: Isolation,
        asked: FetchPartition,
        bytes_min: Option<usize>,
    ) -> Step<Answers> {
        self.broker.fetch(Fetch {
            wait: if bytes_min.is_some() { LONG } else { Duration::ZERO },
            bytes_min: bytes_min.unwrap_or(0),
            bytes_max: 50 << 20,
            isolation,
            partitions: vec![asked],
        })
    }

    /// What can be read of a partition from `offset` on, at once.
    pub async fn read(
        &self,
        topic: &str,
        partition: i32,
        offset: i64,
    ) -> Result<Fetched, FetchError> {
        only(self.fetch(self.fetch_of(topic, partition, offset), None).finish().await)
    }

    /// All values of a partition from `offset` on.
    pub async fn values(&self, topic: &str, partition: i32, offset: i64) -> Vec<(i64, String)> {
        let mut values = Vec::new();
        let mut from = offset;
        loop {
            let fetched = self.read(topic, partition, from).await.expect("readable");
            if fetched.records.len == 0 {
                return values;
            }
            let bytes = bytes_of(&fetched.records);
            // The last batch may have been cut, or emptied by the cleaner.
            let whole = scan::scan(&bytes).last().expect("a whole batch").1;
            from = whole.last_offset().get() + 1;
            values.extend(values_in(&bytes).into_iter().filter(|(at, _)| *at >= offset));
        }
    }

    pub fn list(
        &self,
        topic: &str,
        query: OffsetQuery,
    ) -> Step<Vec<Result<ListedOffset, FetchError>>> {
        self.list_as(Isolation::ReadUncommitted, topic, query)
    }

    pub fn list_as(
        &self,
        isolation: Isolation,
        topic: &str,
        query: OffsetQuery,
    ) -> Step<Vec<Result<ListedOffset, FetchError>>> {
        let question = OffsetQuestion {
            partition: self.find(topic, 0),
            current_leader_epoch: LeaderEpoch::NONE,
            query,
        };
        self.broker.list_offsets(vec![question], isolation)
    }
}

type Answers = Vec<Result<Fetched, FetchError>>;

pub fn only<T>(mut answers: Vec<T>) -> T {
    assert_eq!(answers.len(), 1);
    answers.remove(0)
}

/// Offsets and values of the uncompressed records in whole batches.
pub fn values_in(bytes: &[u8]) -> Vec<(i64, String)> {
    let mut values = Vec::new();
    for (_, stored) in scan::scan(bytes) {
        let header = stored.header().expect("magic 2");
        let records = Records::new(&stored.bytes()[HEADER_LEN..], header.records_count);
        for record in records {
            let record = record.expect("a whole record");
            let value = String::from_utf8(record.value.unwrap_or_default().to_vec()).unwrap();
            values.push((record.offset(&header).get(), value));
        }
    }
    values
}

pub fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    i64::try_from(since.as_millis()).unwrap()
}

fn delete(broker: &Broker, name: &str) {
    let topic = TopicRef::Name(TopicName::new(name).unwrap());
    for deleted in broker.metadata.delete_topics(vec![topic]) {
        deleted.expect("deleted");
    }
    broker.apply_image();
}
