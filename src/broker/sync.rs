//! The sync threads of one log directory: one for the partitions of clients, one for those of coordinators.
//!
//! Partitions with unsynced appends stand in a queue, each at most once. The thread takes all of them, syncs their files and
//! lets go of the replies and fetches that waited; what arrives meanwhile forms the next group. So the sync in flight is the
//! batching window: one record in flight costs one `fdatasync` and two wake-ups, a thousand cost the same.
//!
//! A failed sync is final: the kernel may have dropped the pages, so a second try could succeed without the data. The
//! directory goes offline and every waiter is let go to find that out.

mod group;

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

use parking_lot::{Condvar, Mutex};

use self::group::{SyncFailed, SyncPool};
use super::data_directory::DataDirectory;
use super::partition::{Partition, TakenSync};
use crate::env::{Env, is_of_a_name, spawn_thread};
use crate::observe::Metrics;
use crate::types::DirectoryId;

/// Whose appends a sync is for. Commits of many groups dirty dozens of files at once; producers must not wait for all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncLane {
    /// Topics of clients.
    Clients,
    /// Internal topics.
    Coordinators,
}

/// Syncs of one file system share journal commits when they run together, so clients get many at a time.
const CLIENTS_PARALLEL_MAX: usize = 16;
/// Coordinators get few, so that the commits that clients wait for come in between.
const COORDINATORS_PARALLEL_MAX: usize = 4;

/// The queues of a log directory.
#[derive(Debug)]
pub struct SyncQueues {
    clients: Arc<SyncQueue>,
    coordinators: Arc<SyncQueue>,
}

impl SyncQueues {
    /// Empty queues and their threads.
    pub fn start(env: &Env, of: DirectoryId, metrics: &Arc<Metrics>) -> io::Result<Self> {
        let start = |parallel_max| SyncQueue::start(env, of, Arc::clone(metrics), parallel_max);
        Ok(Self {
            clients: start(CLIENTS_PARALLEL_MAX)?,
            coordinators: start(COORDINATORS_PARALLEL_MAX)?,
        })
    }

    /// Lists a partition. The caller sees to it that it is listed once ([`Partition::queue_sync`]), always in one lane.
    pub fn push(&self, lane: SyncLane, partition: Arc<Partition>) {
        match lane {
            SyncLane::Clients => self.clients.push(partition),
            SyncLane::Coordinators => self.coordinators.push(partition),
        }
    }

    /// Lets the threads end once they have synced what is listed.
    pub fn end(&self) {
        self.clients.end();
        self.coordinators.end();
    }

    /// Syncs what is listed, then ends the threads. Blocks.
    pub fn close(&self) {
        self.end();
        self.clients.close();
        self.coordinators.close();
    }
}

/// Partitions to be synced next.
#[derive(Debug)]
struct SyncQueue {
    /// The directory.
    of: DirectoryId,
    state: Mutex<QueueState>,
    pushed: Condvar,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug, Default)]
struct QueueState {
    dirty: Vec<Arc<Partition>>,
    closing: bool,
}

impl SyncQueue {
    /// An empty queue and its thread, which syncs up to `parallel_max` files at the same time.
    fn start(
        env: &Env,
        of: DirectoryId,
        metrics: Arc<Metrics>,
        parallel_max: usize,
    ) -> io::Result<Arc<Self>> {
        let queue = Arc::new(Self {
            of,
            state: Mutex::default(),
            pushed: Condvar::new(),
            thread: Mutex::new(None),
        });
        let thread = spawn_thread("sync", {
            let (queue, env) = (Arc::clone(&queue), env.clone());
            move || queue.run(&env, &metrics, parallel_max)
        })?;
        *queue.thread.lock() = Some(thread);
        Ok(queue)
    }

    fn push(&self, partition: Arc<Partition>) {
        let mut state = self.state.lock();
        state.dirty.push(partition);
        let first = state.dirty.len() == 1;
        drop(state);
        // The thread sleeps only when the queue is empty, so only the first entry has to wake it.
        if first {
            self.pushed.notify_one();
        }
    }

    fn end(&self) {
        self.state.lock().closing = true;
        self.pushed.notify_one();
    }

    /// Waits for the end of the thread. Blocks.
    fn close(&self) {
        if let Some(thread) = self.thread.lock().take()
            && thread.join().is_err()
        {
            tracing::error!("the sync thread had panicked");
        }
    }

    fn run(&self, env: &Env, metrics: &Metrics, parallel_max: usize) {
        let mut pool = SyncPool::new(Arc::clone(&env.files), parallel_max);
        let mut group = Vec::new();
        while self.next_group(&mut group) {
            let began = env.clock.monotonic();
            sync_group(&mut pool, self.of, &group, metrics);
            metrics.sync_seconds.observe(env.clock.monotonic().saturating_sub(began));
            group.clear();
        }
    }

    /// Swaps the queue for the empty `group`; false once the queue is closed and empty.
    fn next_group(&self, group: &mut Vec<Arc<Partition>>) -> bool {
        let mut state = self.state.lock();
        while state.dirty.is_empty() {
            if state.closing {
                return false;
            }
            self.pushed.wait(&mut state);
        }
        std::mem::swap(&mut state.dirty, group);
        true
    }
}

fn sync_group(pool: &mut SyncPool, of: DirectoryId, group: &[Arc<Partition>], metrics: &Metrics) {
    let is_offline = |directory: &DataDirectory| directory.id() == of && directory.is_offline();
    if group.iter().any(|partition| is_offline(&partition.directory())) {
        group.iter().for_each(|partition| partition.abandon());
        return;
    }
    let taken: Vec<(&Arc<Partition>, TakenSync)> =
        group.iter().filter_map(|partition| Some((partition, partition.take_sync(of)?))).collect();
    let mut failed = pool.sync_all(taken.iter().map(|(_, taken)| &taken.work));
    failed.retain(|failed| !is_gone(&taken[failed.work], &failed.error));
    // Those whose names are to blame have failed alone.
    let alone = failed.extract_if(.., |failed| is_of_a_name(&failed.error));
    alone.for_each(|SyncFailed { work, error }| taken[work].0.fail("syncing", &error));
    if let Some(SyncFailed { work, error }) = failed.first() {
        metrics.sync_failures.increment();
        let (partition, taken) = &taken[*work];
        taken.directory.fail(&format!("syncing {} failed: {error}", partition.name()));
        group.iter().for_each(|partition| partition.abandon());
        return;
    }
    for (partition, taken) in &taken {
        // It failed alone, or its directory went offline meanwhile: nobody else lets go who waits for this sync.
        if partition.is_offline() { partition.abandon() } else { partition.synced(taken) }
    }
}

/// The directory has another name since the topic was deleted, which ended every wait for the sync; or since the partition
/// was moved, and with it everything that was to be synced.
fn is_gone((partition, taken): &(&Arc<Partition>, TakenSync), error: &io::Error) -> bool {
    if error.kind() != io::ErrorKind::NotFound {
        return false;
    }
    // A move gives the old directory another name before it says where the log is, both with the log locked.
    let _no_move = partition.lock();
    partition.is_retired() || !Arc::ptr_eq(&partition.directory(), &taken.directory)
}
