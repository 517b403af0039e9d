//! Cleaning of compacted logs, on threads of its own.
//!
//! A partition is looked at when something may have become dirty: a segment was sealed, a transaction ended or a sync was done
//! that it waited for, a lag has ended, its settings changed, it was opened. It then stands in the queue until a thread has looked;
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
    tools: Arc<CleaningTools>,
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
    /// Threads that there are, and that there are to be.
    threads: usize,
    threads_wanted: usize,
    closing: bool,
}

impl Cleaner {
    /// Starts `log.cleaner.threads` threads, none if `log.cleaner.enable` is off.
    pub(super) fn start(tools: CleaningTools) -> io::Result<Self> {
        let settings = tools.settings();
        let cleaner =
            Self { queue: Arc::default(), tools: Arc::new(tools), threads: Mutex::default() };
        if settings.enable {
            cleaner.set_threads(settings.threads)?;
        } else {
            cleaner.queue.end();
        }
        Ok(cleaner)
    }

    /// Starts threads, or lets some end after the log that they are cleaning, so that there are `wanted` (Kafka's
    /// `LogCleaner.reconfigure`).
    pub(super) fn set_threads(&self, wanted: usize) -> io::Result<()> {
        let mut threads = self.threads.lock();
        threads.retain(|thread| !thread.is_finished());
        for _ in 0..self.queue.want_threads(wanted) {
            let worker = Worker::new(Arc::clone(&self.queue), Arc::clone(&self.tools));
            match spawn_thread("cleaner", move || worker.run()) {
                Ok(thread) => threads.push(thread),
                Err(error) => {
                    self.queue.thread_missing();
                    return Err(error);
                }
            }
        }
        Ok(())
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

    /// How many threads are to be started, counted as if they were there.
    fn want_threads(&self, wanted: usize) -> usize {
        let mut state = self.state.lock();
        if state.closing {
            return 0;
        }
        let missing = wanted.saturating_sub(state.threads);
        state.threads += missing;
        state.threads_wanted = wanted;
        // Those that are too many end, unless they clean just now.
        self.changed.notify_all();
        missing
    }

    /// A thread that was counted could not be started.
    fn thread_missing(&self) {
        self.state.lock().threads -= 1;
    }

    /// Everything that is listed, once there is something; `None` when the thread is to end.
    fn take_all(&self) -> Option<Vec<Arc<Partition>>> {
        let mut state = self.state.lock();
        loop {
            if state.closing {
                return None;
            }
            if state.threads > state.threads_wanted {
                state.threads -= 1;
                // What woke this thread may have been meant for one that stays.
                self.changed.notify_one();
                return None;
            }
            if !state.candidates.is_empty() {
                return Some(std::mem::take(&mut state.candidates));
            }
            self.changed.wait(&mut state);
        }
    }

    /// Waits for `time`, or until the queue is closed: true then.
    fn wait_closing(&self, time: std::time::Duration) -> bool {
        let mut state = self.state.lock();
        self.changed.wait_while_for(&mut state, |state| !state.closing, time);
        state.closing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_come_and_go_as_the_setting_changes() {
        let queue = Arc::new(CleaningQueue::default());
        let start = |count: usize| -> Vec<JoinHandle<bool>> {
            let thread = |_| {
                let queue = Arc::clone(&queue);
                spawn_thread("cleaner", move || queue.take_all().is_none()).expect("a thread")
            };
            (0..count).map(thread).collect()
        };
        let first = start(queue.want_threads(3));
        assert_eq!(first.len(), 3);
        assert_eq!(queue.want_threads(0), 0);
        assert!(first.into_iter().all(|thread| thread.join().expect("no panic")), "they end");
        let second = start(queue.want_threads(2));
        assert_eq!(second.len(), 2, "others come in their place");
        queue.end();
        assert!(second.into_iter().all(|thread| thread.join().expect("no panic")));
        assert_eq!(queue.want_threads(5), 0, "nothing is started at a stop");
    }
}
