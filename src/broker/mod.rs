//! Use cases shared by all front ends: partitions, produce, fetch, offsets, topics, configs, housekeeping.
//!
//! A use case takes looked-up partitions ([`Broker::find_by_name`], [`Broker::find_by_id`]) and returns a [`Step`]: done, or to
//! be awaited. Nothing here waits for the disk on an async thread: logs are opened and files read on the blocking pool, syncs
//! run on one thread for each log directory.

mod agenda;
mod answer_memory;
mod checkpoints;
mod cleaning;
pub mod cluster;
pub mod configs;
mod coordinator_log;
mod coordinator_shards;
mod data_directory;
mod delete_records;
mod fetch;
pub mod fetch_sessions;
mod found_copies;
mod found_partitions;
mod group_lag;
mod groups;
mod housekeeping;
mod in_force;
mod moves;
mod offsets;
mod open;
mod partition;
mod produce;
mod producer_ids;
mod recovering;
mod recovery_progress;
mod registry;
mod room;
mod stalls;
mod step;
mod sync;
mod sync_wait;
mod tally;
mod topic_partitions;
pub mod topics;
mod transactions;
mod usage;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use parking_lot::Mutex;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use self::agenda::Agenda;
pub use self::answer_memory::{AnswerMemory, AnswerPermit};
use self::cleaning::Cleaner;
pub use self::coordinator_shards::CoordinatorError;
pub use self::delete_records::{DeleteRecords, DeleteRecordsError, DeletedRecords};
pub use self::fetch::{EpochEnd, Fetch, FetchError, FetchPartition, Fetched, FetchedPartitions};
use self::fetch_sessions::FetchSessions;
pub use self::group_lag::{GroupLag, GroupLags, PartitionLag};
pub use self::groups::{CONSUMER_OFFSETS, GROUP_VERSION};
pub use self::in_force::SettingsInForce;
pub use self::moves::{Move, MoveRequestError, Moves};
pub use self::offsets::{ListedOffset, ListedOffsets, OffsetQuery, OffsetQuestion};
pub use self::open::OpenBroker;
pub use self::partition::{Ends, Partition, PartitionAppendError};
pub use self::produce::{Acks, Produce, ProduceBatch, ProduceError, ProduceTransaction, Produced};
use self::producer_ids::ProducerIds;
pub use self::registry::{
    ClosedPartition, FailedDirectory, Lookup, OpenPartitionError, PartitionRegistry,
};
use self::stalls::Stalls;
pub use self::step::{BoxFuture, Step, off_thread};
use self::transactions::Errands;
pub use self::transactions::{
    DescribeProducersError, MarkError, OpenTransactions, TRANSACTION_STATE, TRANSACTION_VERSION,
    WriteMarker,
};
pub use self::usage::{DirectoryUsage, PartitionUsage};
use crate::config::BrokerSettings;
use crate::coordinator::groups::Groups;
use crate::coordinator::runtime::{Coordinator, StateMemory};
use crate::coordinator::transactions::{TransactionSettings, Transactions};
use crate::env::{ByteBudget, Env, Shutdown};
use crate::metadata::MetadataStore;
use crate::observe::{Health, Metrics};
use crate::types::{PartitionIndex, TopicId};

/// Admin requests that are worked on at a time: each may hold an answer of many megabytes, and changes wait for one lock anyway.
const ADMIN_TURNS: usize = 4;

/// The broker without any front end.
#[derive(Debug)]
pub struct Broker {
    /// Seams to the machine.
    pub env: Env,
    /// The settings it was started with.
    pub settings: Arc<BrokerSettings>,
    /// The same with what was changed since.
    pub in_force: Arc<SettingsInForce>,
    /// The cluster image and its changes.
    pub metadata: Arc<MetadataStore>,
    /// The one budget of bytes.
    pub budget: Arc<ByteBudget>,
    /// What long answers take of it.
    pub answer_memory: Arc<AnswerMemory>,
    /// What the state of coordinators takes of it.
    pub coordinator_memory: Arc<StateMemory>,
    /// Counters and gauges of everything.
    pub metrics: Arc<Metrics>,
    /// For probes.
    pub health: Arc<Health>,
    /// Held on blocking threads while a change of topics or configs is checked and written, so that what was checked is what
    /// is changed.
    pub changes: Mutex<()>,
    /// Turns of admin requests on the blocking pool; a request without one waits, and costs no thread meanwhile.
    pub admin_turns: Arc<Semaphore>,
    /// The partitions touched in this life.
    pub partitions: Arc<PartitionRegistry>,
    /// Incremental fetch sessions.
    pub fetch_sessions: FetchSessions,
    producer_ids: Arc<ProducerIds>,
    stalls: Stalls,
    groups: Arc<Coordinator<Groups>>,
    transactions: Arc<Coordinator<Transactions>>,
    transaction_settings: Arc<TransactionSettings>,
    errands: Errands,
    cleaner: Cleaner,
    /// Partitions on their way to another log directory.
    pub moves: Arc<Moves>,
    agenda: Arc<Agenda>,
    /// Number of the pass over idle producers that is planned.
    last_expiry: AtomicU64,
    shutdown: Shutdown,
    housekeeping: Mutex<Option<JoinHandle<()>>>,
}

impl Broker {
    /// Finds a partition by the name of its topic.
    pub fn find_by_name(&self, topic: &str, partition: PartitionIndex) -> Lookup {
        let image = self.metadata.image();
        image.topic(topic).map_or(Lookup::Unknown, |topic| self.partitions.find(topic, partition))
    }

    /// Finds a partition by the id of its topic.
    pub fn find_by_id(&self, topic: TopicId, partition: PartitionIndex) -> Lookup {
        let image = self.metadata.image();
        image
            .topic_by_id(topic)
            .map_or(Lookup::Unknown, |topic| self.partitions.find(topic, partition))
    }

    /// Brings settings and partitions in line with the newest image: called after topics were deleted and configs changed. New topics and
    /// partitions need no call. Blocks.
    pub fn apply_image(&self) {
        let expiry_interval_ms = self.expiry_interval_ms();
        self.in_force.apply(&self.metadata.image());
        if self.expiry_interval_ms() < expiry_interval_ms {
            self.plan_expiry();
        }
        self.partitions.apply_image();
        let threads = self.partitions.cleaner_settings().threads;
        if let Err(error) = self.cleaner.set_threads(threads) {
            tracing::error!(threads, %error, "a thread of the cleaner cannot be started");
        }
    }
}
