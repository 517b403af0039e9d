//! Partitions on their way from one log directory to another (KIP-113), each on a thread of the mover.
//!
//! A move has four states, and each has its mark on disk, so that every start knows what to do:
//!
//! | state | current directory | `-future` directory | metadata names | at a start |
//! |---|---|---|---|---|
//! | copying | source | in the target | source | the move goes on |
//! | committed | source | in the target, complete and synced | target | the `-future` directory takes the place, the other is deleted |
//! | source gone | none | in the target | target | the same |
//! | done | target | none | target | nothing |
//!
//! The metadata is the point of no return, as it is for Kafka (`LogManager.recoverAbandonedFutureLogs`). From the last copied
//! byte to the last state the partition's appender is locked, so nothing is acknowledged that only the source has. The source is
//! renamed before the target: a Kafka that finds two directories of one partition does not start.
//!
//! A move ends without effect when it is called off (the partition is moved elsewhere, or back), when its topic is deleted, when
//! the target has no room or fails, or when the source cannot be read. At a stop it stays as it is.

mod mover;
mod request;

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use parking_lot::{Condvar, Mutex, MutexGuard};

pub(super) use self::mover::MoveTools;
pub use self::request::MoveRequestError;
use super::data_directory::DataDirectory;
use crate::env::spawn_thread;
use crate::types::{Offset, TopicId, TopicPartition};

/// One move.
#[derive(Debug)]
pub struct Move {
    name: TopicPartition,
    topic: TopicId,
    to: Arc<DataDirectory>,
    /// The `-future` directory.
    future: PathBuf,
    stopped: AtomicBool,
    /// Stopped by somebody who wants the partition elsewhere, and not by the end of the broker.
    called_off: AtomicBool,
    /// Held while the partition changes its directory.
    window: Mutex<()>,
    copied_to: AtomicI64,
    copied_bytes: AtomicU64,
}

impl Move {
    /// A move into the directory `future` in `to`.
    pub fn new(
        name: TopicPartition,
        topic: TopicId,
        to: Arc<DataDirectory>,
        future: PathBuf,
    ) -> Arc<Self> {
        Arc::new(Self {
            name,
            topic,
            to,
            future,
            stopped: AtomicBool::new(false),
            called_off: AtomicBool::new(false),
            window: Mutex::new(()),
            copied_to: AtomicI64::new(0),
            copied_bytes: AtomicU64::new(0),
        })
    }

    /// What moves.
    pub fn name(&self) -> &TopicPartition {
        &self.name
    }

    /// Where to.
    pub fn to(&self) -> &Arc<DataDirectory> {
        &self.to
    }

    /// Everything below it is copied.
    pub fn copied_to(&self) -> Offset {
        Offset::new(self.copied_to.load(Ordering::Acquire))
    }

    /// Bytes of records in the copy.
    pub fn copied_bytes(&self) -> u64 {
        self.copied_bytes.load(Ordering::Acquire)
    }

    fn note(&self, copied_to: Offset, bytes: u64) {
        self.copied_to.store(copied_to.get(), Ordering::Release);
        self.copied_bytes.store(bytes, Ordering::Release);
    }

    fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
    }

    fn is_called_off(&self) -> bool {
        self.called_off.load(Ordering::Acquire)
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }
}

/// All moves, and the threads that make them.
#[derive(Debug)]
pub struct Moves {
    tools: MoveTools,
    /// As many as there are directories, like Kafka's `num.replica.alter.log.dirs.threads`.
    threads_max: usize,
    requests: Mutex<()>,
    state: Mutex<State>,
    thread_ended: Condvar,
    move_ended: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// At most one of each partition; what waits in the queue included.
    moves: BTreeMap<TopicPartition, Arc<Move>>,
    queue: VecDeque<Arc<Move>>,
    threads: usize,
    closing: bool,
}

impl Moves {
    /// None yet.
    pub(super) fn new(tools: MoveTools, threads_max: usize) -> Arc<Self> {
        let threads_max = threads_max.max(1);
        Arc::new(Self {
            tools,
            threads_max,
            requests: Mutex::new(()),
            state: Mutex::default(),
            thread_ended: Condvar::new(),
            move_ended: Condvar::new(),
        })
    }

    /// Held while a request calls off and begins moves. Blocks.
    fn lock_requests(&self) -> MutexGuard<'_, ()> {
        self.requests.lock()
    }

    /// Begins a move; another one of the same partition was called off before.
    pub fn begin(self: &Arc<Self>, job: Arc<Move>) -> io::Result<()> {
        let mut state = self.state.lock();
        if state.closing {
            return Ok(());
        }
        if state.threads < self.threads_max {
            let moves = Arc::clone(self);
            spawn_thread("mover", move || moves.run())?;
            state.threads += 1;
        }
        state.moves.insert(job.name.clone(), Arc::clone(&job));
        state.queue.push_back(job);
        Ok(())
    }

    /// The move of a partition.
    pub fn of(&self, name: &TopicPartition) -> Option<Arc<Move>> {
        self.state.lock().moves.get(name).cloned()
    }

    /// Waits for the end of the move of a partition, if there is one. Blocks.
    pub fn wait_for(&self, name: &TopicPartition) {
        let mut state = self.state.lock();
        self.move_ended.wait_while(&mut state, |state| state.moves.contains_key(name));
    }

    /// All that have begun or wait.
    pub fn all(&self) -> Vec<Arc<Move>> {
        self.state.lock().moves.values().cloned().collect()
    }

    /// Calls the move of a partition off. When this returns it has happened, or never will. Blocks.
    pub fn call_off(&self, name: &TopicPartition) {
        let mut state = self.state.lock();
        let Some(job) = state.moves.remove(name) else { return };
        let waited = state.queue.iter().position(|waiting| Arc::ptr_eq(waiting, &job));
        if let Some(at) = waited {
            state.queue.remove(at);
        }
        drop(state);
        job.called_off.store(true, Ordering::Release);
        job.stop();
        drop(job.window.lock());
        if waited.is_some() {
            self.clear(&job);
        }
        self.move_ended.notify_all();
        self.tools.metrics.moves_running.set(self.count());
    }

    /// Ends the threads; unfinished moves stay on disk as they are. Blocks.
    pub fn close(&self) {
        let mut state = self.state.lock();
        state.closing = true;
        state.queue.clear();
        state.moves.values().for_each(|job| job.stop());
        self.thread_ended.wait_while(&mut state, |state| state.threads > 0);
    }

    fn is_closing(&self) -> bool {
        self.state.lock().closing || self.tools.shutdown.is_requested()
    }

    fn count(&self) -> i64 {
        i64::try_from(self.state.lock().moves.len()).unwrap_or(i64::MAX)
    }

    /// Until nothing waits any more.
    fn run(&self) {
        while let Some(job) = self.next() {
            self.tools.metrics.moves_running.set(self.count());
            self.make(&job);
            let mut state = self.state.lock();
            if state.moves.get(&job.name).is_some_and(|other| Arc::ptr_eq(other, &job)) {
                state.moves.remove(&job.name);
                self.move_ended.notify_all();
            }
            drop(state);
            self.tools.metrics.moves_running.set(self.count());
        }
    }

    fn next(&self) -> Option<Arc<Move>> {
        let mut state = self.state.lock();
        let next = state.queue.pop_front();
        if next.is_none() {
            state.threads -= 1;
            self.thread_ended.notify_all();
        }
        next
    }
}
