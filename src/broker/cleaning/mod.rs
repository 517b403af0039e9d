//! Cleaning of compacted logs, on threads of its own.
//!
//! A partition is looked at when something may have become dirty: a segment was sealed, the last stable offset moved that it
//! waited for, a lag has ended, its settings changed, it was opened. It then stands in the queue until a thread has looked;
//! of those that are due the dirtiest is cleaned first. A partition that nobody writes to is in no queue.
//!
//! A thread holds the partition's cleaning lock for the whole of a round, and the appender's for the renames at the end of
//! each group of segments alone. What fails is marked uncleanable until the next start and says so; the other partitions go on.

mod choice;
mod pace;
mod state;
mod worker;

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

use parking_lot::{Condvar, Mutex};

pub use self::state::CleaningState;
pub(super) use self::worker::CleaningTools;
use self::worker::Worker;
use super::partition::Partition;
use crate::env::spawn_thread;

/// Partitions to be looked at, and the threads that look.
#[derive(Debug)]
pub struct Cleaner {
    queue: Arc<CleaningQueue>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// Partitions to be looked at.
#[derive(Debug, Default)]
struct CleaningQueue {
    state: Mutex<QueueState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct QueueState {
    /// Each at most a few times; looking twice does no harm.
    candidates: Vec<Arc<Partition>>,
    closing: bool,
}

impl Cleaner {
    /// Starts `log.cleaner.threads` threads, none if `log.cleaner.enable` is off.
    pub(super) fn start(tools: CleaningTools) -> io::Result<Self> {
        let queue: Arc<CleaningQueue> = Arc::default();
        let tools = Arc::new(tools);
        let mut threads = Vec::new();
        for _ in 0..tools.threads() {
            let worker = Worker::new(Arc::clone(&queue), Arc::clone(&tools));
            threads.push(spawn_thread("cleaner", move || worker.run())?);
        }
        if threads.is_empty() {
            queue.end();
        }
        Ok(Self { queue, threads: Mutex::new(threads) })
    }

    /// Lets a thread look at a partition soon.
    pub fn add(&self, partition: Arc<Partition>) {
        self.queue.add([partition]);
    }

    /// Lets the threads end: within a batch or two, without waiting for them.
    pub fn end(&self) {
        self.queue.end();
    }

    /// Ends the threads. Blocks until what they were cleaning is left in order.
    pub fn close(&self) {
        self.end();
        for thread in std::mem::take(&mut *self.threads.lock()) {
            if thread.join().is_err() {
                tracing::error!("a cleaner thread had panicked");
            }
        }
    }
}

impl Drop for Cleaner {
    /// Without a close before it: the threads must not stay.
    fn drop(&mut self) {
        self.end();
    }
}

impl CleaningQueue {
    fn add(&self, partitions: impl IntoIterator<Item = Arc<Partition>>) {
        let mut state = self.state.lock();
        if !state.closing {
            state.candidates.extend(partitions);
            self.changed.notify_one();
        }
    }

    fn end(&self) {
        let mut state = self.state.lock();
        state.closing = true;
        state.candidates.clear();
        self.changed.notify_all();
    }

    fn is_closing(&self) -> bool {
        self.state.lock().closing
    }

    /// Everything that is listed, once there is something; `None` once the queue is closed.
    fn take_all(&self) -> Option<Vec<Arc<Partition>>> {
        let mut state = self.state.lock();
        while state.candidates.is_empty() {
            if state.closing {
                return None;
            }
            self.changed.wait(&mut state);
        }
        Some(std::mem::take(&mut state.candidates))
    }

    /// Waits for `time`, or until the queue is closed: true then.
    fn wait_closing(&self, time: std::time::Duration) -> bool {
        let mut state = self.state.lock();
        self.changed.wait_while_for(&mut state, |state| !state.closing, time);
        state.closing
    }
}
