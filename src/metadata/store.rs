//! The store in its standalone form: Kafka's local metadata log.
//!
//! Changes are blocking calls from the blocking pool. Each queues what it wants and then takes the writer's lock; whoever
//! gets it first writes everything that is queued with one append and one sync, and the others find their change done.
//! Readers take the newest image and never wait.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwap;
use parking_lot::{Mutex, RwLock};

use super::changes::{LocalBroker, Planner};
use super::directory_choice::LogDirectories;
use super::image::{ConfigResource, Image};
use super::journal::{AppendError, BatchWriter, Journal};
use super::lifecycle::Node;
use super::opening::{self, FoundMetadata, OpenMetadataError, Understood};
use super::records::{Endpoint, MetadataRecord, transactions_supported};
use super::serving::Serving;
use crate::env::{EntryKind, Env, is_no_room};
use crate::storage::{DirectoryName, LogDirectory};
use crate::types::{
    BrokerId, DirectoryId, PartitionIndex, ProducerId, TopicId, TopicName, TopicPartition,
};

/// What opening the store needs.
#[derive(Clone, Debug)]
pub struct OpenMetadata {
    /// Clock, random numbers, files.
    pub env: Env,
    /// The directory that holds `__cluster_metadata-0`; formatted if empty.
    pub directory: PathBuf,
    /// This node.
    pub node_id: BrokerId,
    /// From `meta.properties` (made by the caller when the directory is new).
    pub cluster_id: String,
    /// `directory.id` from `meta.properties`.
    pub directory_id: DirectoryId,
    /// It is one of `log.dirs`, so partitions may lie in it too.
    pub holds_partitions: bool,
    /// `directory.id` of the other log directories that work, in the order of `log.dirs`.
    pub other_directories: Vec<DirectoryId>,
    /// Goes into this node's registration.
    pub rack: Option<String>,
    /// Advertised addresses, for this node's registration.
    pub endpoints: Vec<Endpoint>,
    /// Bytes of records after which a snapshot is written (`metadata.log.max.record.bytes.between.snapshots`).
    pub snapshot_after_bytes: u64,
}

impl OpenMetadata {
    /// Kafka's default of `metadata.log.max.record.bytes.between.snapshots`.
    pub const SNAPSHOT_AFTER_BYTES: u64 = 20 * 1024 * 1024;

    /// For the log directory of one node, without rack and addresses.
    pub fn new(env: Env, directory: &LogDirectory, node_id: BrokerId) -> Self {
        Self {
            env,
            directory: directory.path().to_owned(),
            node_id,
            cluster_id: directory.cluster_id().to_owned(),
            directory_id: directory.directory_id(),
            holds_partitions: true,
            other_directories: Vec::new(),
            rack: None,
            endpoints: Vec::new(),
            snapshot_after_bytes: Self::SNAPSHOT_AFTER_BYTES,
        }
    }

    /// All that partitions may lie in.
    pub(super) fn log_directories(&self) -> Vec<DirectoryId> {
        let own = self.holds_partitions.then_some(self.directory_id);
        own.into_iter().chain(self.other_directories.iter().copied()).collect()
    }

    fn to_found(&self) -> Result<FoundMetadata, OpenMetadataError> {
        let listed = self.env.files.list(&self.directory).map_err(|e| {
            OpenMetadataError::Unusable(format!("{} cannot be read: {e}", self.directory.display()))
        })?;
        let directories = listed.iter().filter(|entry| entry.kind == EntryKind::Directory);
        let mut partitions =
            directories.filter_map(|entry| DirectoryName::parse(&entry.name).partition());
        Ok(FoundMetadata {
            directory: self.directory.clone(),
            cluster_id: Some(self.cluster_id.clone()),
            serving: Serving {
                node_id: self.node_id,
                metadata_directory: Some(self.directory_id),
                log_directories: vec![Some(self.directory_id)],
            },
            partition: partitions.next(),
        })
    }
}

/// The log directory of this node's replica of a partition (a wish of Kafka's `AssignReplicasToDirs`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryAssignment {
    /// Topic.
    pub topic: TopicId,
    /// Partition.
    pub partition: PartitionIndex,
    /// Where its log lies from now on.
    pub directory: DirectoryId,
}

/// A topic to be created; already validated by the caller but for existence.
#[derive(Clone, Debug)]
pub struct NewTopic {
    /// Name.
    pub name: TopicName,
    /// Replicas of each partition.
    pub partitions: Vec<Vec<BrokerId>>,
    /// Overrides, validated.
    pub configs: Vec<(String, String)>,
}

/// A topic by name or id.
#[derive(Clone, Debug)]
pub enum TopicRef {
    /// By name.
    Name(TopicName),
    /// By id.
    Id(TopicId),
}

/// Sets (or with `None` deletes) one config of a resource.
#[derive(Clone, Debug)]
pub struct ConfigChange {
    /// Whose.
    pub resource: ConfigResource,
    /// Key.
    pub key: String,
    /// New value.
    pub value: Option<String>,
}

/// Producer ids that this node may hand out: `first..first + count`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProducerIdBlock {
    /// First of the block.
    pub first: ProducerId,
    /// 1000 as in Kafka.
    pub count: i64,
}

/// Why a change could not be made.
#[derive(Debug, thiserror::Error)]
pub enum MetadataError {
    /// There is a topic of that name.
    #[error("topic '{0}' already exists")]
    TopicExists(TopicName),
    /// There is no such topic.
    #[error("there is no such topic")]
    UnknownTopic,
    /// The topic has not as many partitions as the caller believed.
    #[error("the topic has {0} partitions by now")]
    PartitionCountChanged(usize),
    /// The journal could not be written: for now if there was no room, else for good.
    #[error("the metadata log cannot be written: {0}")]
    Journal(Arc<io::Error>),
    /// All producer ids were handed out.
    #[error("the metadata log has no producer ids left")]
    NoProducerIds,
}

/// Sees each change; see [`MetadataStore::subscribe`].
pub type ImageListener = Box<dyn Fn(&Arc<Image>, &Arc<Image>) + Send + Sync>;

/// Owner of the metadata log. Methods that change something block until it is durable and the image shows it.
pub struct MetadataStore {
    env: Env,
    node: Node,
    directory: PathBuf,
    local: LocalBroker,
    /// The log directories that new partitions may go to; those that fail are taken out.
    directories: Mutex<LogDirectories>,
    /// Locked as long as the store lives, where nobody else holds the directory.
    held: Option<LogDirectory>,
    snapshot_after_bytes: u64,
    image: ArcSwap<Image>,
    queue: Mutex<Vec<Queued>>,
    writer: Mutex<Writer>,
    listeners: RwLock<Vec<ImageListener>>,
}

/// What appends, and whether it still may.
struct Writer {
    journal: Journal,
    end: Option<Arc<io::Error>>,
    /// A snapshot is due once the journal has grown to this.
    next_snapshot_bytes: u64,
}

/// Checks a change and makes its records.
type Plan = Box<dyn FnOnce(&mut Planner) + Send>;

/// A change that waits to be written.
struct Queued {
    plan: Plan,
    done: Arc<Done>,
}

/// Set once a change is durable and published, or can never be.
type Done = OnceLock<Result<(), Arc<io::Error>>>;

impl MetadataStore {
    /// Reads the metadata log of a node with one log directory and goes on with it: see [`MetadataStore::lead`].
    pub fn open(args: OpenMetadata) -> Result<Self, OpenMetadataError> {
        let files = args.env.files.as_ref();
        let understood = Understood::read(files, &args.to_found()?)?;
        Self::lead(args, understood)
    }

    /// Goes on with a metadata log that was understood: formats it if it is new, registers this node in a new epoch and makes
    /// it leader of what it may lead. Blocks.
    pub fn lead(args: OpenMetadata, understood: Understood) -> Result<Self, OpenMetadataError> {
        let opened = opening::open(&args, understood)?;
        Ok(Self {
            directory: args.directory,
            local: LocalBroker { id: args.node_id, epoch: opened.broker_epoch },
            directories: Mutex::new(LogDirectories::new(opened.node.log_directories.clone())),
            held: None,
            node: opened.node,
            env: args.env,
            snapshot_after_bytes: args.snapshot_after_bytes,
            image: ArcSwap::from_pointee(opened.image),
            queue: Mutex::new(Vec::new()),
            writer: Mutex::new(Writer {
                journal: opened.journal,
                end: None,
                next_snapshot_bytes: args.snapshot_after_bytes,
            }),
            listeners: RwLock::new(Vec::new()),
        })
    }

    /// The newest image. Wait-free.
    pub fn image(&self) -> Arc<Image> {
        self.image.load_full()
    }

    /// Calls `listener` with the image before and after each change, on the changing thread, once the change is durable
    /// and published and before its caller returns. A listener must not change the store.
    pub fn subscribe(&self, listener: ImageListener) {
        self.listeners.write().push(listener);
    }

    /// Creates topics in one journal append; one result per topic, in order. Blocks.
    pub fn create_topics(&self, topics: Vec<NewTopic>) -> Vec<Result<TopicId, MetadataError>> {
        let count = topics.len();
        let plan = move |planner: &mut Planner| {
            topics.into_iter().map(|topic| planner.create_topic(topic)).collect()
        };
        self.change(plan).unwrap_or_else(|e| fail_all(count, &e))
    }

    /// Deletes topics in one journal append. Blocks.
    pub fn delete_topics(&self, topics: Vec<TopicRef>) -> Vec<Result<TopicId, MetadataError>> {
        let count = topics.len();
        let plan = move |planner: &mut Planner| {
            topics.iter().map(|topic| planner.delete_topic(topic)).collect()
        };
        self.change(plan).unwrap_or_else(|e| fail_all(count, &e))
    }

    /// Adds partitions to a topic: `added[i]` are the replicas of the partition with index (present count + i). Blocks.
    pub fn create_partitions(
        &self,
        topic: TopicId,
        present: PartitionIndex,
        added: Vec<Vec<BrokerId>>,
    ) -> Result<(), MetadataError> {
        let plan = move |planner: &mut Planner| planner.create_partitions(topic, present, added);
        self.change(plan).map_err(MetadataError::Journal)?
    }

    /// Changes configs in one journal append. Blocks.
    pub fn change_configs(&self, changes: Vec<ConfigChange>) -> Result<(), MetadataError> {
        let plan = move |planner: &mut Planner| planner.change_configs(changes);
        self.change(plan).map_err(MetadataError::Journal)?
    }

    /// Says where logs lie: what a move between directories commits to. Partitions that are not there any more are left out.
    /// Blocks.
    pub fn assign_directories(
        &self,
        assignments: Vec<DirectoryAssignment>,
    ) -> Result<(), MetadataError> {
        let plan = move |planner: &mut Planner| planner.assign_directories(&assignments);
        self.change(plan).map_err(MetadataError::Journal)
    }

    /// The log directory that holds the metadata log.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// New partitions go to other log directories.
    pub fn directory_failed(&self, directory: DirectoryId) {
        self.directories.lock().remove(directory);
    }

    /// If the partition is ever created, its log goes there (Kafka's `LogManager.maybeUpdatePreferredLogDir`).
    pub fn prefer_directory(&self, partition: &TopicPartition, directory: DirectoryId) {
        self.directories.lock().prefer(partition, directory);
    }

    /// Keeps the directory locked that holds the metadata and nothing else.
    pub fn hold(&mut self, directory: LogDirectory) {
        self.held = Some(directory);
    }

    /// Takes a block of producer ids. Blocks.
    pub fn allocate_producer_ids(&self) -> Result<ProducerIdBlock, MetadataError> {
        self.change(Planner::allocate_producer_ids).map_err(MetadataError::Journal)?
    }

    /// Epoch of this node's registration, for `.kafka_cleanshutdown`.
    pub fn broker_epoch(&self) -> i64 {
        self.local.epoch
    }

    /// Writes the files beside the log that only Kafka asks for (`quorum-state`, `partition.metadata`, epochs, bootstrap
    /// checkpoint), and a snapshot if the log has grown that far or Kafka would misread it. Best called once the broker answers:
    /// nothing but a later Kafka needs them. Blocks.
    pub fn settle(&self) -> Result<(), MetadataError> {
        let mut writer = self.writer.lock();
        if writer.end.is_none() {
            // Starts and stops make the log grow too.
            self.snapshot_if_due(&mut writer, &self.image());
        }
        self.settle_with(&writer)
    }

    /// Writes what a clean stop writes and closes the log. Changes after it fail. Blocks.
    pub fn close(&self) -> Result<(), MetadataError> {
        let mut writer = self.writer.lock();
        if let Some(end) = &writer.end {
            return Err(MetadataError::Journal(Arc::clone(end)));
        }
        let image = self.image();
        let now = self.env.clock.wall();
        let mut batches = writer.journal.writer(now);
        put(
            &mut batches,
            self.node.give_up_lead(&image, self.local.epoch),
            image.metadata_version(),
        );
        let written = writer.journal.append(&batches, now).map_err(|e| Arc::new(e.into()));
        let closed = io::Error::other("the metadata log is closed");
        writer.end = Some(written.as_ref().err().cloned().unwrap_or(Arc::new(closed)));
        written.map_err(MetadataError::Journal)?;
        writer.journal.release().map_err(|e| MetadataError::Journal(Arc::new(e)))?;
        self.settle_with(&writer)
    }

    fn settle_with(&self, writer: &Writer) -> Result<(), MetadataError> {
        let image = self.image();
        let journal = &writer.journal;
        let settle = || {
            if image.quorum.kraft_version > 0 && journal.begins_at_zero() {
                journal.put_bootstrap_checkpoint(&image, self.env.clock.wall())?;
            }
            journal.settle(&image, self.local.id)
        };
        settle().map_err(|e| MetadataError::Journal(Arc::new(e)))
    }

    /// Queues `plan` and returns its result once it is durable and published.
    fn change<T: Send + 'static>(
        &self,
        plan: impl FnOnce(&mut Planner) -> T + Send + 'static,
    ) -> Result<T, Arc<io::Error>> {
        let done = Arc::new(Done::new());
        let result = Arc::new(Mutex::new(None));
        let planned = Arc::clone(&result);
        self.queue.lock().push(Queued {
            plan: Box::new(move |planner| *planned.lock() = Some(plan(planner))),
            done: Arc::clone(&done),
        });
        let mut writer = self.writer.lock();
        if done.get().is_none() {
            self.commit(&mut writer);
        }
        drop(writer);
        done.get().cloned().expect("whoever has the writer serves all that is queued")?;
        let result = result.lock().take();
        Ok(result.expect("a change that is done was planned"))
    }

    /// Writes everything that is queued.
    fn commit(&self, writer: &mut Writer) {
        let group = std::mem::take(&mut *self.queue.lock());
        let (plans, done): (Vec<_>, Vec<_>) = group.into_iter().map(|q| (q.plan, q.done)).unzip();
        let outcome = match &writer.end {
            Some(end) => Err(Arc::clone(end)),
            None => self.write(writer, plans).map_err(|error| refused(writer, error)),
        };
        for done in done {
            // Nobody else sets it.
            let _ = done.set(outcome.clone());
        }
    }

    fn write(&self, writer: &mut Writer, plans: Vec<Plan>) -> Result<(), AppendError> {
        let old = self.image();
        let now = self.env.clock.wall();
        let random = Arc::clone(&self.env.random);
        let directories = self.directories.lock().clone();
        let mut planner = Planner::new(old.as_ref().clone(), random, self.local, directories);
        let mut batches = writer.journal.writer(now);
        for plan in plans {
            plan(&mut planner);
            // A batch of its own, so that a torn write keeps or loses each change whole.
            put(&mut batches, planner.take_records(), old.metadata_version());
        }
        if batches.bytes().is_empty() {
            return Ok(());
        }
        writer.journal.append(&batches, now)?;
        let image = planner.into_builder().finish(batches.next_offset());
        let new = Arc::new(image.expect("changes are checked before their records are made"));
        self.image.store(Arc::clone(&new));
        self.directories.lock().fulfilled(&new);
        for listener in self.listeners.read().iter() {
            listener(&old, &new);
        }
        writer.journal.reserve();
        self.snapshot_if_due(writer, &new);
        Ok(())
    }

    /// The changes so far are durable whatever happens here.
    fn snapshot_if_due(&self, writer: &mut Writer, image: &Image) {
        let is_due = writer.journal.bytes_since_snapshot() >= writer.next_snapshot_bytes;
        if !is_due && !writer.journal.misleads_kafka() {
            return;
        }
        let written = writer.journal.write_snapshot(image, self.env.clock.wall());
        let begun = written.map(|()| writer.journal.begin_after_snapshot());
        match begun {
            Ok(Ok(())) => writer.next_snapshot_bytes = self.snapshot_after_bytes,
            // The log goes on without a new segment, whose name may not be on disk.
            Ok(Err(error)) if !is_no_room(&error) => writer.end = Some(failed(error)),
            Err(error) | Ok(Err(error)) => {
                tracing::warn!(%error, "no snapshot of the metadata log; trying again later");
                writer.next_snapshot_bytes =
                    writer.journal.bytes_since_snapshot() + self.snapshot_after_bytes;
            }
        }
    }
}

/// Adds one change to what will be written. More than fits into a batch takes effect as a metadata transaction.
pub(super) fn put(batches: &mut BatchWriter, records: Vec<MetadataRecord>, level: i16) {
    let encode = |record: MetadataRecord| record.at_level(level).encode();
    let mut values: Vec<Vec<u8>> = records.into_iter().map(encode).collect();
    if !BatchWriter::fits_one_batch(&values) && transactions_supported(level) {
        values.insert(0, encode(MetadataRecord::BeginTransaction { name: None }));
        values.push(encode(MetadataRecord::EndTransaction));
    }
    batches.data(&values);
}

/// What became of changes that could not be written, and of those to come.
fn refused(writer: &mut Writer, error: AppendError) -> Arc<io::Error> {
    match error {
        AppendError::NoRoom(error) => {
            tracing::error!(%error, "the metadata log has no room to grow: a change is refused");
            Arc::new(error)
        }
        AppendError::Failed(error) => {
            let end = failed(error);
            writer.end = Some(Arc::clone(&end));
            end
        }
    }
}

fn failed(error: io::Error) -> Arc<io::Error> {
    tracing::error!(%error, "the metadata log failed; no further change is possible");
    Arc::new(error)
}

fn fail_all(count: usize, error: &Arc<io::Error>) -> Vec<Result<TopicId, MetadataError>> {
    (0..count).map(|_| Err(MetadataError::Journal(Arc::clone(error)))).collect()
}

impl fmt::Debug for MetadataStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MetadataStore").field("local", &self.local).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
