//! Work in the background: checkpoints, retention, removal of deleted files, expiry of producers, late syncs.
//!
//! One task sleeps until the next job of the agenda is due and runs it on the blocking pool. A broker that nobody writes to
//! plans nothing but the passes, minutes apart.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::task::JoinHandle;

use super::Broker;
use super::agenda::Job;
use super::checkpoints::CHECKPOINTS;
use super::data_directory::DataDirectory;
use super::partition::Partition;
use crate::env::{self, is_no_room};
use crate::log::Deleted;

/// Longest time between two passes that forget idle producers, close the files that readers of idle logs have opened, and give
/// what was freed back (Kafka's `producer.id.expiration.check.interval.ms`).
const EXPIRY_INTERVAL_MS_MAX: i64 = 600_000;
/// Shortest one, whatever `producer.id.expiration.ms` says.
const EXPIRY_INTERVAL_MS_MIN: i64 = 1_000;

impl Broker {
    /// Starts the task; it ends when the shutdown is requested. The caller owns the handle.
    pub(super) fn start_housekeeping(self: &Arc<Self>) -> JoinHandle<()> {
        self.agenda.plan(self.settings.log_retention_check_interval_ms, Job::Retention);
        self.plan_expiry();
        let broker = Arc::clone(self);
        env::spawn(async move {
            loop {
                tokio::select! {
                    () = broker.agenda.wait() => {}
                    () = broker.shutdown.requested() => return broker.cleaner.end(),
                }
                let worker = Arc::clone(&broker);
                if env::spawn_blocking(move || worker.run_due_jobs()).await.is_err() {
                    tracing::error!("a housekeeping job panicked, the broker stops");
                    broker.shutdown.request();
                }
            }
        })
    }

    /// Runs what is due. Blocks.
    pub fn run_due_jobs(&self) {
        for job in self.agenda.take_due() {
            self.run_job(job);
        }
    }

    fn run_job(&self, job: Job) {
        match job {
            Job::Sync(partition) => {
                if let Some(partition) = partition.upgrade() {
                    partition.queue_sync();
                }
            }
            Job::Checkpoint(directory) => {
                if let Some(directory) = directory.upgrade() {
                    self.checkpoint(&directory);
                }
            }
            Job::Rest(directory) => {
                if let Some(directory) = directory.upgrade() {
                    self.rest_idle_logs(&directory);
                }
            }
            Job::RemoveDeletedFiles(partition) => {
                if let Some(partition) = partition.upgrade() {
                    self.remove_deleted_files(&partition);
                }
            }
            Job::ConsiderCleaning(partition) => {
                // What comes within this time is cleaned together.
                let backoff_ms = self.partitions.cleaner_settings().backoff_ms;
                self.agenda.plan(backoff_ms, Job::Clean(partition));
            }
            Job::Clean(partition) => {
                if let Some(partition) = partition.upgrade() {
                    self.cleaner.add(partition);
                }
            }
            Job::RemoveDirectory(path) => {
                if let Err(error) = self.env.files.remove_dir_all(&path) {
                    tracing::error!(directory = %path.display(), %error, "a deleted partition could not be removed");
                }
            }
            Job::RetentionOf(partition) => {
                if let Some(partition) = partition.upgrade() {
                    self.apply_retention_to(&partition);
                }
            }
            Job::Retention => {
                self.apply_retention();
                self.agenda.plan(self.settings.log_retention_check_interval_ms, Job::Retention);
            }
            Job::Expiry(number) => {
                if number == self.last_expiry.load(Ordering::Relaxed) {
                    self.expire();
                    self.plan_expiry();
                }
            }
        }
    }

    /// The next pass, in the place of the one that was planned before.
    pub(super) fn plan_expiry(&self) {
        let number = 1 + self.last_expiry.fetch_add(1, Ordering::Relaxed);
        self.agenda.plan(self.expiry_interval_ms(), Job::Expiry(number));
    }

    /// No producer is known for more than a quarter longer than its time.
    pub(super) fn expiry_interval_ms(&self) -> i64 {
        let idle_ms = self.in_force.get().producer_id_expiration_ms;
        (idle_ms / 4).clamp(EXPIRY_INTERVAL_MS_MIN, EXPIRY_INTERVAL_MS_MAX)
    }

    /// Writes the checkpoints of a directory if anything in them has moved.
    pub(super) fn checkpoint(&self, directory: &Arc<DataDirectory>) {
        if directory.is_offline() || !directory.take_changed() {
            return;
        }
        for kind in CHECKPOINTS {
            if let Err(error) = self.partitions.write_checkpoint(directory, kind) {
                tracing::warn!(checkpoint = kind.file_name(), %error, "checkpoint not written");
                directory.mark_changed();
            }
        }
    }

    fn apply_retention(&self) {
        for partition in self.partitions.open_partitions() {
            self.apply_retention_to(&partition);
        }
        self.apply_retention_to_closed();
        self.open_dirty_logs();
    }

    /// The cleaner looks at a log when it is opened; one that was left dirty by an earlier life is opened for that.
    fn open_dirty_logs(&self) {
        if !self.partitions.cleaner_settings().enable {
            return;
        }
        for closed in self.partitions.due_for_cleaning(self.env.files.as_ref()) {
            if let Err(error) = closed.open() {
                tracing::error!(partition = %closed.name(), %error, "a log cannot be opened for cleaning");
            }
        }
    }

    /// A log that was not opened in this life does not change, but it grows older. Opening all of them would make each start an
    /// expensive one a little later, so only those are opened from which something is to go.
    fn apply_retention_to_closed(&self) {
        let (files, now) = (self.env.files.as_ref(), self.env.clock.wall());
        for closed in self.partitions.due_for_retention(files, now) {
            match closed.open() {
                Ok(partition) => self.apply_retention_to(&partition),
                Err(error) => {
                    tracing::error!(partition = %closed.name(), %error, "retention cannot open a log");
                }
            }
        }
    }

    fn apply_retention_to(&self, partition: &Arc<Partition>) {
        if partition.is_offline() || partition.is_retired() {
            return;
        }
        // What is being cleaned is looked at in the next pass.
        let Some(_busy) = partition.cleaning().try_lock() else { return };
        let high_watermark = partition.high_watermark();
        let mut appender = partition.lock();
        let deleted = appender.log.apply_retention(self.env.clock.wall(), high_watermark);
        partition.log_start_raised(&mut appender);
        if deleted.as_ref().is_ok_and(|deleted| deleted.more_after_sync) {
            partition.retain_after_sync(&mut appender);
        }
        drop(appender);
        match deleted {
            Ok(Deleted { segments: 0, .. }) => {}
            Ok(Deleted { segments, .. }) => {
                self.metrics.segments_deleted.add(u64::try_from(segments).unwrap_or(0));
                tracing::info!(partition = %partition.name(), segments, "retention deleted segments");
                partition.directory().mark_changed();
                // The new names are in the sync work of the log.
                partition.queue_sync();
                let delay_ms = partition.topic().policy().settings.file_delete_delay_ms;
                self.agenda.plan(delay_ms, Job::RemoveDeletedFiles(Arc::downgrade(partition)));
            }
            Err(error) if is_no_room(&error) => {
                tracing::warn!(partition = %partition.name(), %error, "retention comes back later");
            }
            Err(error) => {
                partition.fail("retention", &error);
            }
        }
    }

    fn remove_deleted_files(&self, partition: &Arc<Partition>) {
        let now = self.env.clock.wall();
        match partition.lock().log.remove_deleted(now) {
            Ok(None) => {}
            Ok(Some(next)) => {
                let job = Job::RemoveDeletedFiles(Arc::downgrade(partition));
                self.agenda.plan(next.get().saturating_sub(now.get()), job);
            }
            Err(error) => {
                tracing::error!(partition = %partition.name(), %error, "deleted segments could not be removed");
            }
        }
    }

    /// Puts logs to rest that nobody writes to; looks again later if there are others.
    fn rest_idle_logs(&self, directory: &Arc<DataDirectory>) {
        directory.begin_rest();
        let partitions = self.partitions.open_partitions();
        let here = partitions.iter().filter(|p| Arc::ptr_eq(&p.directory(), directory));
        // Every one of them, whatever the first says.
        if here.filter(|partition| !partition.rest_if_idle()).count() > 0 {
            directory.mark_awake();
        }
    }

    fn expire(&self) {
        let now = self.env.clock.wall();
        let idle_ms = self.in_force.get().producer_id_expiration_ms;
        for partition in self.partitions.open_partitions() {
            let mut appender = partition.lock();
            appender.log.expire_producers(now, idle_ms);
            if appender.rests() {
                // Readers may have opened files since.
                appender.log.rest();
                partition.publish(&appender);
            }
        }
        env::give_memory_back();
    }
}
