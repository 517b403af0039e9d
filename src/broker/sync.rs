//! The sync thread of one log directory.
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

use self::group::SyncPool;
use super::partition::{Partition, TakenSync};
use crate::env::{Env, spawn_thread};
use crate::observe::Metrics;

/// Partitions to be synced next.
#[derive(Debug)]
pub struct SyncQueue {
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
    /// An empty queue and its thread.
    pub fn start(env: &Env, metrics: Arc<Metrics>) -> io::Result<Arc<Self>> {
        let queue = Arc::new(Self {
            state: Mutex::default(),
            pushed: Condvar::new(),
            thread: Mutex::new(None),
        });
        let thread = spawn_thread("sync", {
            let (queue, env) = (Arc::clone(&queue), env.clone());
            move || queue.run(&env, &metrics)
        })?;
        *queue.thread.lock() = Some(thread);
        Ok(queue)
    }

    /// Lists a partition. The caller sees to it that it is listed once ([`Partition::queue_sync`]).
    pub fn push(&self, partition: Arc<Partition>) {
        let mut state = self.state.lock();
        state.dirty.push(partition);
        let first = state.dirty.len() == 1;
        drop(state);
        // The thread sleeps only when the queue is empty, so only the first entry has to wake it.
        if first {
            self.pushed.notify_one();
        }
    }

    /// Lets the thread end once it has synced what is listed.
    pub fn end(&self) {
        self.state.lock().closing = true;
        self.pushed.notify_one();
    }

    /// Syncs what is listed, then ends the thread. Blocks.
    pub fn close(&self) {
        self.end();
        if let Some(thread) = self.thread.lock().take()
            && thread.join().is_err()
        {
            tracing::error!("the sync thread had panicked");
        }
    }

    fn run(&self, env: &Env, metrics: &Metrics) {
        let mut pool = SyncPool::new(Arc::clone(&env.files));
        let mut group = Vec::new();
        while self.next_group(&mut group) {
            let began = env.clock.monotonic();
            sync_group(&mut pool, &group, metrics);
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

fn sync_group(pool: &mut SyncPool, group: &[Arc<Partition>], metrics: &Metrics) {
    let offline = group.iter().any(|partition| partition.directory().is_offline());
    if offline {
        group.iter().for_each(|partition| partition.abandon());
        return;
    }
    let taken: Vec<(&Arc<Partition>, TakenSync)> =
        group.iter().filter_map(|partition| Some((partition, partition.take_sync()?))).collect();
    match pool.sync_all(taken.iter().map(|(_, taken)| &taken.work)) {
        Ok(()) => taken.iter().for_each(|(partition, taken)| partition.synced(taken)),
        Err(error) => {
            metrics.sync_failures.increment();
            if let Some(partition) = group.first() {
                partition.directory().fail(&format!("syncing failed: {error}"));
            }
            group.iter().for_each(|partition| partition.abandon());
        }
    }
}
