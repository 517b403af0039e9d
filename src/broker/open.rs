//! Start and stop of the broker's data.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use tokio::sync::Semaphore;

use super::agenda::Agenda;
use super::answer_memory::AnswerMemory;
use super::cleaning::{Cleaner, CleaningTools};
use super::configs::BrokerConfigs;
use super::coordinator_shards::CoordinatorParts;
use super::fetch_sessions::FetchSessions;
use super::found_partitions::{FoundPartitions, start_directories};
use super::groups;
use super::in_force::SettingsInForce;
use super::moves::{Move, MoveTools, Moves};
use super::partition::Partition;
use super::producer_ids::ProducerIds;
use super::recovering::Recovering;
use super::registry::{FailedDirectory, NewRegistry, PartitionRegistry};
use super::transactions;
use super::{ADMIN_TURNS, Broker};
use crate::config::{BrokerSettings, Layers};
use crate::coordinator::groups::{GroupSettings, Groups};
use crate::coordinator::runtime::{Coordinator, StateMemory};
use crate::coordinator::transactions::{TransactionSettings, Transactions};
use crate::env::{self, ByteBudget, Env, Shutdown};
use crate::log::{LogStartCheckpoint, TailPool};
use crate::metadata::MetadataStore;
use crate::observe::{Health, Metrics};
use crate::storage::{CleanShutdown, LogDirectory, OpenDirectoryError};

/// Logs that are closed at the same time.
const CLOSING_THREADS_MAX: usize = 8;

/// What a broker is made of.
#[derive(Debug)]
pub struct OpenBroker {
    /// Clock, random numbers, files.
    pub env: Env,
    /// The settings in force.
    pub settings: Arc<BrokerSettings>,
    /// The open metadata store.
    pub metadata: Arc<MetadataStore>,
    /// The log directories, locked and open, in the order of `log.dirs`.
    pub directories: Vec<LogDirectory>,
    /// Those that could not be used: their partitions are offline.
    pub failed_directories: Vec<FailedDirectory>,
    /// The one budget of bytes.
    pub budget: Arc<ByteBudget>,
    /// Counters and gauges of everything.
    pub metrics: Arc<Metrics>,
    /// For probes.
    pub health: Arc<Health>,
    /// Requested by the broker itself when no log directory is left.
    pub shutdown: Shutdown,
}

impl Broker {
    /// Finds what lies in the log directories and starts the background work. Logs are opened on first use; after an
    /// unclean stop they are recovered in the background as well. Blocks; called inside the async runtime.
    pub fn open(mut args: OpenBroker) -> Result<Arc<Self>, OpenDirectoryError> {
        let agenda = Agenda::new(
            Arc::clone(&args.env.clock),
            args.settings.log_flush_offset_checkpoint_interval_ms,
        );
        let image = args.metadata.image();
        let FoundPartitions { placement, moves: found_moves } =
            start_directories(&mut args, &image, &agenda)?;
        let in_force = Arc::new(SettingsInForce::new(Arc::clone(&args.settings), &image));
        let partitions = PartitionRegistry::new(NewRegistry {
            metadata: Arc::clone(&args.metadata),
            placement,
            agenda: Arc::clone(&agenda),
            tail_pool: TailPool::new(Arc::clone(&args.budget)),
            settings: Arc::clone(&args.settings),
            in_force: Arc::clone(&in_force),
            budget: Arc::clone(&args.budget),
        });
        let coordinator_memory = StateMemory::new(Arc::clone(&args.budget));
        let producer_ids = ProducerIds::new(Arc::clone(&args.metadata));
        let tools =
            CleaningTools::new(&args.env, &partitions, &agenda, &args.budget, &args.metrics);
        let cleaner = start_cleaner(tools, &args.settings)?;
        let moves = start_moves(&args, &partitions, &agenda);
        let sessions = args.settings.max_incremental_fetch_session_cache_slots;
        let broker = Arc::new_cyclic(|broker| {
            let parts = CoordinatorParts {
                env: args.env.clone(),
                metadata: Arc::clone(&args.metadata),
                partitions: Arc::clone(&partitions),
                metrics: Arc::clone(&args.metrics),
                memory: Arc::clone(&coordinator_memory),
                broker: Weak::clone(broker),
            };
            let configs = BrokerConfigs::at(&args.settings, &image);
            let transactional = Arc::new(TransactionSettings::of(configs.layers()));
            let transaction_settings = Arc::clone(&transactional);
            let ids = Arc::clone(&producer_ids);
            Self {
                fetch_sessions: FetchSessions::new(sessions),
                groups: start_groups(parts.clone(), &args.settings),
                transactions: transactions::start(parts, transactional, ids),
                transaction_settings,
                errands: transactions::Errands::default(),
                producer_ids,
                stalls: super::stalls::Stalls::default(),
                answer_memory: AnswerMemory::new(Arc::clone(&args.budget)),
                coordinator_memory,
                cleaner,
                moves,
                env: args.env,
                settings: args.settings,
                in_force,
                metadata: args.metadata,
                budget: args.budget,
                metrics: args.metrics,
                health: args.health,
                shutdown: args.shutdown,
                partitions,
                agenda,
                last_expiry: AtomicU64::new(0),
                changes: Mutex::new(()),
                admin_turns: Arc::new(Semaphore::new(ADMIN_TURNS)),
                housekeeping: Mutex::new(None),
            }
        });
        broker.start_background();
        broker.resume_moves(found_moves);
        Ok(broker)
    }

    fn start_background(self: &Arc<Self>) {
        *self.housekeeping.lock() = Some(self.start_housekeeping());
        self.start_recovery();
        self.load_shards_of::<Groups>();
        self.load_shards_of::<Transactions>();
    }

    /// Ends the background work, syncs and closes every log, writes the checkpoints, closes the metadata store and marks the
    /// stop as clean where everything is. The front ends have stopped before. Blocks.
    pub fn close(&self) {
        self.shutdown.request();
        // Housekeeping holds no state of its own: aborted between two jobs, it leaves nothing half done.
        if let Some(task) = self.housekeeping.lock().take() {
            task.abort();
        }
        self.groups.close();
        self.transactions.close();
        self.cleaner.close();
        self.moves.close();
        let partitions = self.partitions.open_partitions();
        for partition in &partitions {
            partition.retire();
            // In one group, before the logs are closed one by one.
            partition.queue_sync();
            // Closing moves the recovery point.
            partition.directory().mark_changed();
        }
        for directory in self.partitions.directories() {
            directory.sync_queues().close();
        }
        let closed = close_logs(partitions);
        for directory in self.partitions.directories() {
            self.checkpoint(directory);
        }
        self.mark_clean(closed);
    }

    fn resume_moves(&self, found: Vec<Arc<Move>>) {
        for job in found {
            let name = job.name().clone();
            tracing::info!(partition = %name, to = %job.to().path().display(), "a move goes on");
            if let Err(error) = self.moves.begin(job) {
                tracing::error!(partition = %name, %error, "a move does not go on before the next start");
            }
        }
    }

    fn mark_clean(&self, closed: AllClosed) {
        let broker_epoch = Some(self.metadata.broker_epoch());
        let metadata_closed = self.metadata.close();
        if let Err(error) = &metadata_closed {
            tracing::error!(%error, "the metadata log could not be closed");
        }
        for directory in self.partitions.directories() {
            // What was not opened after an unclean stop was not recovered either, so the next start must look again.
            let recovered =
                !directory.needs_recovery() || self.partitions.unopened(directory).is_empty();
            let clean = metadata_closed.is_ok() && recovered && closed == AllClosed::Yes;
            directory.close(clean.then_some(CleanShutdown { broker_epoch }));
        }
    }

    /// Opens every partition of the directories that were not stopped cleanly, which recovers it, and of those that have lost what
    /// says where logs start.
    fn start_recovery(self: &Arc<Self>) {
        for directory in self.partitions.directories() {
            let knows_starts = directory.log_start_checkpoint() == LogStartCheckpoint::Read;
            if !directory.needs_recovery() && knows_starts {
                continue;
            }
            let threads = self.settings.num_recovery_threads_per_data_dir.max(1);
            Recovering::start(self, directory, threads);
        }
    }
}

fn start_groups(parts: CoordinatorParts, settings: &BrokerSettings) -> Arc<Coordinator<Groups>> {
    let metadata = Arc::clone(&parts.metadata);
    let layers = Layers::of_statics(&settings.statics);
    let groups = groups::start(parts, Arc::new(GroupSettings::of(settings.node_id, layers)));
    tell_of_changes(&metadata, &groups);
    groups
}

/// Groups hear of topics and configs that change.
fn tell_of_changes(metadata: &MetadataStore, groups: &Arc<Coordinator<Groups>>) {
    let groups = Arc::downgrade(groups);
    metadata.subscribe(Box::new(move |before, after| {
        let same = Arc::ptr_eq(&before.topics, &after.topics)
            && Arc::ptr_eq(&before.configs, &after.configs);
        if !same && let Some(groups) = groups.upgrade() {
            groups.image_changed();
        }
    }));
}

fn start_moves(
    args: &OpenBroker,
    partitions: &Arc<PartitionRegistry>,
    agenda: &Arc<Agenda>,
) -> Arc<Moves> {
    let tools = MoveTools {
        env: args.env.clone(),
        registry: Arc::clone(partitions),
        metadata: Arc::clone(&args.metadata),
        agenda: Arc::clone(agenda),
        metrics: Arc::clone(&args.metrics),
        shutdown: args.shutdown.clone(),
    };
    Moves::new(tools, partitions.directories().len())
}

fn start_cleaner(
    tools: CleaningTools,
    settings: &BrokerSettings,
) -> Result<Cleaner, OpenDirectoryError> {
    Cleaner::start(tools).map_err(|source| {
        let path = settings.metadata_log_dir.clone();
        OpenDirectoryError::Io { path, source }
    })
}

/// Whether every log was closed or its directory taken offline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AllClosed {
    Yes,
    No,
}

/// Closes logs, several at a time: each waits for a few small syncs.
fn close_logs(partitions: Vec<Arc<Partition>>) -> AllClosed {
    let threads = partitions.len().min(CLOSING_THREADS_MAX);
    let left = Arc::new(Mutex::new(partitions));
    let closing: Vec<_> = (1..threads)
        .filter_map(|_| {
            let left = Arc::clone(&left);
            // Without a thread the others do its part.
            env::spawn_thread("close", move || close_each(&left)).ok()
        })
        .collect();
    close_each(&left);
    let mut all = AllClosed::Yes;
    for thread in closing {
        if thread.join().is_err() {
            tracing::error!("closing a log panicked, the next start recovers");
            all = AllClosed::No;
        }
    }
    all
}

fn close_each(left: &Mutex<Vec<Arc<Partition>>>) {
    // The guard is gone before the work begins: others take theirs meanwhile.
    while let Some(partition) = { left.lock().pop() } {
        if partition.directory().is_offline() {
            continue;
        }
        if let Err(error) = partition.lock().log.close() {
            // The stop is not marked as clean then.
            partition.directory().fail(&format!("closing {} failed: {error}", partition.name()));
        }
    }
}
