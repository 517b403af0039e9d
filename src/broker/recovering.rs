//! Recovery of the logs in a directory that was not stopped cleanly, in the background, and how far it is; also the opening of all
//! logs of one that has lost the checkpoint of log starts.
//!
//! The broker answers meanwhile: a partition that is asked for is recovered by whoever asks, and finished ones are served. The
//! threads of one directory share a list; each takes the next log from it until none is left or the broker stops. What was
//! not opened then stays unclean.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use super::Broker;
use super::data_directory::DataDirectory;
use super::registry::ClosedPartition;
use crate::env::{self, Clock, Shutdown};

/// How often it says how far it is, over all of its logs.
const REPORTS: usize = 10;

/// The work of one directory.
#[derive(Debug)]
pub(super) struct Recovering {
    directory: Arc<DataDirectory>,
    left: Mutex<Vec<ClosedPartition>>,
    total: usize,
    done: AtomicUsize,
    failed: AtomicUsize,
    clock: Arc<dyn Clock>,
    began: Duration,
    shutdown: Shutdown,
}

impl Recovering {
    /// Starts the threads.
    pub(super) fn start(broker: &Broker, directory: &Arc<DataDirectory>, threads: usize) {
        let left = broker.partitions.unopened(directory);
        if left.is_empty() {
            return;
        }
        let clock = Arc::clone(&broker.env.clock);
        let recovering = Arc::new(Self {
            directory: Arc::clone(directory),
            total: left.len(),
            left: Mutex::new(left),
            done: AtomicUsize::new(0),
            failed: AtomicUsize::new(0),
            began: clock.monotonic(),
            clock,
            shutdown: broker.shutdown.clone(),
        });
        let why = match directory.needs_recovery() {
            true => "not stopped cleanly, recovering",
            false => "the checkpoint of log starts is lost, looking into every log",
        };
        tracing::info!(
            directory = %directory.path().display(), partitions = recovering.total, threads,
            "{why}; partitions are served as they are done, and first when they are asked for"
        );
        directory.metrics().recovery_logs_left.add(recovering.total as i64);
        for _ in 0..threads {
            let recovering = Arc::clone(&recovering);
            // Detached on purpose: it ends with its list or at shutdown.
            drop(env::spawn_blocking(move || recovering.work()));
        }
    }

    fn work(&self) {
        // The guard is gone before the work begins.
        while let Some(closed) = { self.left.lock().pop() }
            && !self.shutdown.is_requested()
        {
            if let Err(error) = closed.open() {
                self.failed.fetch_add(1, Ordering::Relaxed);
                tracing::error!(partition = %closed.name(), %error, "recovery failed");
            }
            self.one_is_done();
        }
    }

    fn one_is_done(&self) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        self.directory.metrics().recovery_logs_left.decrement();
        let reports = |done: usize| done * REPORTS / self.total;
        if reports(done) == reports(done - 1) {
            return;
        }
        let directory = self.directory.path().display();
        let seconds = self.clock.monotonic().saturating_sub(self.began).as_secs_f64();
        let failed = self.failed.load(Ordering::Relaxed);
        if done < self.total {
            let percent = done * 100 / self.total;
            tracing::info!(%directory, percent, done, of = self.total, seconds, "recovering");
        } else {
            tracing::info!(%directory, partitions = done, failed, seconds, "recovered");
        }
    }
}
